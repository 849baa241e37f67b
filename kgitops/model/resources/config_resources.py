"""Config resources other than topics and brokers: consumer groups and client metrics.

The keys are those of Apache Kafka's GroupConfig (KIP-848, KIP-932, KIP-1071) and
ClientMetricsConfigs (KIP-714). Brokers judge the ranges, which depend on their own configs.
"""

import difflib
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from msgspec import Struct

from kgitops.model.resources.topic_config_values import (
    ConfigType,
    TopicConfig,
    Value,
    is_legal,
    legal_values,
    to_text,
    trim,
    value_parser,
)


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
MOST_IMPORTANT: Mapping[ConfigResourceType, str] = MappingProxyType(
    {
        ConfigResourceType.GROUP: "consumer.session.timeout.ms",
        ConfigResourceType.CLIENT_METRICS: _METRICS_NUMBER,
    }
)
"""A config of each type, for examples."""


class ResourceConfig(Struct, frozen=True, kw_only=True):
    """One config: how its text is read, and the legal values in words."""

    name: str
    type: ConfigType
    parse: Callable[[str], Value | None]
    legal: str


@cache
def resource_configs(kind: ConfigResourceType) -> Mapping[str, ResourceConfig]:
    """Every config that Kafka knows of resources of this type, by name."""
    if kind is ConfigResourceType.CLIENT_METRICS:
        lists = [
            ResourceConfig(name=name, type=ConfigType.LIST, parse=_list, legal=_LISTED)
            for name in _METRICS_LISTS
        ]
        configs = [_config(_METRICS_NUMBER, ConfigType.INT), *lists]
    else:
        configs = [
            *(_config(name, ConfigType.INT) for name in _NUMBERS),
            *(_config(name, ConfigType.BOOLEAN) for name in _BOOLEANS),
            *(_config(name, ConfigType.STRING, valid) for name, valid in _CHOICES.items()),
            *(
                ResourceConfig(name=name, type=ConfigType.STRING, parse=trim, legal="a text")
                for name in _TEXTS
            ),
        ]
    return MappingProxyType({config.name: config for config in configs})


def resource_config_problem(kind: ConfigResourceType, key: str, value: str) -> str | None:
    """The reason why Kafka would refuse the value of a known key, and the legal ones; or None."""
    config = resource_configs(kind).get(key)
    if config is None or config.parse(value) is not None:
        return None
    return f"{key} must be {config.legal}, not {value!r}"


def normal_resource_value(kind: ConfigResourceType, key: str, value: str) -> str:
    """The value in a form in which equal meanings have equal texts; lists are sorted.

    An unknown key's value is returned unchanged.
    """
    config = resource_configs(kind).get(key)
    parsed = None if config is None else config.parse(value)
    return value if parsed is None else to_text(parsed)


def normal_resource_configs(
    kind: ConfigResourceType, configs: Mapping[str, str]
) -> Mapping[str, str]:
    """All configs with their values in normal form."""
    return {key: normal_resource_value(kind, key, value) for key, value in configs.items()}


def nearest_resource_config(kind: ConfigResourceType, key: str) -> str | None:
    """The config that a misspelt key may mean."""
    nearest = difflib.get_close_matches(key, resource_configs(kind), n=1, cutoff=0.7)
    return nearest[0] if nearest else None


def _config(name: str, type_: ConfigType, valid: tuple[str, ...] = ()) -> ResourceConfig:
    config = TopicConfig(
        name=name,
        type=type_,
        default=None,
        minimum=0 if type_ is ConfigType.INT else None,
        maximum=None,
        valid_values=valid,
        server_default=None,
        doc="",
    )
    read = value_parser(config)

    def parse(text: str) -> Value | None:
        value = read(text)
        return value if value is not None and is_legal(config, value) else None

    return ResourceConfig(name=name, type=type_, parse=parse, legal=legal_values(config))


def _list(text: str) -> tuple[str, ...]:
    # As a set: Kafka neither sorts lists nor counts an item twice.
    return tuple(sorted({item for part in text.split(",") if (item := trim(part))}))
