"""Counts of what connections do, cheap enough for each request; workers' are added up."""

from bisect import bisect_left

from msgspec import Struct, field

BUCKETS = (25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3)
"""Upper bounds, in seconds, of the time that the gateway itself takes for a request."""


class ConnectionCounts(Struct, kw_only=True):
    """Counts since the start of a process; ``open`` is of now."""

    open: int = 0
    accepted: int = 0
    requests: dict[int, int] = field(default_factory=dict)
    """By the key of their API."""
    answered: int = 0
    """Requests that the gateway answered itself."""
    refusals: dict[str, int] = field(default_factory=dict)
    """By their reason."""
    received: int = 0
    """Bytes of requests."""
    sent: int = 0
    """Bytes of responses."""
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0

    def request(self, key: int, size: int) -> None:
        self.requests[key] = self.requests.get(key, 0) + 1
        self.received += size

    def took(self, seconds: float) -> None:
        """Count the time that the gateway itself took, for a request and its response together."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds

    def refused(self, reason: str) -> None:
        """Count a connection that is closed for a reason."""
        self.refusals[reason] = self.refusals.get(reason, 0) + 1

    def add(self, other: "ConnectionCounts") -> None:
        """Add the counts of another process."""
        self.open += other.open
        self.accepted += other.accepted
        self.answered += other.answered
        self.received += other.received
        self.sent += other.sent
        self.seconds += other.seconds
        for key, count in other.requests.items():
            self.requests[key] = self.requests.get(key, 0) + count
        for reason, count in other.refusals.items():
            self.refusals[reason] = self.refusals.get(reason, 0) + count
        for at, count in enumerate(other.buckets):
            self.buckets[at] += count
