"""Manifests → the projects that they are, and the clusters that each is for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgitops.fleet.units.desired_paths import DesiredPaths, bytes_below
from kgitops.fleet.units.unit import ManifestsAt
from kgitops.manifests.files import display_name
from kgitops.manifests.project.values import ProjectFile, load_project
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.registry import DEFAULT_PROJECT
from kgitops.model.source import Finding, Source
from kgitops.workflow.project.clusters import DEFAULT_CLUSTER
from kgitops.workflow.project.git import read_git
from kgitops.workflow.project.project_root import PROJECT_FILE, home_of_paths
from kgitops.workflow.project.selection import Selection, open_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProject:
    """A project in YAML. ``place`` is its project file, or the first of its PATHs.

    ``clusters`` are those that it is for; None: whichever there are. ``size`` is in bytes.
    """

    name: str
    uid: str | None
    place: Path
    whole: bool
    clusters: tuple[str, ...] | None
    desired: ManifestsAt
    size: int
    file: ProjectFile | None = None

    def source_of(self, cluster: str) -> Source | None:
        """Where it says that it is for ``cluster``, if it does."""
        file = self.file
        return file.cluster_source(cluster) if file and cluster in file.cluster_names else None


@dataclass(slots=True)
class Projects:
    """What could be read of all projects.

    ``complete``: there are no others. ``disputed`` are names that more than one place bears.
    """

    projects: list[FoundProject] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    disputed: set[str] = field(default_factory=set)
    complete: bool = True

    def take(self, read: Callable[[], FoundProject]) -> None:
        """Take a project, or else what is wrong with it."""
        try:
            self.projects.append(read())
        except FindingsError as error:
            self.findings += error.findings
            self.complete = False
        except KgitopsError as error:
            problem, _, advice = str(error).partition("; ")
            self.findings.append(Finding(source=None, problem=problem, advice=advice))
            self.complete = False


def find_projects(told: DesiredPaths, environ: Mapping[str, str]) -> Projects:
    """The projects of these PATHs; what is wrong is a finding, and nothing is raised.

    Of two that the same owner would be known by, neither is taken: each would plan to remove what
    the other declares.
    """
    found = Projects(findings=list(told.findings), complete=not told.findings)
    for folder in told.projects:
        found.take(lambda folder=folder: _whole(folder, environ))  # type: ignore[misc]
    if told.loose:
        found.take(lambda: _part(told.loose, environ))
    _refuse_twins(found)
    return found


def _whole(folder: Path, environ: Mapping[str, str]) -> FoundProject:
    file = load_project(folder / PROJECT_FILE, env=environ)
    return FoundProject(
        name=file.name,
        uid=file.uid,
        place=file.path,
        whole=True,
        clusters=file.cluster_names or (DEFAULT_CLUSTER,),
        desired=_manifests((folder,), file.cluster_names, environ),
        size=bytes_below(file.manifests),
        file=file,
    )


def _part(paths: Sequence[Path], environ: Mapping[str, str]) -> FoundProject:
    home, _ = home_of_paths(paths)
    file = load_project(home / PROJECT_FILE, env=environ) if home is not None else None
    names = file.cluster_names if file else ()
    return FoundProject(
        name=file.name if file else DEFAULT_PROJECT,
        uid=file.uid if file else None,
        place=paths[0],
        whole=False,
        clusters=names or None,
        desired=_manifests(tuple(paths), names, environ),
        size=bytes_below(paths),
        file=file,
    )


def _manifests(
    paths: tuple[Path, ...], clusters: Sequence[str], environ: Mapping[str, str]
) -> ManifestsAt:
    """The unit's half, with the commit that every cluster's plan will name."""
    for cluster in clusters or (DEFAULT_CLUSTER,):
        selection = Selection(paths=paths, cluster=cluster, offline=True, environ=environ)
        try:
            workspace = open_workspace(selection)
        except (FindingsError, UsageError):
            continue  # its unit says so
        sha, dirty = read_git(workspace.base, workspace.sources)
        return ManifestsAt(paths=paths, here=Path.cwd(), git_sha=sha, dirty=dirty)
    return ManifestsAt(paths=paths, here=Path.cwd())


def _refuse_twins(found: Projects) -> None:
    """Leave out projects of the same name or identity, and say so of each pair."""
    first: dict[str, FoundProject] = {}
    for project in sorted(found.projects, key=lambda project: str(project.place)):
        for mark in dict.fromkeys((project.name, project.uid or project.name)):
            twin = first.setdefault(mark, project)
            if twin is not project and twin.name not in found.disputed:
                found.findings.append(_twins(twin, project))
            if twin is not project:
                found.disputed |= {twin.name, project.name}
                found.complete = False
    found.projects = [item for item in found.projects if item.name not in found.disputed]


def _twins(one: FoundProject, other: FoundProject) -> Finding:
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
