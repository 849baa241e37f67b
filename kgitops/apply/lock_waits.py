"""The waits of a run for an answer or a result, during which it keeps its lock."""

from collections.abc import Iterator

from msgspec import Struct

from kgitops.apply.context import ApplyContext
from kgitops.apply.lock import Lock

_LONGEST_PAUSE_S = 1.0
_SLICE_S = 0.5


class Now(Struct, frozen=True, kw_only=True):
    """The current time of a run, on a monotonic clock in seconds.

    ``deadline`` is the end of the timeout of anything that begins now; ``interrupted`` tells
    whether the run was interrupted.
    """

    seconds: float
    deadline: float
    interrupted: bool


class LockedWaits:
    """The waits of a run that holds the lock.

    Each method that waits raises LockedError where the lock was lost meanwhile.
    """

    def __init__(self, context: ApplyContext, lock: Lock) -> None:
        self._context = context
        self._lock = lock

    def now(self) -> Now:
        """Read the current time, its deadline, and whether the run was interrupted."""
        seconds = self._context.clock.monotonic()
        return Now(
            seconds=seconds,
            deadline=seconds + self._context.settings.timeout_ms / 1000,
            interrupted=self._context.interrupted() is not None,
        )

    def keep_lock(self) -> int:
        """Renew the lock when due, so that it outlasts the next request; return the lease's end.

        The end is in ms of the registry's clock. It is enforced again at the socket, because the
        process may be suspended in between.

        Raises:
            LockedError: the lock is lost, so nothing may be sent.
        """
        self._lock.heartbeat()
        return self._lock.until_ms

    def pause(self, seconds: float) -> None:
        """Wait, interrupted or not."""
        self._context.clock.sleep(seconds)
        self.keep_lock()

    def rest(self, seconds: float) -> None:
        """Wait; ends early when interrupted."""
        remaining = seconds
        while remaining > 0 and self._context.interrupted() is None:
            self._context.clock.sleep(min(remaining, _SLICE_S))
            remaining -= _SLICE_S
        self.keep_lock()

    def wait_until(self, seconds: float) -> None:
        """Wait until this monotonic time, for hours if need be; ends early when interrupted."""
        clock = self._context.clock
        while (
            self._context.interrupted() is None and (remaining := seconds - clock.monotonic()) > 0
        ):
            self.pause(min(remaining, _LONGEST_PAUSE_S))


def growing(first_ms: int, longest_s: float = _LONGEST_PAUSE_S) -> Iterator[float]:
    """Yield pauses in seconds without end, each twice as long as the one before it."""
    seconds = first_ms / 1000
    while True:
        yield seconds
        seconds = min(seconds * 2, longest_s)
