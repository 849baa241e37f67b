"""The end of a lock's lease, held at the last place before a socket.

A process may stand still anywhere: at a full pipe, under SIGSTOP, while its machine sleeps. So the
clock is read right before each call that hands bytes to the kernel, and goes on meanwhile.
"""

import socket
import time
from concurrent.futures import Future
from typing import Any

from kafka.errors import KafkaConnectionError

# A suspended machine's plain monotonic clock stands still on Linux: its leases end all the same.
_TICKING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def ticks() -> float:
    """Seconds that go on while this machine sleeps, where it can tell."""
    return time.clock_gettime(_TICKING)


def is_over(until: float | None) -> bool:
    """True once this moment, in seconds of :func:`ticks`, has come; None never does."""
    return until is not None and ticks() >= until


class LeaseOverError(KafkaConnectionError):  # type: ignore[misc]
    """The lease ended before all bytes of a change had left; the rest never will."""


class GuardedSocket:
    """A socket that sends nothing while a change on it is older than its lease.

    What a broker was sent of such a change is not a whole request, and so it does nothing.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._ends: list[float] = []

    def guard(self, until: float, answer: "Future[Any]") -> None:
        """Hold to ``until``, in seconds of :func:`ticks`, as long as there is no answer."""
        self._ends.append(until)
        answer.add_done_callback(lambda _: self._ends.remove(until))

    def send(self, data: memoryview | bytes) -> int:
        """Hand bytes to the kernel; how many it took.

        Raises:
            LeaseOverError: a lease has ended.
        """
        if any(map(is_over, self._ends)):
            raise LeaseOverError("the lock's lease has ended")
        return self._sock.send(data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever a socket has)
        return getattr(self._sock, name)
