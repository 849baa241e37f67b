"""Kafka's topic configs: their names, their legal values, and the normal form of a value.

The facts are Apache Kafka's own: ``data/topic_configs.json`` is a dump of LogConfig's ConfigDef.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgitops.model.resources.topic_config_values import (
    ConfigType,
    TopicConfig,
    Value,
    ValueReader,
    to_text,
    trim,
    value_reader,
)
from kgitops.model.wording import nearest

__all__ = [
    "CLUSTER_DEFAULT",
    "KAFKA_DEFAULT",
    "ConfigType",
    "TopicConfig",
    "config_problem",
    "configs_problems",
    "effective_default",
    "is_throttle",
    "kafka_version",
    "nearest_config",
    "normal_value",
    "removed_config",
    "topic_configs",
]

CLUSTER_DEFAULT = "cluster default"
KAFKA_DEFAULT = "Kafka default"
_DATA = Path(__file__).parents[1] / "data" / "topic_configs.json"
_CACHED_VALUES = 1 << 14
_LONGEST_SHOWN = 80
Problem = tuple[str, str]
"""The key of the config that is at fault, and one sentence about what is wrong."""

CONSTRAINED = (
    "cleanup.policy",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "min.compaction.lag.ms",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
)
"""The configs that ``cross_problems`` looks at."""

_FROM_RETENTION = -2
_UNLIMITED = -1


@cache
def topic_configs() -> Mapping[str, TopicConfig]:
    """Every topic config that this version of Kafka knows, by name."""
    return MappingProxyType(
        {
            row["name"]: TopicConfig(
                name=row["name"],
                type=ConfigType(row["type"]),
                default=row["default"],
                minimum=row["min"],
                maximum=row["max"],
                valid_values=tuple(row["valid_values"]),
                server_default=row["server_default"],
                doc=row["doc"],
            )
            for row in _data()["configs"]
        }
    )


def kafka_version() -> str:
    """The version of Apache Kafka that the facts were taken from."""
    return str(_data()["kafka_version"])


def removed_config(key: str) -> str | None:
    """Advice for a config that Kafka 4 removed, on what to use instead; None for any other key."""
    advice = _data()["removed"].get(key)
    return None if advice is None else str(advice)


@cache
def nearest_config(key: str, *, misspelt: bool = True) -> str | None:
    """The config that a key may mean; also knows ``retentionMs`` and brokers' names.

    A key that is not ``misspelt`` is only looked for by brokers' names.
    """
    plain = re.sub(r"[_\s-]", ".", re.sub(r"(?<=[a-z])(?=[A-Z])", ".", key)).lower()
    plain = re.sub(r"\.(hours|minutes|seconds)$", ".ms", plain)
    broker_names = {config.server_default: name for name, config in topic_configs().items()}
    if plain in broker_names:
        return broker_names[plain]
    return nearest(plain, topic_configs()) if misspelt else None


# A cluster has few distinct values of a key, each of them very many times.
@lru_cache(maxsize=_CACHED_VALUES)
def normal_value(key: str, value: str) -> str:
    """The value as Kafka writes it, so that equal meanings have equal texts; idempotent.

    Lists are sorted, without duplicates. An unknown key's value is returned unchanged, and a value
    that Kafka can't parse is only trimmed.
    """
    reader = _readers().get(key)
    if reader is None:
        return value
    parsed = reader.parse(value)
    return trim(value) if parsed is None else to_text(parsed)


def config_problem(key: str, value: str) -> str | None:
    """The reason why Kafka would refuse ``value`` for a known key, and the legal ones; or None."""
    reader = _readers().get(key)
    if reader is None or _legal_value(key, value) is not None:
        return None
    shown = value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}…"
    return reader.problem(shown)


def configs_problems(
    configs: Mapping[str, str],
    *,
    broker_defaults: Mapping[str, str] | None = None,
    existing: Mapping[str, str] | None = None,
) -> tuple[Problem, ...]:
    """Conflicts between the configs of one topic, each with the key at fault and the reason.

    A key that a topic doesn't set counts with the value of ``broker_defaults``, else with Kafka's
    default. Values that are illegal by themselves are reported by ``config_problem``: here they
    count as not set. ``existing`` are the topic's own configs before the change.
    """
    values = dict(_default_values())
    for source in (broker_defaults or {}, configs):
        for key in CONSTRAINED:
            legal = _legal_value(key, source[key]) if key in source else None
            if legal is not None:
                values[key] = legal
    # LogConfig parses the old value with Boolean.parseBoolean, which doesn't trim.
    was_tiered = (existing or {}).get("remote.storage.enable", "").lower() == "true"
    return tuple(cross_problems(values, was_tiered=was_tiered))


def effective_default(key: str, broker_defaults: Mapping[str, str]) -> tuple[str | None, str]:
    """The value in effect for a key that a topic doesn't set, and the origin of that default."""
    if key in broker_defaults:
        return broker_defaults[key], CLUSTER_DEFAULT
    config = topic_configs().get(key)
    return (config.default if config else None), KAFKA_DEFAULT


