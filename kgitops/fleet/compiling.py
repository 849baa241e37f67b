"""Projects as rows: what each declares for each of its clusters, a task and a file each."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgitops.fleet.output.places import Contents
from kgitops.fleet.output.replacing import private_folder, put_in_place
from kgitops.fleet.spark.progress import OnProgress, untold
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.tables.desired_rows import write_desired
from kgitops.fleet.tables.partitions import partition_folder
from kgitops.fleet.units.desired_paths import told_apart
from kgitops.fleet.units.given_paths import check_there
from kgitops.fleet.units.here import work_in
from kgitops.fleet.units.manifests import declared_in
from kgitops.fleet.units.projects import find_projects
from kgitops.fleet.units.unit import Form, ManifestsAt, StateAt, Unit
from kgitops.fleet.units.unit_json import read_unit, unit_to_text
from kgitops.model.errors import FindingsError, KgitopsError, UsageError
from kgitops.model.json.canonical import canonical_text
from kgitops.plan.document.from_json import finding_from_json
from kgitops.plan.document.to_json import finding_to_json

_NO_STATE = StateAt(form=Form.PARQUET, files=())


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCompile:
    """What is asked for: whole projects, where rows go, and which Spark does it."""

    projects: tuple[Path, ...]
    out: Path
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def compile_fleet(asked: FleetCompile, on_progress: OnProgress = untold) -> int:
    """Write the rows of all projects for all of their clusters, or none; how many files there are.

    Raises:
        FindingsError: with every finding of every project on every cluster.
        UsageError: a project or a place for rows is none, or no such Spark can be meant.
        LockedError: another run is at it.
        UnreachableError: Spark can't be reached.
        KgitopsError: they can't be written.
    """
    files = {_file(unit): unit for unit in _units(asked)}
    with (
        private_folder(asked.out, _ROWS) as private,
        session(asked.master, asked.remote, asked.conf, work=compile_unit) as spark,
    ):
        specs = [_spec(unit, private / file) for file, unit in files.items()]
        answers = run_tasks(spark, specs, compile_unit, on_progress)
        findings = [
            finding_from_json(row, "finding") for answer in answers for row in json.loads(answer)
        ]
        if findings:
            # One mistake is found for every cluster that it is for.
            raise FindingsError(dict.fromkeys(findings))
        put_in_place(private, asked.out, _ROWS, files.keys())
    return len(files)


def compile_unit(spec: str) -> str:
    """A task: load what a project declares for a cluster, and write it; or answer with findings.

    Raises:
        KgitopsError: the folder where the command was typed is not there; rows can't be written.
    """
    given = json.loads(spec)
    work_in(given["here"])
    unit, path = read_unit(given["unit"]), Path(given["out"])
    at = unit.desired
    if not isinstance(at, ManifestsAt):
        raise KgitopsError("rows can't be compiled again; give the projects themselves")
    try:
        with declared_in(unit, at, os.environ) as declared:
            write_desired(declared.desired, path, (at.git_sha, at.dirty), unit.cluster)
    except FindingsError as error:
        return canonical_text([finding_to_json(finding) for finding in error.findings])
    return "[]"


def _units(asked: FleetCompile) -> list[Unit]:
    check_there(asked.projects)
    told = told_apart(asked.projects)
    found = find_projects(told, asked.environ)
    if found.findings:
        raise FindingsError(found.findings)
    if told.loose or told.rows:
        other = (told.loose or told.rows)[0]
        raise UsageError(f"{other} is no whole project; give folders that hold a kgitops.yaml")
    return [
        Unit(cluster=cluster, project=project.name, state=_NO_STATE, desired=project.desired)
        for project in sorted(found.projects, key=lambda project: -project.size)
        for cluster in project.clusters or ()
    ]


def _file(unit: Unit) -> str:
    """Where a unit's rows are in DIR."""
    project = partition_folder("project", unit.project)
    return f"{project}/{partition_folder('cluster', unit.cluster)}/part-0.parquet"


def _spec(unit: Unit, place: Path) -> str:
    return canonical_text({"unit": unit_to_text(unit), "out": str(place), "here": str(Path.cwd())})


def _is_ours(path: Path, is_folder: bool) -> bool:
    """Whether it is what this command wrote, or Spark where it wrote the rows anew."""
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


_ROWS = Contents(command="kgitops fleet compile", is_ours=_is_ours)
