"""The waits of a run for an answer or a result, during which it keeps its lock."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from kgitops.apply.context import ApplyContext
from kgitops.apply.lock import Lock

_LONGEST_PAUSE_S = 1.0
_SLICE_S = 0.5
T = TypeVar("T")


class Now(Struct, frozen=True, kw_only=True):
    """The current time of a run, on a monotonic clock in seconds.

    ``deadline`` is the end of the timeout of anything that begins now; ``interrupted`` tells
    whether the run was interrupted.
    """

    seconds: float
    deadline: float
    interrupted: bool


class LeaseKeeper:
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

    def work(self, jobs: Iterable[Callable[[], T]], *, at_once: int = 1) -> Sequence[Future[T]]:
        """Run slow jobs in threads, renewing the lock meanwhile; return them ended, in order.

        Once one has failed, or the run was interrupted, no further one begins.
        """
        begun: list[Future[T]] = []
        running: set[Future[T]] = set()
        waiting = iter(jobs)
        failed = False
        renewed_at = self._context.clock.monotonic()
        with ThreadPoolExecutor(at_once) as pool:
            while True:
                if not failed and self._context.interrupted() is None:
                    started = [pool.submit(job) for job in islice(waiting, at_once - len(running))]
                    begun += started
                    running.update(started)
                if not running:
                    return begun
                ended, running = wait(running, _SLICE_S, return_when=FIRST_COMPLETED)
                failed = failed or any(future.exception() for future in ended)
                if running and self._context.clock.monotonic() - renewed_at >= _SLICE_S:
                    self.keep_lock()
                    renewed_at = self._context.clock.monotonic()

    def run(self, job: Callable[[], T]) -> T:
        """Run one slow job in a thread, renewing the lock meanwhile; return its result."""
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(job)
            while wait([future], _SLICE_S).not_done:
                self.keep_lock()
        return future.result()


def growing(first_ms: int, longest_s: float = _LONGEST_PAUSE_S) -> Iterator[float]:
    """Yield pauses in seconds without end, each twice as long as the one before it."""
    seconds = first_ms / 1000
    while True:
        yield seconds
        seconds = min(seconds * 2, longest_s)
