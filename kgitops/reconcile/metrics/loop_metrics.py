"""The metrics of one loop: counters that each turn adds to, and gauges of its state."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.exposition import choose_encoder

from kgitops.model import clock as moments
from kgitops.reconcile.loop_status import LoopStatus, UnitStatus
from kgitops.reconcile.metrics import catalogue
from kgitops.reconcile.notifications.delivery import SinkCounts
from kgitops.reconcile.status import TurnOutcome, TurnResult
from kgitops.serve.http.metric import Metric

Sample = tuple[tuple[str, ...], float]
"""The values of the labels beyond the unit's, and the value."""

Sinks = Mapping[str, Sequence[SinkCounts]]
"""The counts of each project's receivers of notifications."""


class Exposition(Struct, frozen=True):
    """All metrics in the format that was asked for."""

    content_type: str
    body: bytes


class LoopMetrics:
    """Counts what turns and hooks do; its methods may be called from several threads."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._sinks: Callable[[], Sinks] = dict
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

    def watch_sinks(self, counts: Callable[[], Sinks]) -> None:
        """Show the counts of receivers of notifications, which are asked for at each scrape."""
        self._sinks = counts

    def exposition(self, status: LoopStatus, now: float, accept: str = "") -> Exposition:
        """All metrics for a scraper that accepts some format; ``now`` is of the monotonic clock."""
        for unit in status.units:
            # A counter that begins at zero shows its first increase.
            self._healed.labels(unit.project, unit.cluster)
            self._lock_waits.labels(unit.project, unit.cluster)
            for outcome in TurnOutcome:
                self._turns.labels(unit.project, unit.cluster, str(outcome))
        encode, content_type = choose_encoder(accept)
        return Exposition(content_type, encode(_Scrape(self._registry, status, now, self._sinks())))

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

    def __init__(
        self, counters: CollectorRegistry, status: LoopStatus, now: float, sinks: Sinks
    ) -> None:
        super().__init__()
        self._counters, self._status, self._now, self._sinks = counters, status, now, sinks

    def collect(self) -> Iterator[MetricFamily]:
        """Yield all families, without the times that counters were made, which nobody asks for."""
        for family in self._counters.collect():
            family.samples = [each for each in family.samples if not each.name.endswith("_created")]
            yield family
        yield from gauges(self._status, self._now)
        yield from sink_metrics(self._sinks)


def gauges(status: LoopStatus, now: float) -> Iterator[GaugeMetricFamily]:
    """All gauges; ``now`` is of the monotonic clock."""
    build = (status.version, platform.python_version())
    yield _family(catalogue.BUILD, [(build, 1)])
    yield _family(catalogue.INTERVAL, [((), status.interval)])
    yield _family(catalogue.HEARTBEAT, [((), max(0.0, now - status.heartbeat))])
    samples = [(unit, _samples(unit)) for unit in status.units]
    for metric in catalogue.METRICS:
        found = [
            ((unit.project, unit.cluster, *labels), value)
            for unit, by_metric in samples
            for labels, value in by_metric.get(metric.name, ())
        ]
        if found:
            yield _family(metric, found)


def sink_metrics(sinks: Sinks) -> Iterator[MetricFamily]:
    """The metrics of receivers of notifications; none where there is no receiver."""
    outcomes, waiting = catalogue.NOTIFICATIONS, catalogue.NOTIFICATIONS_WAITING
    counter = CounterMetricFamily(outcomes.name, outcomes.help, labels=outcomes.labels)
    gauge = GaugeMetricFamily(waiting.name, waiting.help, labels=waiting.labels)
    for project, counts in sorted(sinks.items()):
        for sink in counts:
            counter.add_metric((project, sink.name, "delivered"), sink.delivered)
            counter.add_metric((project, sink.name, "failed"), sink.failed)
            counter.add_metric((project, sink.name, "dropped"), sink.dropped)
            gauge.add_metric((project, sink.name), sink.waiting)
    if sinks:
        yield counter
        yield gauge


def _samples(unit: UnitStatus) -> Mapping[str, list[Sample]]:
    """The samples of a unit by the name of their metric."""
    found: dict[Metric, list[Sample]] = {
        catalogue.RUNNING: [((), float(unit.running))],
        catalogue.MODE: [((unit.mode,), 1)],
        catalogue.SUSPENDED: [((), float(unit.suspended))],
        catalogue.CLUSTER_CHANGED: [((), float(unit.cluster_change is not None))],
        catalogue.SOURCE_FAILURES: [((), unit.source_failures)],
        catalogue.LAST_SUCCESS: _moment(unit.last_success),
    }
    if unit.pending is not None:
        found[catalogue.PENDING_CHANGES] = [
            ((action, level), count)
            for action, levels in sorted(unit.pending.changes.items())
            for level, count in sorted(levels.items())
        ]
        found[catalogue.PENDING_SINCE] = _moment(unit.pending.since)
    if unit.revision is not None:
        found[catalogue.REVISION] = [((unit.revision.name,), 1)]
    if unit.turns:
        last = unit.turns[0]
        found[catalogue.LAST_TURN] = _moment(last.ended)
        found[catalogue.LAST_DURATION] = [((), last.seconds)]
        found[catalogue.LAST_EXIT] = [((), float(last.exit))]
    if (seen := unit.seen) is not None:
        found[catalogue.DRIFTED] = _counts(seen.drifting)
        found[catalogue.VIOLATIONS] = _counts(seen.violations)
        found[catalogue.FIGHTS] = [((), len(seen.fights))]
        found[catalogue.DISABLED] = [((), seen.disabled)]
        if seen.registry_records is not None:
            found[catalogue.REGISTRY_RECORDS] = [((), seen.registry_records)]
    return {metric.name: samples for metric, samples in found.items()}


def _counts(counts: Mapping[str, int]) -> list[Sample]:
    return [((label,), count) for label, count in sorted(counts.items())]


def _moment(text: str | None) -> list[Sample]:
    """A moment in seconds since 1970; nothing where there is none."""
    if text is None:
        return []
    try:
        return [((), moments.from_text(text).timestamp())]
    except ValueError:
        return []  # all other metrics are worth more than an error


def _family(metric: Metric, samples: Iterable[Sample]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
