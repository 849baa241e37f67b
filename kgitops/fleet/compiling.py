"""Projects as rows: what each declares for each of its clusters, a task and a file each."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from kgitops.fleet.output.output_paths import OutputLayout
from kgitops.fleet.output.replacing import private_folder, put_in_place
from kgitops.fleet.spark.engine import OnProgress, ignore_progress
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.summary_json import escaped_json
from kgitops.fleet.tables.desired_header import Git
from kgitops.fleet.tables.desired_rows import write_desired
from kgitops.fleet.tables.format import UnwritableError
from kgitops.fleet.units.data_files import partition_folder
from kgitops.fleet.units.loading import enter_folder, loaded_unit, unit_error
from kgitops.fleet.units.paths import check_paths_exist, classify_paths, task_path
from kgitops.fleet.units.projects import find_projects
from kgitops.fleet.units.unit import ManifestFiles, StateFiles, StateFormat, Unit
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.json.canonical import canonical_text
from kgitops.model.json.codec import decode, encode
from kgitops.model.source import Finding

_NO_STATE = StateFiles(form=StateFormat.PARQUET, files=())
_Findings = tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCompileOptions:
    """The options of ``fleet compile``: whole projects, the folder for rows, the Spark to use."""

    projects: tuple[Path, ...]
    out: Path
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


class CompileTask(Struct, frozen=True, kw_only=True):
    """A unit and the file ``out`` for its rows; ``here`` is the command's folder."""

    unit: Unit
    out: str
    here: str


def compile_fleet(options: FleetCompileOptions, on_progress: OnProgress = ignore_progress) -> int:
    """Write the rows of all projects for all of their clusters, or none; return how many files.

    Raises:
        FindingsError: with every finding of every project on every cluster.
        UsageError: a PATH is not a project, the rows can't go there, or that is not a URL of Spark.
        LockedError: another run writes there.
        UnreachableError: Spark can't be reached.
        KgitopsError: they can't be written.
    """
    files = {_file(unit): unit for unit in _units(options)}
    with (
        private_folder(options.out, _ROWS) as private,
        session(options.master, options.remote, options.conf, work=compile_task) as spark,
    ):
        specs = [_spec(unit, private / file) for file, unit in files.items()]
        answers = run_tasks(spark, specs, compile_task, on_progress)
        findings = [
            finding for answer in answers for finding in decode(_Findings, answer, "the answer")
        ]
        if findings:
            # The same mistake is found once for each cluster of the project.
            raise FindingsError(dict.fromkeys(findings))
        put_in_place(private, options.out, _ROWS, files.keys())
    return len(files)


def compile_task(spec: str) -> str:
    """A task: load a project's objects for a cluster and write them, or answer with the findings.

    Raises:
        KgitopsError: the command's folder does not exist here, or the rows can't be written.
    """
    task = decode(CompileTask, spec, "the task")
    enter_folder(task.here)
    unit, manifests = task.unit, task.unit.desired
    if not isinstance(manifests, ManifestFiles):
        raise KgitopsError("rows can't be compiled again; give the projects themselves")
    try:
        with loaded_unit(unit, manifests, os.environ) as declared:
            git = Git(manifests.git_sha, manifests.dirty)
            write_desired(declared.desired, Path(task.out), git, unit.cluster)
    except UnwritableError:
        raise
    except FindingsError as error:
        return canonical_text(escaped_json(error.findings))
    except Exception as error:  # noqa: BLE001 (the findings of other units are reported as well)
        failed = str(unit_error(error, f"validate -c {unit.cluster}"))
        problem, _, advice = failed.rpartition("; ")
        problem = f"{unit.project} can't be compiled for {unit.cluster}: {problem or advice}"
        finding = Finding(source=None, problem=problem, advice=advice)
        return canonical_text(escaped_json((finding,)))
    return encode(()).decode()


def _units(options: FleetCompileOptions) -> list[Unit]:
    check_paths_exist(options.projects)
    classified = classify_paths(options.projects)
    projects = find_projects(classified, options.environ)
    if projects.findings:
        raise FindingsError(projects.findings)
    others = classified.standalone_manifests or classified.rows
    if others:
        other = others[0]
        raise UsageError(f"{other} is not a whole project; give folders that hold a kgitops.yaml")
    return [
        Unit(cluster=cluster, project=project.name, state=_NO_STATE, desired=project.desired)
        for project in sorted(projects.projects, key=lambda project: -project.size)
        for cluster in project.clusters or ()
    ]


def _file(unit: Unit) -> str:
    """The file of a unit's rows, relative to DIR."""
    project = partition_folder("project", unit.project)
    return f"{project}/{partition_folder('cluster', unit.cluster)}/part-0.parquet"


def _spec(unit: Unit, file: Path) -> str:
    return encode(CompileTask(unit=unit, out=task_path(file), here=task_path(Path.cwd()))).decode()


def _is_ours(path: Path, is_folder: bool) -> bool:
    """True for a path that this command writes, or Spark where it writes the rows again."""
    match path.parts:
        case (*_, name) if name == "_SUCCESS" or name.endswith(".crc"):
            return not is_folder
        case (name,):
            return is_folder and name.startswith("project=")
        case (_, name):
            return is_folder and name.startswith("cluster=")
        case (_, _, name):
            return not is_folder and name.endswith(".parquet")
        case _:
            return False


_ROWS = OutputLayout(command="kgitops fleet compile", is_ours=_is_ours)
