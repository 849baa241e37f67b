"""The configs in effect of one broker, those that are the default of all, and its loggers."""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.entries import (
    ConfigEntry,
    ConfigSource,
    EntryType,
    Layers,
    broker_synonyms,
    by_key,
    source_of,
)
from kgitops.cluster.embedded.options import AuthorizerKind
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.config_resources import ConfigResourceType, KnownConfig, known_configs
from kgitops.model.resources.topic_config_values import ConfigType
from kgitops.model.resources.topics import RATES
from kgitops.model.results import ErrorCode

MIN_ISR = "min.insync.replicas"
_STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


_NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})
_OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(?P<key>.+)")
_ROOT = "root"
_LOGGERS = ("kgitops", "kgitops.cluster.embedded", "kgitops.policy", "kgitops.serve", _ROOT)
# org.apache.kafka.common.config.LogLevelConfig
_LEVELS: Mapping[str, int] = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_WORDS = {level: word for word, level in _LEVELS.items()}


THROTTLES: Mapping[str, KnownConfig] = {
    name: KnownConfig(
        name=name, type=ConfigType.LONG, default=None, read_only=False, server_default=None
    )
    for name in (*RATES, "replica.alter.log.dirs.io.max.bytes.per.second")
}
"""Configs that brokers have only while they are set (org.apache.kafka.server.config.DynamicConfig):
they are no broker's default, and nothing can be appended to them."""


def known_broker_config(key: str) -> KnownConfig | None:
    """The broker config of this name, also with the prefix of a listener."""
    configs = known_configs(ConfigResourceType.BROKER)
    matched = _OF_LISTENER.fullmatch(key)
    return configs.get(key) or (configs.get(matched["key"]) if matched else None)


@cache
def broker_config_defaults() -> Mapping[str, str]:
    """The defaults of a broker's configs that have one."""
    configs = known_configs(ConfigResourceType.BROKER).values()
    return {config.name: config.default for config in configs if config.default is not None}


def cluster_configs(draft: Draft) -> Mapping[str, str]:
    """The configs that are the default of all brokers.

    With eligible leader replicas (KIP-966) one of them is always there: Kafka sets it once, to the
    value of the brokers' properties.
    """
    configs = draft.image.configs.brokers.get("", {})
    if draft.options.seed:
        return configs
    kept = draft.options.static_configs.get(MIN_ISR) or broker_config_defaults()[MIN_ISR]
    return {MIN_ISR: kept, **configs}


def broker_layers(
    draft: Draft, broker: str, properties: Mapping[str, str] = _NO_PROPERTIES
) -> Layers:
    """The configs of a broker by their source; of the default of all brokers for ``""``.

    ``properties`` are those that it was started with besides the cluster's options.
    """
    configs = draft.image.configs.brokers
    return [
        (ConfigSource.DYNAMIC_BROKER_CONFIG, configs.get(broker, {}) if broker else {}),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, cluster_configs(draft)),
        (ConfigSource.STATIC_BROKER_CONFIG, {**properties, **_static(draft, broker)}),
        (ConfigSource.DEFAULT_CONFIG, broker_config_defaults()),
    ]


def broker_entries(
    draft: Draft, broker: str, properties: Mapping[str, str] = _NO_PROPERTIES
) -> dict[str, ConfigEntry]:
    """Every config of a broker, or what was set as the default of all."""
    layers = broker_layers(draft, broker, properties)
    if not broker:
        layers = layers[1:2]
    keys = {key for _, configs in layers for key in configs}
    if broker:
        keys |= known_configs(ConfigResourceType.BROKER).keys()
    return by_key([_entry(layers, key) for key in keys])


def _entry(layers: Layers, key: str) -> ConfigEntry:
    known = known_broker_config(key) or THROTTLES.get(key)
    sensitive = known is None or known.sensitive
    synonyms = broker_synonyms(layers, key, sensitive=sensitive)
    value = next((configs[key] for _, configs in layers if key in configs), None)
    return ConfigEntry(
        key=key,
        value=None if sensitive else value,
        source=source_of(synonyms),
        type=EntryType.UNKNOWN if known is None else EntryType(known.type),
        sensitive=sensitive,
        # A key with a listener's prefix, too, is not among those that Kafka calls dynamic.
        read_only=known is None or known.name != key or known.read_only,
        synonyms=synonyms,
    )


def _static(draft: Draft, broker: str) -> Mapping[str, str]:
    """The properties that a broker was started with, as far as there are any here."""
    options = draft.options
    if not broker:
        return options.static_configs
    found: dict[str, str] = {"broker.id": broker, "node.id": broker, "process.roles": "broker"}
    racks = {item.id: item.rack for item in draft.delta.brokers.all()}
    rack = racks.get(int(broker))
    if rack is not None:
        found["broker.rack"] = rack
    if options.authorizer is AuthorizerKind.ACLS:
        found["authorizer.class.name"] = _STANDARD_AUTHORIZER
        found["super.users"] = ";".join(sorted(options.super_users))
    return {**found, **options.static_configs_of(int(broker))}


def logger_entries() -> dict[str, ConfigEntry]:
    """The levels of all loggers."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return by_key([ConfigEntry(key=name, value=_level(name), source=source) for name in _LOGGERS])


def check_level(name: str, level: str | None) -> None:
    """Refuse a logger that does not exist, or a level that it can't have; None removes its own.

    Raises:
        Refusal: there is such a mistake (40, 42).
    """
    if name not in _LOGGERS:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if level is None:
        if name == _ROOT:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"Removing the log level of the {_ROOT} logger is not allowed",
            )
    elif level not in _LEVELS:
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(_LEVELS))}",
        )


def set_levels(levels: Sequence[tuple[str, str | None]]) -> None:
    """Give loggers these levels; None removes a logger's own."""
    for name, level in levels:
        _logger(name).setLevel(logging.NOTSET if level is None else _LEVELS[level])


def _level(name: str) -> str:
    level = _logger(name).getEffectiveLevel()
    return _WORDS.get(level) or next(
        (word for word, bound in _LEVELS.items() if level <= bound), "FATAL"
    )


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == _ROOT else name)
