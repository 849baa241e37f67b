"""Config resources other than topics and brokers: consumer groups and client metrics.

The keys are those of Apache Kafka's GroupConfig (KIP-848, KIP-932, KIP-1071) and
ClientMetricsConfigs (KIP-714). Brokers judge the ranges, which depend on their own configs.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from msgspec import Struct

from kgitops.model.resources.topic_config_values import (
    ConfigType,
    TopicConfig,
    ValueReader,
    to_text,
    trim,
    value_reader,
)
from kgitops.model.wording import nearest


class ConfigResourceType(StrEnum):
    """The type of a config resource, as org.apache.kafka.common.config.ConfigResource names it."""

    GROUP = "GROUP"
    CLIENT_METRICS = "CLIENT_METRICS"


class ClientMetricsState(Struct, frozen=True, kw_only=True):
    """A subscription to clients' metrics: it exists as long as it has configs."""

    name: str
    configs: Mapping[str, str]


_LISTED = "a list of texts"
_BOOLEANS = ("share.renew.acknowledge.enable",)
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "share.isolation.level": ("read_committed", "read_uncommitted"),
}
_TEXTS = ("share.auto.offset.reset",)
_NUMBERS = (
    "consumer.assignment.interval.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "share.assignment.interval.ms",
    "share.delivery.count.limit",
    "share.heartbeat.interval.ms",
    "share.partition.max.record.locks",
    "share.record.lock.duration.ms",
    "share.session.timeout.ms",
    "streams.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.initial.rebalance.delay.ms",
    "streams.num.standby.replicas",
    "streams.session.timeout.ms",
)
_METRICS_NUMBER, _METRICS_LISTS = "interval.ms", ("match", "metrics")


@cache
def resource_configs(kind: ConfigResourceType) -> Mapping[str, ValueReader]:
    """Every config that Kafka knows of resources of this type, by name."""
    match kind:
        case ConfigResourceType.GROUP:
            readers = [*_group_readers()]
        case ConfigResourceType.CLIENT_METRICS:
            readers = [*_client_metrics_readers()]
    return MappingProxyType({reader.config.name: reader for reader in readers})


def _group_readers() -> Iterator[ValueReader]:
    yield from (value_reader(_config(name, ConfigType.INT)) for name in _NUMBERS)
    yield from (value_reader(_config(name, ConfigType.BOOLEAN)) for name in _BOOLEANS)
    for name, valid in _CHOICES.items():
        yield value_reader(_config(name, ConfigType.STRING, valid))
    for name in _TEXTS:
        config = _config(name, ConfigType.STRING)
        yield ValueReader(config=config, parse=trim, legal="a text")


def _client_metrics_readers() -> Iterator[ValueReader]:
    yield value_reader(_config(_METRICS_NUMBER, ConfigType.INT))
    for name in _METRICS_LISTS:
        config = _config(name, ConfigType.LIST)
        yield ValueReader(config=config, parse=_list, legal=_LISTED)


def resource_config_problem(kind: ConfigResourceType, key: str, value: str) -> str | None:
    """The reason why Kafka would refuse the value of a known key, and the legal ones; or None."""
    reader = resource_configs(kind).get(key)
    if reader is None or reader.legal_value(value) is not None:
        return None
    return reader.problem(value)


def normal_resource_value(kind: ConfigResourceType, key: str, value: str) -> str:
    """The value in a form in which equal meanings have equal texts; lists are sorted.

    An unknown key's value is returned unchanged.
    """
    reader = resource_configs(kind).get(key)
    parsed = None if reader is None else reader.legal_value(value)
    return value if parsed is None else to_text(parsed)


def normal_resource_configs(
    kind: ConfigResourceType, configs: Mapping[str, str]
) -> Mapping[str, str]:
    """All configs with their values in normal form."""
    return {key: normal_resource_value(kind, key, value) for key, value in configs.items()}


def nearest_resource_config(kind: ConfigResourceType, key: str) -> str | None:
    """The config that a misspelt key may mean."""
    return nearest(key, resource_configs(kind))


def _config(name: str, type_: ConfigType, valid: tuple[str, ...] = ()) -> TopicConfig:
    return TopicConfig(
        name=name,
        type=type_,
        default=None,
        minimum=0 if type_ is ConfigType.INT else None,
        maximum=None,
        valid_values=valid,
        server_default=None,
        doc="",
    )


def _list(text: str) -> tuple[str, ...]:
    # As a set: Kafka neither sorts lists nor counts an item twice.
    return tuple(sorted({item for part in text.split(",") if (item := trim(part))}))
