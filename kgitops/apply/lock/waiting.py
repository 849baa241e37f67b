"""How long a run waits for an answer or a result, and that it keeps its lock meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass

from kgitops.apply.context import Surroundings
from kgitops.apply.lock.lock import Lock

_LONGEST_PAUSE_S = 1.0
_SLICE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment of a run, in seconds that never go back.

    ``deadline`` is when the patience with what begins now is over; ``stopped`` says whether the
    run was interrupted.
    """

    now: float
    deadline: float
    stopped: bool


class Patience:
    """The waits of a run that holds the lock.

    Whatever waits raises LockedError where the lock was lost meanwhile.
    """

    def __init__(self, around: Surroundings, lock: Lock) -> None:
        self._around = around
        self._lock = lock

    def moment(self) -> Moment:
        """Now."""
        now = self._around.clock.monotonic()
        return Moment(
            now=now,
            deadline=now + self._around.settings.timeout_ms / 1000,
            stopped=self._around.interrupted() is not None,
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
        self._around.clock.sleep(seconds)
        self.keep_lock()

    def rest(self, seconds: float) -> None:
        """Wait; ends early when interrupted."""
        left = seconds
        while left > 0 and self._around.interrupted() is None:
            self._around.clock.sleep(min(left, _SLICE_S))
            left -= _SLICE_S
        self.keep_lock()

    def wait_until(self, moment: float) -> None:
        """Wait until then, be it hours; ends early when interrupted."""
        clock = self._around.clock
        while self._around.interrupted() is None and (left := moment - clock.monotonic()) > 0:
            self.pause(min(left, _LONGEST_PAUSE_S))


def growing(first_ms: int, longest_s: float = _LONGEST_PAUSE_S) -> Iterator[float]:
    """Pauses in seconds, each twice as long as the one before it, without end."""
    seconds = first_ms / 1000
    while True:
        yield seconds
        seconds = min(seconds * 2, longest_s)
