"""The state of a gateway in the format that a scraper asks for."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.exposition import choose_encoder

from kgitops.gateway.connections.counts import BUCKETS, ConnectionCounts
from kgitops.gateway.watching import catalogue
from kgitops.gateway.watching.status import GatewayStatus
from kgitops.serve.http.metric import Metric, MetricType
from kgitops.wire.apis import apis


def exposition(status: GatewayStatus, accept: str = "") -> tuple[bytes, str]:
    """All metrics as text, and the content type of it."""
    encode, content_type = choose_encoder(accept)
    return encode(_Scrape(status)), content_type


class _Scrape(CollectorRegistry):
    """The metrics of one moment."""

    def __init__(self, status: GatewayStatus) -> None:
        super().__init__()
        self._status = status
        ProcessCollector(registry=self)

    def collect(self) -> Iterator[MetricFamily]:
        """Yield all families."""
        yield from super().collect()
        yield from _families(self._status)


def _families(status: GatewayStatus) -> Iterator[MetricFamily]:
    counts = status.counts
    requests = ((_api(key), count) for key, count in sorted(counts.requests.items()))
    single: tuple[tuple[Metric, float], ...] = (
        (catalogue.CONNECTIONS, counts.open),
        (catalogue.ACCEPTED, counts.accepted),
        (catalogue.ANSWERED, counts.answered),
        (catalogue.RECEIVED, counts.received),
        (catalogue.SENT, counts.sent),
        (catalogue.VERSION, max((item.table_version for item in status.processes), default=0)),
        (catalogue.OFFSET, min((item.table_offset for item in status.processes), default=-1)),
        (catalogue.AGE, status.age_s),
        (catalogue.WORKERS, len(status.processes)),
        (catalogue.RESTARTS, status.restarts),
    )
    for metric, value in single:
        yield _family(metric, [((), value)])
    yield _family(catalogue.REQUESTS, (((name,), count) for name, count in requests))
    yield _family(
        catalogue.REFUSALS,
        (((reason,), count) for reason, count in sorted(counts.refusals.items())),
    )
    yield _latency(counts)


def _family(metric: Metric, samples: Iterable[tuple[tuple[str, ...], float]]) -> MetricFamily:
    kind = CounterMetricFamily if metric.type is MetricType.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _latency(counts: ConnectionCounts) -> HistogramMetricFamily:
    metric = catalogue.LATENCY
    family = HistogramMetricFamily(metric.name, metric.help)
    buckets, total = [], 0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts.buckets, strict=True):
        total += count
        buckets.append((bound, float(total)))
    family.add_metric((), buckets, sum_value=counts.seconds)
    return family


def _api(key: int) -> str:
    found = apis().get(key)
    return found.name if found else str(key)
