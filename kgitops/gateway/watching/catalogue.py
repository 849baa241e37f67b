"""The metrics as values. No label holds the name of an object, a user or a virtual cluster."""

from enum import StrEnum

from msgspec import Struct


class MetricKind(StrEnum):
    """The type of a metric, as Prometheus calls it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class GatewayMetric(Struct, frozen=True):
    """One metric; the ``name`` of a counter ends in ``_total``."""

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    help: str


_COUNTER, _GAUGE, _HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

CONNECTIONS = GatewayMetric(
    "kgitops_gateway_connections", _GAUGE, (), "Connections of clients that are open."
)
ACCEPTED = GatewayMetric(
    "kgitops_gateway_connections_total", _COUNTER, (), "Connections of clients that came."
)
REQUESTS = GatewayMetric(
    "kgitops_gateway_requests_total", _COUNTER, ("api",), "Requests of clients, by their API."
)
ANSWERED = GatewayMetric(
    "kgitops_gateway_answered_requests_total",
    _COUNTER,
    (),
    "Requests that the gateway answered itself, such as those that change declared objects.",
)
REFUSALS = GatewayMetric(
    "kgitops_gateway_refusals_total", _COUNTER, ("reason",), "Connections closed, by the reason."
)
RECEIVED = GatewayMetric(
    "kgitops_gateway_received_bytes_total", _COUNTER, (), "Bytes of clients' requests."
)
SENT = GatewayMetric("kgitops_gateway_sent_bytes_total", _COUNTER, (), "Bytes of responses.")
LATENCY = GatewayMetric(
    "kgitops_gateway_added_latency_seconds",
    _HISTOGRAM,
    (),
    "Time that the gateway itself took for a request and its response.",
)
VERSION = GatewayMetric(
    "kgitops_gateway_table_version", _GAUGE, (), "Changes of the names since the start."
)
OFFSET = GatewayMetric(
    "kgitops_gateway_table_offset", _GAUGE, (), "End of the registry's log that the names show."
)
AGE = GatewayMetric(
    "kgitops_gateway_table_age_seconds", _GAUGE, (), "Time since the registry was last read."
)
WORKERS = GatewayMetric("kgitops_gateway_workers", _GAUGE, (), "Processes that run.")
RESTARTS = GatewayMetric(
    "kgitops_gateway_worker_restarts_total", _COUNTER, (), "Workers that ended and were replaced."
)

METRICS = (
    CONNECTIONS, ACCEPTED, REQUESTS, ANSWERED, REFUSALS, RECEIVED, SENT, LATENCY, VERSION, OFFSET,
    AGE, WORKERS, RESTARTS,
)  # fmt: skip
