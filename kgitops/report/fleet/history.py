"""Several runs over one fleet in the order of time: their totals, and the latest differences."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from kgitops.fleet.summary import History, RunSummary, UnitSummary, verdict
from kgitops.model.verdict import ExitCode
from kgitops.policy.evaluate.bundle import Level, Outcome


class RunTotals(Struct, frozen=True, kw_only=True):
    """The totals of a run. ``failed`` units have no plan, so they add nothing to the counts."""

    created: str
    clusters: int
    units: int
    failed: int
    changes: int
    drift: int
    denied: int
    exit: ExitCode


class Growth(Struct, frozen=True, kw_only=True):
    """A unit with more drift than in the previous run."""

    unit: UnitSummary
    before: int
    after: int


class RunDelta(Struct, frozen=True, kw_only=True):
    """Differences from the previous run, by the names of units or clusters."""

    created: str
    previous: RunTotals
    grown: tuple[Growth, ...]
    now_failed: tuple[str, ...]
    planned_again: tuple[str, ...]
    new_clusters: tuple[str, ...]
    gone_clusters: tuple[str, ...]


def drift_count(unit: UnitSummary) -> int:
    """The number of differences that others have made."""
    return sum(unit.drift.values())


def denied_count(unit: UnitSummary) -> int:
    """The number of violations that stop the unit's plan."""
    return sum(each.count for each in unit.violations if stops(each.level, each.outcome))


def stops(level: str, outcome: str) -> bool:
    """True if a violation stops a plan: of a soft or hard policy, and not waived."""
    return outcome == Outcome.DENIED and level in (Level.SOFT, Level.HARD)


def run_totals(run: RunSummary) -> RunTotals:
    """The totals of one run."""
    return RunTotals(
        created=run.created,
        clusters=len(run.clusters),
        units=len(run.units),
        failed=sum(not unit.planned for unit in run.units),
        changes=_sum(run, lambda unit: unit.change_count),
        drift=_sum(run, drift_count),
        denied=_sum(run, denied_count),
        exit=verdict(run).exit,
    )


def totals_by_run(history: History) -> tuple[RunTotals, ...]:
    """The totals of all runs, the oldest first."""
    return tuple(map(run_totals, history.runs))


def delta_to_previous(history: History) -> RunDelta | None:
    """Compare the latest run with the previous one; None if there is only one.

    The drift of a unit without a plan is unknown: it counts neither as grown nor as gone.
    """
    before, after = history.previous, history.latest
    if before is None:
        return None
    old, new = _by_name(before), _by_name(after)
    failed_before = {key for key, unit in old.items() if not unit.planned}
    failed_now = {key for key, unit in new.items() if not unit.planned}
    return RunDelta(
        created=before.created,
        previous=run_totals(before),
        grown=_grown(old, new),
        now_failed=_names(new, failed_now - failed_before),
        planned_again=_names(new, (failed_before & new.keys()) - failed_now),
        new_clusters=tuple(sorted({*after.clusters} - {*before.clusters})),
        gone_clusters=tuple(sorted({*before.clusters} - {*after.clusters})),
    )


_Key = tuple[str, str]


def _by_name(run: RunSummary) -> dict[_Key, UnitSummary]:
    return {(unit.cluster, unit.project): unit for unit in run.units}


def _names(units: Mapping[_Key, UnitSummary], keys: set[_Key]) -> tuple[str, ...]:
    return tuple(units[key].name for key in sorted(keys))


def _grown(old: Mapping[_Key, UnitSummary], new: Mapping[_Key, UnitSummary]) -> tuple[Growth, ...]:
    pairs = [
        Growth(unit=unit, before=drift_count(old[key]), after=drift_count(unit))
        for key, unit in new.items()
        if unit.planned and key in old and old[key].planned
    ]
    grown = (each for each in pairs if each.after > each.before)
    return tuple(sorted(grown, key=lambda each: (each.before - each.after, each.unit.name)))


def _sum(run: RunSummary, count: Callable[[UnitSummary], int]) -> int:
    return sum(map(count, run.units))
