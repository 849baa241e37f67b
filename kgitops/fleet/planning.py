"""One unit of work on one page: both sides narrowed, the planner, the policies, the rows.

A task takes JSON text and answers with JSON text.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple, replace

from kgitops.cluster.snapshot import SnapshotCluster
from kgitops.fleet import summary_json
from kgitops.fleet.diff.inputs import DesiredSide, side_from_manifests, side_from_rows
from kgitops.fleet.diff.narrow import narrow_sides
from kgitops.fleet.output.writing import failed_unit, write_plan
from kgitops.fleet.policies.evaluator_pool import open_policies
from kgitops.fleet.policies.lazy_state import lazy_cluster_state
from kgitops.fleet.summary import Counts, UnitSummary, total
from kgitops.fleet.tables.desired_header import Git
from kgitops.fleet.tables.desired_rows import header_in, open_desired
from kgitops.fleet.tables.format import UnwritableError
from kgitops.fleet.tables.hydrating import open_state
from kgitops.fleet.units.loading import enter_folder, loaded_unit, unit_error
from kgitops.fleet.units.paths import task_path
from kgitops.fleet.units.unit import ManifestFiles, RowFiles, StateFormat, Unit
from kgitops.model import clock
from kgitops.model.garbage_collection import without_garbage_collection
from kgitops.model.json.codec import Moment, decode, encode
from kgitops.plan.document.plan import Plan
from kgitops.workflow.pipeline import plan_state
from kgitops.workflow.policies import OpenPolicies
from kgitops.workflow.project.selection import read_cluster
from kgitops.workflow.stages import Planning


class PlanTask(Struct, frozen=True, kw_only=True):
    """A unit, the run's folder ``out`` and moment; ``here`` is the command's folder."""

    unit: Unit
    out: str
    created: Moment
    here: str


class UnitPlan(Struct, frozen=True, kw_only=True):
    """A unit's plan; ``kept`` counts by rule the kept objects that the plan does not list."""

    plan: Plan
    captured_at: str
    objects: Counts
    kept: Counts


def plan_unit(
    unit: Unit, out: Path, *, created: datetime, environ: Mapping[str, str]
) -> UnitSummary:
    """Plan one project for one cluster, and write the plan's rows below ``out``.

    Mistakes in the unit are part of its summary, and don't touch other units.

    Raises:
        KgitopsError: the rows can't be written.
    """
    start = time.monotonic()
    with without_garbage_collection():
        summary = _plan_and_write(unit, out, created, environ)
    return replace(summary, milliseconds=round((time.monotonic() - start) * 1_000))


def _plan_and_write(
    unit: Unit, out: Path, created: datetime, environ: Mapping[str, str]
) -> UnitSummary:
    try:
        planned = plan_of_unit(unit, environ)
        summary = write_plan(
            planned.plan,
            unit,
            out,
            captured_at=planned.captured_at,
            created=created,
            objects=planned.objects,
        )
    except UnwritableError:
        raise
    except Exception as error:  # noqa: BLE001 (one unit's fault is not the others')
        return failed_unit(unit, unit_error(error, f"plan -c {unit.cluster}"), out)
    return replace(summary, kept=total([summary.kept, planned.kept]))


def plan_of_unit(unit: Unit, environ: Mapping[str, str]) -> UnitPlan:
    """The plan of one project for one cluster, as ``kgitops plan --snapshot`` would make it.

    Raises:
        FindingsError: with every finding of every document.
        UnreachableError: the state can't be read.
        SafetyError: a side can't be trusted.
    """
    with _unit_inputs(unit, environ) as inputs:
        if unit.state.form is StateFormat.JSON:
            return _plan_whole(unit, inputs)
        return _plan_differences(unit, inputs)


class _UnitInputs(Struct, frozen=True):
    """The declared side, its commit, and the policies."""

    side: DesiredSide
    policies: OpenPolicies
    git: Git


@contextmanager
def _unit_inputs(unit: Unit, environ: Mapping[str, str]) -> Iterator[_UnitInputs]:
    match unit.desired:
        case RowFiles(files=files, project=named):
            rows = open_desired(files, unit.project, unit.cluster, named=named)
            with open_policies(unit.policies, unit.cluster, environ) as policies:
                side = _allowing(side_from_rows(rows), unit)
                yield _UnitInputs(side, policies, header_in(rows).git)
        case ManifestFiles() as at:
            with loaded_unit(unit, at, environ) as declared:
                side = _allowing(side_from_manifests(declared.desired), unit)
                yield _UnitInputs(side, declared.policies, Git(at.git_sha, at.dirty))


def _allowing(side: DesiredSide, unit: Unit) -> DesiredSide:
    """Allow the side's folders to be empty that the command allows; the others are other units'."""
    project = side.project
    empty = {folder.folder for folder in project.empty_folders}
    allowed = tuple(name for name in unit.allow_empty_folders if name in empty)
    safety = replace(project.safety, allow_empty_folders=allowed)
    return replace(side, project=replace(project, safety=safety))


def _plan_whole(unit: Unit, inputs: _UnitInputs) -> UnitPlan:
    """Plan with a snapshot in JSON, which has no fingerprints."""
    (file,) = unit.state.files
    cluster = read_cluster(file)
    current = cluster.read_state()
    at = Planning(
        cluster=cluster, desired=inputs.side.whole(), current=current, policies=inputs.policies
    )
    plan = plan_state(at, target_name=unit.cluster, git=astuple(inputs.git))
    return UnitPlan(
        plan=plan, captured_at=current.captured_at, objects=inputs.side.objects, kept={}
    )


def _plan_differences(unit: Unit, inputs: _UnitInputs) -> UnitPlan:
    files = unit.state.files
    rows = open_state(files, unit.cluster)
    narrowed = narrow_sides(inputs.side, rows)
    cluster = SnapshotCluster(narrowed.current)
    current = cluster.read_state()
    at = Planning(
        cluster=cluster,
        desired=narrowed.desired,
        current=current,
        policies=inputs.policies,
        whole=lazy_cluster_state(current, narrowed.desired, files, unit.cluster),
    )
    plan = plan_state(
        at,
        target_name=unit.cluster,
        git=astuple(inputs.git),
        unchanged_counts=narrowed.unchanged,
        base_digest=str(rows.header["base_digest"]),
    )
    return UnitPlan(
        plan=plan,
        captured_at=current.captured_at,
        objects=inputs.side.objects,
        kept={} if plan.takeovers else narrowed.kept,  # such a plan lists its own objects alone
    )


def task_specs(units: Sequence[Unit], out: Path, created: datetime) -> list[str]:
    """The text for each unit's task."""
    place, moment, here = task_path(out), clock.to_text(created), task_path(Path.cwd())
    tasks = (PlanTask(unit=unit, out=place, created=moment, here=here) for unit in units)
    return [encode(task).decode() for task in tasks]


def plan_task(spec: str) -> str:
    """Plan the unit, write its rows, and answer with its summary.

    Raises:
        KgitopsError: the command's folder does not exist here, or the rows can't be written.
    """
    task = decode(PlanTask, spec, "the task")
    enter_folder(task.here)
    created = clock.from_text(task.created)
    summary = plan_unit(task.unit, Path(task.out), created=created, environ=os.environ)
    return summary_json.unit_to_text(summary)
