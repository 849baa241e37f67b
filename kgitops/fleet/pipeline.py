"""The whole fleet on one page: find the units, give each to a task, put the result in place."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kgitops import __version__
from kgitops.fleet.output.committing import commit, run_folder
from kgitops.fleet.spark.progress import OnProgress, untold
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.summary import RunSummary, UnitSummary
from kgitops.fleet.summary_json import read_unit
from kgitops.fleet.units.discovery import Found, find_units
from kgitops.fleet.units.given_paths import check_paths
from kgitops.fleet.work import specs_of, work
from kgitops.model import clock
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.source import Finding

RunsTasks = Callable[[Sequence[str]], Sequence[str]]
"""Gives each spec to ``work`` somewhere, and answers in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """What is asked for: projects, states, where the result goes, and which Spark runs it."""

    desired: tuple[Path, ...]
    state: tuple[Path, ...]
    out: Path
    policies: tuple[Path, ...] = ()
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def plan_fleet(asked: FleetPlan, on_progress: OnProgress = untold) -> RunSummary:
    """Plan every project for every cluster that it is for; the result replaces the one before.

    What is wrong with one unit is part of the result. Where nothing can be planned at all, there
    is none, and the one before stays.

    Raises:
        FindingsError: no unit could be found, for these reasons; or two are of one project.
        UsageError: a PATH is not there, the result can't go there, or no such Spark can be meant.
        LockedError: another run is at it.
        UnreachableError: Spark can't be reached.
        KgitopsError: a task failed as often as it may, or the result can't be written.
    """
    check_paths(asked.desired, asked.state, asked.policies, asked.out)
    found = find_units(asked.desired, asked.state, asked.policies, asked.environ)
    if not found.units:
        raise FindingsError(found.findings or _nothing_found())
    with (
        run_folder(asked.out) as private,
        session(asked.master, asked.remote, asked.conf, work=work) as spark,
    ):
        spark.engine()  # so that the time that is told is not that of its start

        def tasks(specs: Sequence[str]) -> Sequence[str]:
            return list(run_tasks(spark, specs, work, on_progress))

        run = run_units(found, private, tasks)
        commit(private, asked.out, run)
    return run


def run_units(found: Found, private: Path, tasks: RunsTasks) -> RunSummary:
    """Plan all units into the run's private folder.

    Raises:
        FindingsError: two units of a cluster are of one project by their uid.
        KgitopsError: a unit has no answer: then there is no result.
    """
    created, start = datetime.now(UTC), time.monotonic()
    answers = tasks(specs_of(found.units, private, created))
    summaries = [read_unit(answer) for answer in answers]
    _check_all_answered(found, summaries)
    units = tuple(sorted(summaries, key=lambda unit: (unit.cluster, unit.project)))
    _check_identities(units)
    return RunSummary(
        created=clock.to_text(created),
        version=__version__,
        units=units,
        findings=found.findings,
        unplanned=found.unplanned,
        seconds=time.monotonic() - start,
    )


def _check_all_answered(found: Found, summaries: Sequence[UnitSummary]) -> None:
    asked = [(unit.cluster, unit.project) for unit in found.units]
    answered = [(unit.cluster, unit.project) for unit in summaries]
    if answered != asked:
        raise KgitopsError(
            f"{len(asked)} units were asked for and {len(answered)} answered; run it again"
        )


def _check_identities(units: Sequence[UnitSummary]) -> None:
    """Rows hold their uid inside; of two with one each would remove what the other declares."""
    first: dict[tuple[str, str], UnitSummary] = {}
    clashes = [
        Finding(
            source=None,
            problem=f"{twin.name} and {unit.name} are one project by their uid {unit.identity}",
            advice="give each project a uid of its own, or leave one of them out",
        )
        for unit in units
        if unit.planned
        and (twin := first.setdefault((unit.cluster, unit.identity), unit)) is not unit
    ]
    if clashes:
        raise FindingsError(clashes)


def _nothing_found() -> list[Finding]:
    return [
        Finding(
            source=None,
            problem="no project is for any of the clusters that there is a state of",
            advice="give --desired and --state that belong together",
        )
    ]
