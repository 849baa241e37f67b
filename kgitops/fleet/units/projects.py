"""The PATHs of ``--desired`` → the projects in manifests and compiled rows, with their clusters."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from kgitops.fleet.units.data_files import DataFile, data_files
from kgitops.fleet.units.paths import DesiredPaths, bytes_below
from kgitops.fleet.units.unit import ManifestFiles, RowFiles
from kgitops.manifests.files import display_name
from kgitops.manifests.project_file import ProjectFile, load_project
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.registry import DEFAULT_PROJECT
from kgitops.model.source import Finding, Source
from kgitops.workflow.project.clusters import DEFAULT_CLUSTER
from kgitops.workflow.project.project_root import PROJECT_FILE, find_project_root, read_git
from kgitops.workflow.project.selection import Selection, open_workspace


class FleetProject(Struct, frozen=True, kw_only=True):
    """A project in YAML. ``place`` is its project file, or the first of its PATHs.

    ``clusters`` is None for a project for every cluster. ``size`` is in bytes.
    """

    name: str
    uid: str | None
    place: Path
    whole: bool
    clusters: tuple[str, ...] | None
    desired: ManifestFiles
    size: int
    file: ProjectFile | None = None

    def source_of(self, cluster: str) -> Source | None:
        """The place in the project file that names ``cluster``, if it does."""
        file = self.file
        return file.cluster_source(cluster) if file and cluster in file.cluster_names else None


class FleetProjects(Struct):
    """The projects that could be read.

    ``complete``: there are no others. ``disputed`` are names that more than one project has.
    """

    projects: list[FleetProject] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    disputed: set[str] = field(default_factory=set)
    complete: bool = True

    def add(self, read: Callable[[], FleetProject]) -> None:
        """Add a project, or the findings about it."""
        try:
            self.projects.append(read())
        except FindingsError as error:
            self.findings += error.findings
            self.complete = False
        except KgitopsError as error:
            problem, _, advice = str(error).partition("; ")
            self.findings.append(Finding(source=None, problem=problem, advice=advice))
            self.complete = False


def find_projects(paths: DesiredPaths, environ: Mapping[str, str]) -> FleetProjects:
    """Find the projects of these PATHs; mistakes become findings, and nothing is raised.

    Of two with the same name or uid neither is taken: each would plan to remove the other's
    objects.
    """
    projects = FleetProjects(findings=list(paths.findings), complete=not paths.findings)
    for folder in paths.projects:
        projects.add(lambda folder=folder: _whole(folder, environ))  # type: ignore[misc]
    if paths.standalone_manifests:
        projects.add(lambda: _part(paths.standalone_manifests, environ))
    _refuse_twins(projects)
    return projects


def _whole(folder: Path, environ: Mapping[str, str]) -> FleetProject:
    file = load_project(folder / PROJECT_FILE, env=environ)
    return FleetProject(
        name=file.name,
        uid=file.metadata.uid,
        place=file.path,
        whole=True,
        clusters=file.cluster_names or (DEFAULT_CLUSTER,),
        desired=_manifests((folder,), file.cluster_names, environ),
        size=bytes_below(file.manifests),
        file=file,
    )


def _part(paths: Sequence[Path], environ: Mapping[str, str]) -> FleetProject:
    home, _ = find_project_root(paths)
    file = load_project(home / PROJECT_FILE, env=environ) if home is not None else None
    names = file.cluster_names if file else ()
    return FleetProject(
        name=file.name if file else DEFAULT_PROJECT,
        uid=file.metadata.uid if file else None,
        place=paths[0],
        whole=False,
        clusters=names or None,
        desired=_manifests(tuple(paths), names, environ),
        size=bytes_below(paths),
        file=file,
    )


def _manifests(
    paths: tuple[Path, ...], clusters: Sequence[str], environ: Mapping[str, str]
) -> ManifestFiles:
    """The manifests of a unit, with the commit that every cluster's plan will name."""
    for cluster in clusters or (DEFAULT_CLUSTER,):
        selection = Selection(paths=paths, cluster=cluster, offline=True, environ=environ)
        try:
            workspace = open_workspace(selection)
        except (FindingsError, UsageError):
            continue  # its unit reports the error
        sha, dirty = read_git(workspace.base, workspace.sources)
        return ManifestFiles(paths=paths, here=Path.cwd(), git_sha=sha, dirty=dirty)
    return ManifestFiles(paths=paths, here=Path.cwd())


def _refuse_twins(projects: FleetProjects) -> None:
    """Leave out projects with the same name or identity, with a finding for each pair."""
    first: dict[str, FleetProject] = {}
    for project in sorted(projects.projects, key=lambda project: str(project.place)):
        for mark in dict.fromkeys((project.name, project.uid or project.name)):
            twin = first.setdefault(mark, project)
            if twin is not project and twin.name not in projects.disputed:
                projects.findings.append(_twins(twin, project))
            if twin is not project:
                projects.disputed |= {twin.name, project.name}
                projects.complete = False
    projects.projects = [item for item in projects.projects if item.name not in projects.disputed]


def _twins(one: FleetProject, other: FleetProject) -> Finding:
    if one.file and other.file and one.file.path.samefile(other.file.path):
        part = other if one.whole else one
        return Finding(
            source=None,
            problem=f"{display_name(part.place)} is part of the project {one.name}, which is "
            "given as a whole too",
            advice="leave the part out",
        )
    same = f"name {one.name}" if one.name == other.name else f"uid {one.uid or other.uid}"
    places = f"{display_name(one.place)} and {display_name(other.place)}"
    return Finding(
        source=None,
        problem=f"two projects have the {same}: {places}",
        advice="give each project a name and a uid of its own, or leave one of them out",
    )


_ADVICE = (
    "give files NAME.parquet, or folders cluster=NAME of Parquet files, as kgitops fleet compile "
    "makes them"
)


class CompiledProject(Struct, frozen=True, kw_only=True):
    """A project's compiled rows for a cluster; ``project`` is None if no folder names it."""

    cluster: str
    project: str | None
    desired: RowFiles
    place: Path
    size: int


class CompiledProjects(Struct):
    """The compiled rows; ``complete``: there are no others."""

    rows: list[CompiledProject] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    complete: bool = True


def find_compiled_projects(paths: Sequence[Path]) -> CompiledProjects:
    """Find the rows below ``paths``; mistakes become findings, and nothing is raised."""
    compiled = CompiledProjects()
    places: dict[tuple[Path, str, str | None], list[DataFile]] = {}
    seen: set[str] = set()
    for path in paths:
        for file in data_files(path, (".parquet",), compiled.findings, _ADVICE):
            real = os.path.realpath(file.path)
            if real in seen:
                continue
            seen.add(real)
            cluster, place = file.named("cluster")
            project = file.partitions.get("project")
            if not cluster.isprintable() or not cluster or project == "":
                name = "project" if cluster else "cluster"
                problem = f"{display_name(place)} names no {name}"
                compiled.findings.append(Finding(source=None, problem=problem, advice=_ADVICE))
            else:
                places.setdefault((place, cluster, project), []).append(file)
    compiled.complete = not compiled.findings
    compiled.findings = list(dict.fromkeys(compiled.findings))
    compiled.rows = [
        CompiledProject(
            cluster=cluster,
            project=project,
            desired=RowFiles(files=tuple(sorted(file.path for file in files)), project=project),
            place=place,
            size=sum(file.size for file in files),
        )
        for (place, cluster, project), files in sorted(
            places.items(), key=lambda item: str(item[0][0])
        )
    ]
    return compiled
