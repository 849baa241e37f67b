"""The metrics of one loop: counters that each turn adds to, and gauges of its state."""

from collections.abc import Iterator

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.exposition import choose_encoder

from kgitops.reconcile.loop_status import LoopStatus
from kgitops.reconcile.metrics import catalogue
from kgitops.reconcile.metrics.catalogue import Metric
from kgitops.reconcile.metrics.gauges import gauges
from kgitops.reconcile.status import TurnOutcome, TurnResult


class Exposition(Struct, frozen=True):
    """All metrics in the format that was asked for."""

    content_type: str
    body: bytes


class LoopMetrics:
    """Counts what turns and hooks do; its methods may be called from several threads."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._turns = self._counter(catalogue.TURNS)
        self._applied = self._counter(catalogue.APPLIED)
        self._healed = self._counter(catalogue.HEALED)
        self._lock_waits = self._counter(catalogue.LOCK_WAITS)
        self._hooks = self._counter(catalogue.HOOKS)
        self._stages = self._histogram(catalogue.STAGES)
        self._turn_duration = self._histogram(catalogue.TURN_DURATION)
        ProcessCollector(registry=self._registry)

    def observe(self, turn: TurnResult) -> None:
        """Count a turn that ended; to be called once for each."""
        self._turns.labels(turn.project, turn.cluster, str(turn.outcome)).inc()
        if turn.outcome is TurnOutcome.BUSY:
            self._lock_waits.labels(turn.project, turn.cluster).inc()
        for action, count in turn.applied_actions.items():
            self._applied.labels(turn.project, turn.cluster, action).inc(count)
        self._healed.labels(turn.project, turn.cluster).inc(len(turn.healed))
        for stage, seconds in turn.stages.items():
            self._stages.labels(stage).observe(seconds)
        self._turn_duration.observe(turn.seconds)

    def observe_hook(self, outcome: str) -> None:
        """Count a call of ``POST /reconcile``; the outcome is one of few words of our own."""
        self._hooks.labels(outcome).inc()

    def exposition(self, status: LoopStatus, now: float, accept: str = "") -> Exposition:
        """All metrics for a scraper that accepts some format; ``now`` is of the monotonic clock."""
        for unit in status.units:
            # A counter that begins at zero shows its first increase.
            self._healed.labels(unit.project, unit.cluster)
            self._lock_waits.labels(unit.project, unit.cluster)
            for outcome in TurnOutcome:
                self._turns.labels(unit.project, unit.cluster, str(outcome))
        encode, content_type = choose_encoder(accept)
        return Exposition(content_type, encode(_Scrape(self._registry, status, now)))

    def _counter(self, metric: Metric) -> Counter:
        return Counter(metric.name, metric.help, metric.labels, registry=self._registry)

    def _histogram(self, metric: Metric) -> Histogram:
        return Histogram(
            metric.name,
            metric.help,
            metric.labels,
            buckets=catalogue.BUCKETS,
            registry=self._registry,
        )


class _Scrape(CollectorRegistry):
    """The counters of the loop and the gauges of one moment."""

    def __init__(self, counters: CollectorRegistry, status: LoopStatus, now: float) -> None:
        super().__init__()
        self._counters, self._status, self._now = counters, status, now

    def collect(self) -> Iterator[MetricFamily]:
        """Yield all families, without the times that counters were made, which nobody asks for."""
        for family in self._counters.collect():
            family.samples = [each for each in family.samples if not each.name.endswith("_created")]
            yield family
        yield from gauges(self._status, self._now)
