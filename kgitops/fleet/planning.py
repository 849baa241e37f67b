"""One unit of work on one page: both sides, what differs, the planner, the policies, the rows."""

import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from kgitops.cluster.snapshot import SnapshotCluster
from kgitops.fleet.diff.reduced import reduce_sides
from kgitops.fleet.diff.sides import DesiredSide, side_of_rows, side_of_value
from kgitops.fleet.output.writing import failed_unit, write_plan
from kgitops.fleet.policies.at_large import at_large
from kgitops.fleet.policies.judges import policies_at
from kgitops.fleet.summary import Counts, UnitSummary, total
from kgitops.fleet.tables.desired_header import Git
from kgitops.fleet.tables.desired_rows import git_of, open_desired
from kgitops.fleet.tables.hydrating import open_state
from kgitops.fleet.units.manifests import declared_in
from kgitops.fleet.units.unit import Form, ManifestsAt, RowsAt, Unit
from kgitops.model.errors import KgitopsError
from kgitops.plan.document.plan import Plan
from kgitops.workflow.loading import Loaded
from kgitops.workflow.offline import read_cluster
from kgitops.workflow.pipeline import plan_state
from kgitops.workflow.policies.policies import OpenPolicies


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A unit's plan; ``kept`` counts by rule what the plan itself does not list."""

    plan: Plan
    captured_at: str
    objects: Counts
    kept: Counts


def plan_unit(
    unit: Unit, out: Path, *, created: datetime, environ: Mapping[str, str]
) -> UnitSummary:
    """Plan one project for one cluster, and write the plan's rows below ``out``.

    What is wrong with the unit is part of the summary; other units don't suffer.

    Raises:
        KgitopsError: the rows can't be written.
    """
    start = time.monotonic()
    with _uncollected():
        summary = _written(unit, out, created, environ)
    return replace(summary, seconds=time.monotonic() - start)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let nobody look for garbage: values hold no circles, and there are millions to look at."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _written(unit: Unit, out: Path, created: datetime, environ: Mapping[str, str]) -> UnitSummary:
    try:
        found = plan_of_unit(unit, environ)
    except KgitopsError as error:
        return failed_unit(unit, error, out)
    summary = write_plan(
        found.plan,
        unit,
        out,
        captured_at=found.captured_at,
        created=created,
        objects=found.objects,
    )
    return replace(summary, kept=total([summary.kept, found.kept]))


def plan_of_unit(unit: Unit, environ: Mapping[str, str]) -> Planned:
    """The plan of one project for one cluster, as ``kgitops plan --snapshot`` would make it.

    Raises:
        FindingsError: with every finding of every document.
        UnreachableError: the state can't be read.
        SafetyError: a side can't be trusted.
    """
    with _declared(unit, environ) as given:
        if unit.state.form is Form.JSON:
            return _plan_whole(unit, given)
        return _plan_what_differs(unit, given)


@dataclass(frozen=True, slots=True)
class _Given:
    """What is declared, from which commit, and who judges."""

    side: DesiredSide
    policies: OpenPolicies
    git: Git


@contextmanager
def _declared(unit: Unit, environ: Mapping[str, str]) -> Iterator[_Given]:
    match unit.desired:
        case RowsAt(files=files, project=named):
            rows = open_desired(files, unit.project, unit.cluster, named=named)
            with policies_at(unit.policies, unit.cluster, environ) as policies:
                yield _Given(side_of_rows(rows), policies, git_of(rows))
        case ManifestsAt() as at:
            with declared_in(unit, at, environ) as declared:
                side = side_of_value(declared.desired)
                yield _Given(side, declared.policies, (at.git_sha, at.dirty))


def _plan_whole(unit: Unit, given: _Given) -> Planned:
    """By a snapshot in JSON, which has no fingerprints."""
    (file,) = unit.state.files
    cluster = read_cluster(file)
    current = cluster.read_state()
    declared = Loaded(given.side.whole(), given.policies)
    plan = plan_state(cluster, current, declared, target_name=unit.cluster, git=given.git)
    return Planned(plan=plan, captured_at=current.captured_at, objects=given.side.objects, kept={})


def _plan_what_differs(unit: Unit, given: _Given) -> Planned:
    files = unit.state.files
    rows = open_state(files, unit.cluster)
    found = reduce_sides(given.side, rows)
    cluster = SnapshotCluster(found.current)
    current = cluster.read_state()
    plan = plan_state(
        cluster,
        current,
        Loaded(found.desired, given.policies),
        target_name=unit.cluster,
        git=given.git,
        settled=found.settled,
        base_digest=str(rows.header["base_digest"]),
        judged_on=at_large(current, found.desired, files, unit.cluster),
    )
    return Planned(
        plan=plan,
        captured_at=current.captured_at,
        objects=given.side.objects,
        kept=found.kept,
    )
