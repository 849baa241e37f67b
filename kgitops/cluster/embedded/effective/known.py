"""The configs that Kafka knows of brokers, groups and client metrics."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from kgitops.cluster.embedded.effective.entries import EntryType
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.topic_configs import ConfigType, TopicConfig, topic_configs

_FACTS = Path(__file__).with_name("known_configs.jsonl")
_BROKER, _CLIENT_METRICS, _GROUP = 4, 16, 32
_OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(?P<key>.+)")


class KnownConfig(Struct, frozen=True, kw_only=True):
    """One config: ``server_default`` is the broker's config that gives a group's its default."""

    name: str
    type: EntryType
    default: str | None
    read_only: bool
    server_default: str | None

    @property
    def sensitive(self) -> bool:
        """True if its value is never shown."""
        return self.type is EntryType.PASSWORD


def known_broker_configs() -> Mapping[str, KnownConfig]:
    """Those of a broker, by name."""
    return _known()[_BROKER]


def known_group_configs() -> Mapping[str, KnownConfig]:
    """Those of a group, by name."""
    return _known()[_GROUP]


def known_client_metrics_configs() -> Mapping[str, KnownConfig]:
    """Those of a subscription to clients' metrics (KIP-714), by name."""
    return _known()[_CLIENT_METRICS]


def known_types(kind: ConfigResourceType | None) -> Mapping[str, ConfigType]:
    """The types of the configs of a resource of this type, or without one of a topic."""
    known: Mapping[str, KnownConfig | TopicConfig]
    match kind:
        case None:
            known = topic_configs()
        case ConfigResourceType.GROUP:
            known = known_group_configs()
        case ConfigResourceType.CLIENT_METRICS:
            known = known_client_metrics_configs()
    return {name: ConfigType(config.type) for name, config in known.items()}


def known_broker_config(key: str) -> KnownConfig | None:
    """The broker config of this name, also with the prefix of a listener."""
    configs = known_broker_configs()
    matched = _OF_LISTENER.fullmatch(key)
    return configs.get(key) or (configs.get(matched["key"]) if matched else None)


@cache
def broker_config_defaults() -> Mapping[str, str]:
    """The defaults of a broker's configs that have one."""
    configs = known_broker_configs().values()
    return {config.name: config.default for config in configs if config.default is not None}


@cache
def _known() -> Mapping[int, Mapping[str, KnownConfig]]:
    known: dict[int, dict[str, KnownConfig]] = {}
    for line in _FACTS.read_text(encoding="utf-8").splitlines():
        kind, name, type_, default, read_only, server_default = json.loads(line)
        known.setdefault(kind, {})[name] = KnownConfig(
            name=name,
            type=EntryType(type_),
            default=default,
            read_only=read_only,
            server_default=server_default,
        )
    return known
