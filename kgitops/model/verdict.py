"""The one place that turns reasons into an exit code, for text, process and JSON alike."""

from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct


class ExitCode(IntEnum):
    """The exit codes of the process; ``docs/reference/exit-codes.md`` is the public table."""

    SUCCESS = 0
    ERROR = 1
    CHANGES = 2
    DENIED = 3
    STALE = 4
    REFUSED = 5
    PARTIAL = 6
    LOCKED = 7
    UNREACHABLE = 8
    UNTRUSTED = 9
    USAGE = 64
    INTERRUPTED = 130
    TERMINATED = 143


# With several reasons at once the first of these wins (contract §4); a run that has sent a
# change request and did not finish outranks them all.
_PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.TERMINATED,
    ExitCode.PARTIAL,
    ExitCode.USAGE,
    ExitCode.UNREACHABLE,
    ExitCode.LOCKED,
    ExitCode.UNTRUSTED,
    ExitCode.ERROR,
    ExitCode.DENIED,
    ExitCode.REFUSED,
    ExitCode.STALE,
    ExitCode.CHANGES,
    ExitCode.SUCCESS,
)


class Reason(Struct, frozen=True, kw_only=True):
    """One reason why a run did not simply succeed: an exit code and one sentence."""

    exit: ExitCode
    sentence: str


class Verdict(Struct, frozen=True, kw_only=True):
    """The outcome of a run: the winning exit code and every reason, the winner's first."""

    exit: ExitCode
    reasons: tuple[Reason, ...] = ()

    @property
    def stops(self) -> bool:
        """True for anything but success, with or without changes."""
        return self.exit not in (ExitCode.SUCCESS, ExitCode.CHANGES)


def decide(reasons: Iterable[Reason], *, changes: bool) -> Verdict:
    """The verdict over ``reasons``, computed as with ``--detailed-exitcode``."""
    ordered = tuple(sorted(reasons, key=lambda reason: _PRECEDENCE.index(reason.exit)))
    if ordered:
        return Verdict(exit=ordered[0].exit, reasons=ordered)
    return Verdict(exit=ExitCode.CHANGES if changes else ExitCode.SUCCESS)
