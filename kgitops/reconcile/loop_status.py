"""The state of the whole loop as one immutable value: its health, and what may be asked of it."""

from typing import Protocol

from msgspec import Struct

from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import ClusterChange, PendingPlan, Suspension, TurnOutcome, TurnResult

KEPT_TURNS = 10
"""The number of last turns that a status holds."""
INTERVALS = 3
LEAST_S = 10.0
"""Seconds that even a loop with short intervals may be silent."""
SOURCE_FAILURES = 3
_NAMED = 5


class UnitStatus(Struct, frozen=True, kw_only=True):
    """The state of one project on one cluster; times are RFC 3339.

    ``turns`` are the last ones, newest first. ``last_success`` is the end of the last turn that
    neither failed nor was refused. ``suspended`` has a ``suspension`` where one is kept on the
    cluster; with a ``cluster_change`` nothing is applied either. ``revision`` is the newest good
    one, and ``source_failures`` counts the attempts in a row that found no newer one that can be
    used.
    """

    project: str
    cluster: str
    mode: str
    turns: tuple[TurnResult, ...] = ()
    next_turn: str | None = None
    running: bool = False
    suspended: bool = False
    suspension: Suspension | None = None
    cluster_change: ClusterChange | None = None
    pending: PendingPlan | None = None
    last_success: str | None = None
    revision: Revision | None = None
    source_failures: int = 0

    @property
    def seen(self) -> TurnResult | None:
        """The newest turn that saw the cluster's state; None if none of the last ones did."""
        return next(filter(_saw_state, self.turns), None)


_SAW = (TurnOutcome.IN_SYNC, TurnOutcome.APPLIED, TurnOutcome.PENDING, TurnOutcome.SUSPENDED)


def _saw_state(turn: TurnResult) -> bool:
    planned = bool(turn.actions or turn.drift or turn.violations)
    return turn.outcome in _SAW or (turn.outcome is TurnOutcome.REFUSED and planned)


class LoopStatus(Struct, frozen=True, kw_only=True):
    """The state of the loop at one moment.

    ``started`` is RFC 3339. ``heartbeat`` is when the loop was last seen to run, in seconds of the
    monotonic clock, whether or not a turn was due; ``interval`` is in seconds.
    """

    version: str
    started: str
    heartbeat: float
    interval: float
    units: tuple[UnitStatus, ...] = ()


class LoopView(Protocol):
    """The loop for those who look at it; called from several threads, and never waits."""

    def status(self) -> LoopStatus:
        """Return the state of the loop now."""
        ...

    def hint(self, cluster: str | None = None) -> None:
        """Let the next turns of the cluster, or of all, begin soon."""
        ...


def health_problem(status: LoopStatus, now: float) -> str | None:
    """The sentence that says why the loop is not healthy; ``now`` is of the monotonic clock."""
    age = now - status.heartbeat
    limit = max(INTERVALS * status.interval, LEAST_S)
    if age < limit:
        return None
    return (
        f"the loop was last seen to run {age:.0f} s ago, and {limit:.0f} s is the most; start it "
        "again"
    )


def readiness_problems(status: LoopStatus) -> tuple[str, ...]:
    """The sentences that say why the loop is not ready; empty if it is."""
    waiting = [unit for unit in status.units if not unit.turns]
    stuck = [unit for unit in status.units if unit.source_failures >= SOURCE_FAILURES]
    problems = [
        f"the first turn of {unit.project} on {unit.cluster} is not done"
        for unit in waiting[:_NAMED]
    ]
    if len(waiting) > _NAMED:
        problems.append(f"nor are {len(waiting) - _NAMED} more")
    problems += [
        f"{unit.source_failures} times in a row no newer revision of {unit.project} for "
        f"{unit.cluster} was found"
        for unit in stuck[:_NAMED]
    ]
    if len(stuck) > _NAMED:
        problems.append(f"nor for {len(stuck) - _NAMED} more")
    if not status.units:
        problems.append("there is nothing to reconcile")
    return tuple(problems)