def is_throttle(key: str) -> bool:
    """True for keys that throttle replication: operators set them temporarily, in no manifest."""
    return ".replication.throttled." in key


@lru_cache(maxsize=_CACHED_VALUES)
def _legal_value(key: str, text: str) -> Value | None:
    """The value of ``text`` for a known key, if Kafka accepts it."""
    return _readers()[key].legal_value(text)


@cache
def _readers() -> Mapping[str, ValueReader]:
    return {name: value_reader(config) for name, config in topic_configs().items()}


@cache
def _default_values() -> Mapping[str, Value]:
    parsed = (
        (key, _readers()[key].parse(_readers()[key].config.default or "")) for key in CONSTRAINED
    )
    return {key: value for key, value in parsed if value is not None}


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return data


def cross_problems(values: Mapping[str, Value], *, was_tiered: bool) -> Iterator[Problem]:
    """Conflicts between the values in effect for a topic, as in LogConfig.validate on a controller.

    ``values`` has a legal value for each key of ``CONSTRAINED``. Tiered storage is taken to be
    enabled in the brokers: no topic config shows whether it is. ``was_tiered`` is true if the topic
    has ``remote.storage.enable=true`` before the change.
    """
    least, most = _number(values, "min.compaction.lag.ms"), _number(values, "max.compaction.lag.ms")
    if least > most:
        yield (
            "min.compaction.lag.ms",
            f"min.compaction.lag.ms is {least}, more than max.compaction.lag.ms, which is {most}",
        )
    if values["remote.storage.enable"]:
        yield from _tiered_problems(values)
    elif was_tiered and not values["remote.log.delete.on.disable"]:
        yield (
            "remote.storage.enable",
            "remote.storage.enable can only be turned off together with "
            "remote.log.delete.on.disable=true, which deletes what is stored remotely",
        )


def _tiered_problems(values: Mapping[str, Value]) -> Iterator[Problem]:
    if values["cleanup.policy"] not in ((), ("delete",)):
        yield (
            "cleanup.policy",
            "cleanup.policy must be delete or empty where remote.storage.enable is true",
        )
    for unit in ("bytes", "ms"):
        yield from _local_retention_problems(values, unit)
        yield from _copy_lag_problems(values, unit)


def _local_retention_problems(values: Mapping[str, Value], unit: str) -> Iterator[Problem]:
    key = f"local.retention.{unit}"
    local, total = _number(values, key), _number(values, f"retention.{unit}")
    if local == _FROM_RETENTION:
        return
    # Kafka takes any negative retention.bytes as unlimited, but of retention.ms only -1.
    unlimited = total <= _UNLIMITED
    if not unlimited and local == _UNLIMITED:
        yield key, f"{key} can't be unlimited (-1) while retention.{unit} is {total}"
    elif not unlimited and local > total:
        yield key, f"{key} is {local}, more than retention.{unit}, which is {total}"
    if values["remote.log.copy.disable"] and local != total:
        yield (
            key,
            f"{key} is {local}: where remote.log.copy.disable is true it must be -2 "
            f"or equal to retention.{unit}, which is {total}",
        )


def _copy_lag_problems(values: Mapping[str, Value], unit: str) -> Iterator[Problem]:
    key = f"remote.copy.lag.{unit}"
    lag, local = _number(values, key), _number(values, f"local.retention.{unit}")
    if local == _FROM_RETENTION:
        local = _number(values, f"retention.{unit}")
    if lag > local >= 0:
        yield (
            key,
            f"{key} is {lag}, more than the local retention (local.retention.{unit}, or where "
            f"that is -2 retention.{unit}), which is {local}",
        )


def _number(values: Mapping[str, Value], key: str) -> int:
    value = values[key]
    assert isinstance(value, int)  # noqa: S101 (every key here is an INT or a LONG)
    return value
