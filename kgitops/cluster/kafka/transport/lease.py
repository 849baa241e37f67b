"""The end of a lock's lease, enforced at the last place before a socket.

A process may be suspended anywhere: at a full pipe, by SIGSTOP, while its machine sleeps. So a
clock that keeps running meanwhile is read right before each call that hands bytes to the kernel.
"""

import socket
import time
from concurrent.futures import Future
from typing import Any

from kafka.errors import KafkaConnectionError

# On Linux the plain monotonic clock stops while a machine is suspended; leases still expire.
_TICKING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def ticks() -> float:
    """Read a clock, in seconds, that keeps running while this machine sleeps, if it has one."""
    return time.clock_gettime(_TICKING)


def is_over(until: float | None) -> bool:
    """Return True once ``until``, in seconds of :func:`ticks`, has passed; None never passes."""
    return until is not None and ticks() >= until


class LeaseOverError(KafkaConnectionError):  # type: ignore[misc]
    """The lease expired before all bytes of a change were sent; the rest is never sent."""


class GuardedSocket:
    """A socket that sends nothing once the lease of a change in flight has ended.

    The part of such a change that a broker has received is not a complete request, so it has no
    effect.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._ends: list[float] = []

    def guard(self, until: float, answer: "Future[Any]") -> None:
        """Enforce ``until``, in seconds of :func:`ticks`, as long as there is no answer."""
        self._ends.append(until)
        answer.add_done_callback(lambda _: self._ends.remove(until))

    def send(self, data: memoryview | bytes) -> int:
        """Hand bytes to the kernel; return how many it took.

        Raises:
            LeaseOverError: a lease has ended.
        """
        if any(map(is_over, self._ends)):
            raise LeaseOverError("the lock's lease has ended")
        return self._sock.send(data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever a socket has)
        return getattr(self._sock, name)
