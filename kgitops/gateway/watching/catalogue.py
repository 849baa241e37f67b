"""The metrics as values. No label holds the name of an object, a user or a virtual cluster."""

from kgitops.serve.http.metric import Metric, MetricType

_COUNTER, _GAUGE, _HISTOGRAM = MetricType.COUNTER, MetricType.GAUGE, MetricType.HISTOGRAM

CONNECTIONS = Metric(
    "kgitops_gateway_connections", _GAUGE, (), "Connections of clients that are open."
)
ACCEPTED = Metric(
    "kgitops_gateway_connections_total", _COUNTER, (), "Connections of clients that came."
)
REQUESTS = Metric(
    "kgitops_gateway_requests_total", _COUNTER, ("api",), "Requests of clients, by their API."
)
ANSWERED = Metric(
    "kgitops_gateway_answered_requests_total",
    _COUNTER,
    (),
    "Requests that the gateway answered itself, such as those that change declared objects.",
)
REFUSALS = Metric(
    "kgitops_gateway_refusals_total", _COUNTER, ("reason",), "Connections closed, by the reason."
)
RECEIVED = Metric(
    "kgitops_gateway_received_bytes_total", _COUNTER, (), "Bytes of clients' requests."
)
SENT = Metric("kgitops_gateway_sent_bytes_total", _COUNTER, (), "Bytes of responses.")
LATENCY = Metric(
    "kgitops_gateway_added_latency_seconds",
    _HISTOGRAM,
    (),
    "Time that the gateway itself took for a request and its response.",
)
VERSION = Metric(
    "kgitops_gateway_table_version", _GAUGE, (), "Changes of the names since the start."
)
OFFSET = Metric(
    "kgitops_gateway_table_offset", _GAUGE, (), "End of the registry's log that the names show."
)
AGE = Metric(
    "kgitops_gateway_table_age_seconds", _GAUGE, (), "Time since the registry was last read."
)
WORKERS = Metric("kgitops_gateway_workers", _GAUGE, (), "Processes that run.")
RESTARTS = Metric(
    "kgitops_gateway_worker_restarts_total", _COUNTER, (), "Workers that ended and were replaced."
)

METRICS = (
    CONNECTIONS, ACCEPTED, REQUESTS, ANSWERED, REFUSALS, RECEIVED, SENT, LATENCY, VERSION, OFFSET,
    AGE, WORKERS, RESTARTS,
)  # fmt: skip
