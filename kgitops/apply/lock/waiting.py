"""How long a run waits for an answer or a result, and that it keeps its lock meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass

from kgitops.apply.context import ApplyContext
from kgitops.apply.lock.lock import Lock

_LONGEST_PAUSE_S = 1.0
_SLICE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """A moment of a run, in seconds that never go back.

    ``deadline`` is when the patience with what begins now is over; ``stopped`` says whether the
    run was interrupted.
    """

    seconds: float
    deadline: float
    interrupted: bool


class LockedWaits:
    """The waits of a run that holds the lock.

    Whatever waits raises LockedError where the lock was lost meanwhile.
    """

    def __init__(self, context: ApplyContext, lock: Lock) -> None:
        self._context = context
        self._lock = lock

    def now(self) -> Now:
        """Now."""
        seconds = self._context.clock.monotonic()
        return Now(
            seconds=seconds,
            deadline=seconds + self._context.settings.timeout_ms / 1000,
            interrupted=self._context.interrupted() is not None,
        )

    def keep_lock(self) -> int:
        """Renew the lock where that is due, so that it outlasts the next request.

        The answer is when the lease ends, in ms of the registry's clock: what may stand still
        between here and the socket is held to it there.

        Raises:
            LockedError: the lock is lost, so nothing may be sent.
        """
        self._lock.heartbeat()
        return self._lock.until_ms

    def pause(self, seconds: float) -> None:
        """Wait for a moment, interrupted or not."""
        self._context.clock.sleep(seconds)
        self.keep_lock()

    def rest(self, seconds: float) -> None:
        """Wait; ends early when interrupted."""
        left = seconds
        while left > 0 and self._context.interrupted() is None:
            self._context.clock.sleep(min(left, _SLICE_S))
            left -= _SLICE_S
        self.keep_lock()

    def wait_until(self, seconds: float) -> None:
        """Wait until then, be it hours; ends early when interrupted."""
        clock = self._context.clock
        while self._context.interrupted() is None and (left := seconds - clock.monotonic()) > 0:
            self.pause(min(left, _LONGEST_PAUSE_S))


def growing(first_ms: int, longest_s: float = _LONGEST_PAUSE_S) -> Iterator[float]:
    """Pauses in seconds, each twice as long as the one before it, without end."""
    seconds = first_ms / 1000
    while True:
        yield seconds
        seconds = min(seconds * 2, longest_s)
