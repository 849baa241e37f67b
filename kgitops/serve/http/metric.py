"""A metric as a value: its name, labels and help, for exporters, documents and dashboards."""

from enum import StrEnum

from msgspec import Struct


class MetricType(StrEnum):
    """The type of a metric, as Prometheus calls it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(Struct, frozen=True):
    """One metric; the ``name`` of a counter ends in ``_total``."""

    name: str
    type: MetricType
    labels: tuple[str, ...]
    help: str
