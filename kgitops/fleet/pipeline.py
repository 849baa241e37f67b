"""The whole fleet on one page: find the units, give each to a task, put the result in place."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kgitops import __version__
from kgitops.fleet.output.publish import commit, run_folder
from kgitops.fleet.planning import plan_task, task_specs
from kgitops.fleet.spark.engine import OnProgress, ignore_progress
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.summary import RunSummary, UnitSummary
from kgitops.fleet.summary_json import read_unit
from kgitops.fleet.units.discovery import FleetUnits, find_units
from kgitops.fleet.units.paths import check_plan_paths
from kgitops.model import clock
from kgitops.model.errors import FindingsError, KgitopsError
from kgitops.model.source import Finding

RunsTasks = Callable[[Sequence[str]], Sequence[str]]
"""Gives each spec to ``plan_task`` somewhere, and returns the answers in the order of specs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlanOptions:
    """The options of ``fleet plan``: projects, states, the result's folder, the Spark to use."""

    desired: tuple[Path, ...]
    state: tuple[Path, ...]
    out: Path
    policies: tuple[Path, ...] = ()
    allow_empty_folders: tuple[str, ...] = ()
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def plan_fleet(options: FleetPlanOptions, on_progress: OnProgress = ignore_progress) -> RunSummary:
    """Plan every project for each of its clusters; the result replaces the previous one.

    Mistakes in one unit are part of the result. Where nothing can be planned at all, there is no
    result, and the previous one stays.

    Raises:
        FindingsError: no unit could be found, for these reasons; or two are of one project.
        UsageError: a PATH does not exist, the result can't go there, or that is not a URL of Spark.
        LockedError: another run writes there.
        UnreachableError: Spark can't be reached.
        KgitopsError: a task failed as often as it may, or the result can't be written.
    """
    check_plan_paths(options.desired, options.state, options.policies, options.out)
    fleet = find_units(
        options.desired,
        options.state,
        options.policies,
        options.environ,
        allow_empty_folders=options.allow_empty_folders,
    )
    if not fleet.units:
        raise FindingsError(fleet.findings or _nothing_found())
    with (
        run_folder(options.out) as private,
        session(options.master, options.remote, options.conf, work=plan_task) as spark,
    ):
        spark.engine()  # so that the reported time does not include its start

        def tasks(specs: Sequence[str]) -> Sequence[str]:
            return list(run_tasks(spark, specs, plan_task, on_progress))

        run = run_units(fleet, private, tasks)
        commit(private, options.out, run)
    return run


def run_units(fleet: FleetUnits, private: Path, tasks: RunsTasks) -> RunSummary:
    """Plan all units into the run's private folder.

    Raises:
        FindingsError: two units of a cluster are of one project by their uid.
        KgitopsError: a unit has no answer: then there is no result.
    """
    created, start = datetime.now(UTC), time.monotonic()
    answers = tasks(task_specs(fleet.units, private, created))
    summaries = [read_unit(answer) for answer in answers]
    _check_all_answered(fleet, summaries)
    units = tuple(sorted(summaries, key=lambda unit: (unit.cluster, unit.project)))
    _check_identities(units)
    return RunSummary(
        created=clock.to_text(created),
        version=__version__,
        units=units,
        findings=fleet.findings,
        unplanned=fleet.unplanned,
        milliseconds=round((time.monotonic() - start) * 1_000),
    )


def _check_all_answered(fleet: FleetUnits, summaries: Sequence[UnitSummary]) -> None:
    expected = [(unit.cluster, unit.project) for unit in fleet.units]
    answered = [(unit.cluster, unit.project) for unit in summaries]
    if answered != expected:
        raise KgitopsError(
            f"{len(expected)} units were asked for and {len(answered)} answered; run it again"
        )


def _check_identities(units: Sequence[UnitSummary]) -> None:
    """Rows hold their uid inside; two units with one uid would each remove the other's objects."""
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
