"""Metrics of forwarding, a set for each broker: those of KIP-590, and Kafka's own (KIP-938)."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

_WINDOW_SECONDS = 30.0
_SAMPLES = 1000
_MISSPELT = {
    # The proposal writes one of its names so.
    "num-client-forwarding-to-controller-count": "num-client-fowarding-to-controller-count",
}


class ForwardingMetrics:
    """Counts what one broker forwards; counting is the event loop's, reading anyone's."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._started = now()
        self._pending: dict[object, int] = {}
        self._began: deque[float] = deque(maxlen=_SAMPLES)
        self._redirected: deque[float] = deque(maxlen=_SAMPLES)
        self._queue_ms: deque[float] = deque(maxlen=_SAMPLES)
        self._remote_ms: deque[float] = deque(maxlen=_SAMPLES)
        self.redirected = 0
        self.unauthorized = 0
        self.queued = 0

    @contextmanager
    def pending(self, client: object) -> Iterator[None]:
        """Count a client for as long as a request of its is forwarded.

        Until it is sent, and between one attempt and the next, the request is in the queue.
        """
        self._began.append(self._now())
        self._pending[client] = self._pending.get(client, 0) + 1
        self.queued += 1
        try:
            yield
        finally:
            self.queued -= 1
            self._pending[client] -= 1
            if not self._pending[client]:
                del self._pending[client]

    @contextmanager
    def remote(self, since: float) -> Iterator[None]:
        """Count an Envelope that is sent, after waiting ``since`` then, until it is answered."""
        sent = self._now()
        self.redirected += 1
        self._redirected.append(sent)
        self._queue_ms.append((sent - since) * 1000)
        self.queued -= 1
        try:
            yield
            self._remote_ms.append((self._now() - sent) * 1000)
        finally:
            self.queued += 1

    def now(self) -> float:
        """Seconds, on the clock of these metrics."""
        return self._now()

    def values(self) -> Mapping[str, float]:
        """All values now, by the names that Kafka and the proposal have for them."""
        found = {
            "num-client-forwarding-to-controller-rate": self._rate(self._began),
            "num-client-forwarding-to-controller-count": len(self._pending),
            "num-messages-redirected-rate": self._rate(self._redirected),
            "num-messages-redirected-count": self.redirected,
            "request-forwarding-to-controller-authorization-fail-count": self.unauthorized,
            "QueueTimeMs.p99": _percentile(self._queue_ms, 0.99),
            "QueueTimeMs.p999": _percentile(self._queue_ms, 0.999),
            "QueueLength": self.queued,
            "RemoteTimeMs.p99": _percentile(self._remote_ms, 0.99),
            "RemoteTimeMs.p999": _percentile(self._remote_ms, 0.999),
        }
        return found | {alias: found[name] for name, alias in _MISSPELT.items()}

    def _rate(self, times: deque[float]) -> float:
        """Events a second, over the last half minute or since the start."""
        now = self._now()
        window = min(_WINDOW_SECONDS, max(now - self._started, 1.0))
        return sum(at >= now - window for at in tuple(times)) / window


def metrics_text(by_broker: Mapping[int, ForwardingMetrics]) -> str:
    """The metrics of all brokers in Prometheus's text format."""
    lines: list[str] = []
    values = {broker: metrics.values() for broker, metrics in by_broker.items()}
    for name in next(iter(values.values()), {}):
        known = f"kafka_server_{name.replace('-', '_').replace('.', '_')}"
        lines.append(f"# TYPE {known} gauge")
        lines += [
            f'{known}{{broker="{broker}"}} {found[name]:g}' for broker, found in values.items()
        ]
    return "".join(f"{line}\n" for line in lines)


def _percentile(samples: Iterable[float], part: float) -> float:
    ordered = sorted(samples)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0
