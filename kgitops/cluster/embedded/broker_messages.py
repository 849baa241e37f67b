"""Brokers' error messages about a config's value or a topic's name.

Findings about a manifest say which values are legal; these are the answers of Kafka 4.3, worded as
by its ConfigDef, its validators and org.apache.kafka.common.internals.Topic.
"""

from collections.abc import Mapping
from typing import assert_never

from kgitops.model.resources.names import MAX_TOPIC_NAME, topic_name_problem
from kgitops.model.resources.topic_config_values import (
    ConfigType,
    TopicConfig,
    is_legal,
    value_parser,
)
from kgitops.model.resources.topic_configs import topic_configs

_LAGS = "min.compaction.lag.ms", "max.compaction.lag.ms"


def config_refusal(key: str, value: str) -> str | None:
    """The error message about the value of a known topic config; None if it is legal."""
    return _refusal(topic_configs()[key], value)


def rate_refusal(key: str, value: str) -> str | None:
    """The error message about the rate of a broker's replication throttle; None if it is legal."""
    return plain_refusal(key, ConfigType.LONG, value, minimum=0)


def plain_refusal(
    key: str, type_: ConfigType, value: str, *, minimum: float | None = None
) -> str | None:
    """The error message about a value that is a switch or a number; None if it is legal."""
    config = TopicConfig(
        name=key,
        type=type_,
        default=None,
        minimum=minimum,
        maximum=None,
        valid_values=(),
        server_default=None,
        doc="",
    )
    return _refusal(config, value)


def _refusal(config: TopicConfig, value: str) -> str | None:
    parsed = value_parser(config)(value)
    if parsed is not None and is_legal(config, parsed):
        return None
    if config.type is ConfigType.LIST:
        return _list_refusal(config, value)
    why = _unreadable(config) if parsed is None else _out_of_bounds(config, value)
    return f"Invalid value {value} for configuration {config.name}: {why}"


def compaction_lags_refusal(
    configs: Mapping[str, str], broker_defaults: Mapping[str, str]
) -> str | None:
    """The error message of LogConfig.validateValues about values in conflict; None without one."""
    least, most = (
        int(configs.get(key) or broker_defaults.get(key) or topic_configs()[key].default or 0)
        for key in _LAGS
    )
    if least <= most:
        return None
    return f"conflict topic config setting {_LAGS[0]} ({least}) > {_LAGS[1]} ({most})"


def name_refusal(name: str) -> str | None:
    """The error message about a topic's name; None if it is legal (A4-11)."""
    if topic_name_problem(name) is None:
        return None
    if not name:
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > MAX_TOPIC_NAME:
        why = f"the length of '{name}' is longer than the max allowed length {MAX_TOPIC_NAME}"
    else:
        why = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    return f"Topic name is invalid: {why}"


def _unreadable(config: TopicConfig) -> str:
    """ConfigDef.parseType: the text is of another type."""
    match config.type:
        case ConfigType.BOOLEAN:
            return "Expected value to be either true or false"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG | ConfigType.DOUBLE:
            return f"Not a number of type {config.type}"
        case ConfigType.STRING | ConfigType.LIST | ConfigType.CLASS | ConfigType.PASSWORD:
            return _choices(config)
        case _:
            assert_never(config.type)


def _out_of_bounds(config: TopicConfig, value: str) -> str:
    """ConfigDef.Range and ConfigDef.ValidString, of a value that could be read."""
    if config.type is ConfigType.STRING:
        return _choices(config)
    if config.valid_values:
        others = " or ".join(config.valid_values)
        return f"Value must be between {config.minimum} and {config.maximum} or equal to {others}"
    if config.minimum is not None and float(value) < config.minimum:
        return f"Value must be at least {config.minimum}"
    most = config.maximum or 0
    return f"Value must be no more than {int(most) if most == int(most) else most}"


def _choices(config: TopicConfig) -> str:
    return f"String must be one of: {', '.join(config.valid_values)}"


def _list_refusal(config: TopicConfig, value: str) -> str:
    """ConfigDef.ValidList and ThrottledReplicaListValidator."""
    parts = [part.strip() for part in value.split(",")]
    if config.valid_values:
        wrong = next(part for part in parts if part not in config.valid_values)
        if not wrong:
            return f"Configuration '{config.name}' values must not be empty."
        return f"Invalid value {wrong} for configuration {config.name}: {_choices(config)}"
    return (
        f"Invalid value [{', '.join(parts)}] for configuration {config.name}: {config.name} must "
        "be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )
