"""The wait after a turn, by how it ended: plain functions, chance is given."""

from collections.abc import Callable

from msgspec import Struct

from kgitops.model.verdict import ExitCode
from kgitops.reconcile.status import TurnOutcome, TurnResult

_FIRST_S = 5.0
_LONGEST_S = 3600.0
_LEAST_S = 1.0
_MOST_DOUBLINGS = 20
_RETRIED = frozenset(
    {ExitCode.UNREACHABLE, ExitCode.LOCKED, ExitCode.STALE, ExitCode.UNTRUSTED, ExitCode.PARTIAL}
)
_JUDGED = frozenset({ExitCode.USAGE, ExitCode.ERROR, ExitCode.DENIED, ExitCode.REFUSED})


class Pace(Struct, frozen=True, kw_only=True):
    """The time between turns in seconds, and the share by which it varies."""

    interval_s: float = 300.0
    jitter: float = 0.1


def is_retried(result: TurnResult) -> bool:
    """Return True if the next turn may end otherwise although nobody changes anything.

    What the manifests, the policies or the safety rules refuse is judged alike again, until a
    revision or the cluster changes, which the next ordinary turn sees. So is what a part of a
    turn was refused for that was applied otherwise.
    """
    causes = {reason.exit for reason in result.reasons}
    if result.outcome is TurnOutcome.STOPPED:
        return True
    if causes & _JUDGED:
        return bool(causes & (_RETRIED - {ExitCode.PARTIAL}))
    return bool(causes & _RETRIED)


def next_wait(
    result: TurnResult, failures: int, pace: Pace, chance: Callable[[], float]
) -> tuple[float, int]:
    """Return the seconds until the next turn, and the failures in a row; ``chance`` is in [0, 1).

    What may succeed by itself is tried again soon, then ever more rarely, spread by chance over
    the whole time so that many loops that failed together don't come back together.
    """
    if not is_retried(result):
        return pace.interval_s * (1 + pace.jitter * (2 * chance() - 1)), 0
    ceiling = min(_LONGEST_S, _FIRST_S * 2 ** min(failures, _MOST_DOUBLINGS))
    return max(_LEAST_S, ceiling * chance()), failures + 1
