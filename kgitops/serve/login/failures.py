"""Slows down whoever tries passwords: each failure of a host is told later than the one before."""

import time
from collections.abc import Callable

_LONGEST_SECONDS = 5.0
_MOST_HOSTS = 1000


class FailedLogins:
    """The time until which each host has to wait for its next refusal.

    However many connections a host opens, it gets one refusal a delay.
    """

    def __init__(self, delay_ms: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._delay = delay_ms / 1000
        self._clock = clock
        self._until: dict[str, float] = {}

    def wait_seconds(self, host: str) -> float:
        """The time to wait before the host is told of one more failure."""
        now = self._clock()
        # Put last, the host that failed least recently is forgotten first.
        until = max(now, self._until.pop(host, now)) + self._delay
        until = min(until, now + _LONGEST_SECONDS)
        if len(self._until) >= _MOST_HOSTS:
            del self._until[next(iter(self._until))]
        self._until[host] = until
        return until - now
