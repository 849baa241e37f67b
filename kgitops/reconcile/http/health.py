"""The health of the loop and its readiness, with the reasons where it lacks one."""

from kgitops.reconcile.loop_status import LoopStatus

INTERVALS = 3
LEAST_S = 10.0
"""Seconds that even a loop with short intervals may be silent."""
SOURCE_FAILURES = 3
_NAMED = 5


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
