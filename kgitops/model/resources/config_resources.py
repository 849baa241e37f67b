"""Configs of resources other than topics: of groups, of clients' metrics and of brokers.

The keys are those of Apache Kafka's GroupConfig (KIP-848, KIP-932, KIP-1071), ClientMetricsConfigs
(KIP-714) and DynamicBrokerConfig (KIP-226). ``data/known_configs.jsonl`` has them as a broker of
Kafka 4.3 describes them itself (``tools/broker_configs.py``). Brokers judge the ranges of most,
which depend on their own configs.
"""

import json
import re
import sys
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.resources.topic_config_values import (
    ConfigType,
    TopicConfig,
    ValueReader,
    to_text,
    trim,
    value_reader,
)
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.model.resources.topics import RATES
from kgitops.model.wording import nearest

ALL_BROKERS = "<default>"
"""The name of the configs that hold for every broker without its own."""
_FACTS = Path(__file__).parents[1] / "data" / "known_configs.jsonl"
_DOCUMENTATION = _FACTS.with_name("config_docs.txt")
_LISTED, _TEXT = "a list of texts", "a text"
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "share.isolation.level": ("read_committed", "read_uncommitted"),
}
_OF_LISTENERS = re.compile(
    r"(?:ssl|sasl|listeners?)\b.*|principal\.builder\.class|config\.providers|metric\.reporters"
)
"""Broker configs that belong to a listener, or that name Java classes."""


class ConfigResourceType(StrEnum):
    """The type of a config resource (org.apache.kafka.common.config.ConfigResource.Type)."""

    GROUP = "GROUP"
    CLIENT_METRICS = "CLIENT_METRICS"
    BROKER = "BROKER"


JUDGED_RESOURCES = tuple(it for it in ConfigResourceType if it is not ConfigResourceType.BROKER)
"""The types whose configs policies judge as AlterConfigResource; for brokers it is AlterBroker."""


class FoundConfigs(Struct, frozen=True, kw_only=True):
    """The configs of client metrics, of a broker or of all brokers; there is at least one."""

    type: ConfigResourceType
    name: str
    configs: Mapping[str, str]


class KnownConfig(Struct, frozen=True, kw_only=True):
    """A config that brokers know; ``server_default`` is theirs that gives a group its default."""

    name: str
    type: ConfigType
    default: str | None
    read_only: bool
    server_default: str | None

    @property
    def sensitive(self) -> bool:
        """True if its value is never shown."""
        return self.type is ConfigType.PASSWORD


def known_configs(kind: ConfigResourceType) -> Mapping[str, KnownConfig]:
    """Every config that brokers know of resources of this type, by name."""
    return _known()[kind]


@cache
def _known() -> Mapping[ConfigResourceType, Mapping[str, KnownConfig]]:
    codes = {4: ConfigResourceType.BROKER, 16: ConfigResourceType.CLIENT_METRICS}
    known: dict[ConfigResourceType, dict[str, KnownConfig]] = {it: {} for it in ConfigResourceType}
    for line in _FACTS.read_text(encoding="utf-8").splitlines():
        kind, name, type_, default, read_only, server_default = json.loads(line)
        known[codes.get(kind, ConfigResourceType.GROUP)][name] = KnownConfig(
            name=name,
            type=ConfigType(type_),
            default=default,
            read_only=read_only,
            server_default=server_default,
        )
    return known


def config_documentation(key: str) -> str | None:
    """Return the purpose of a config of any type of resource; None if it is unknown."""
    return _documentation().get(key)


@cache
def _documentation() -> Mapping[str, str]:
    lines = _DOCUMENTATION.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


@cache
def resource_configs(kind: ConfigResourceType) -> Mapping[str, ValueReader]:
    """Every config that documents may declare of resources of this type, by name."""
    match kind:
        case ConfigResourceType.GROUP | ConfigResourceType.CLIENT_METRICS:
            readers = {name: _reader(known, least=0) for name, known in known_configs(kind).items()}
        case ConfigResourceType.BROKER:
            topics = topic_configs_by_default()
            readers = {
                name: value_reader(replace(topics[name], name=name))
                if name in topics
                else _reader(known, least=None)
                for name, known in known_configs(kind).items()
                if not refused_broker_config(name)
            }
    return MappingProxyType(readers)


@cache
def topic_configs_by_default() -> Mapping[str, TopicConfig]:
    """The topic config that each broker config is the default of."""
    configs = topic_configs().values()
    return {config.server_default: config for config in configs if config.server_default}


def is_set_by_kafka(key: str, value: str | None) -> bool:
    """True for what Kafka sets for all brokers of a new cluster by itself (ELR, KIP-966)."""
    known = known_configs(ConfigResourceType.BROKER)
    return key == "min.insync.replicas" and value == known[key].default


def refused_broker_config(key: str) -> str | None:
    """Say why documents can't declare this config of a broker; None if they can."""
    if key in RATES:
        return "is a throttle that kgitops sets while replicas move, and removes afterwards"
    known = known_configs(ConfigResourceType.BROKER).get(key)
    if known is not None and known.read_only:
        return "is read when a broker starts, and can't be changed while it runs"
    if known is not None and known.type in (ConfigType.PASSWORD, ConfigType.CLASS):
        return "is a password or a Java class, which documents don't hold"
    if _OF_LISTENERS.fullmatch(key):
        return "belongs to listeners and plugins of brokers, which documents don't declare"
    return None


def _reader(known: KnownConfig, *, least: int | None) -> ValueReader:
    """The reader of a config by its type; brokers judge more."""
    types = {ConfigType.SHORT: ConfigType.INT, ConfigType.CLASS: ConfigType.STRING}
    type_ = types.get(known.type) or ConfigType(known.type)
    config = TopicConfig(
        name=known.name,
        type=type_,
        default=None,
        minimum={ConfigType.INT: least, ConfigType.DOUBLE: 0}.get(type_),
        maximum=sys.float_info.max if type_ is ConfigType.DOUBLE else None,
        valid_values=_CHOICES.get(known.name, ()),
        server_default=None,
        doc="",
    )
    if type_ is ConfigType.LIST:
        return ValueReader(config=config, parse=_list, legal=_LISTED)
    if type_ is ConfigType.STRING and not config.valid_values:
        return ValueReader(config=config, parse=trim, legal=_TEXT)
    return value_reader(config)


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


def _list(text: str) -> tuple[str, ...]:
    # As a set: Kafka neither sorts lists nor counts an item twice.
    return tuple(sorted({item for part in text.split(",") if (item := trim(part))}))
