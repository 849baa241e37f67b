"""What Kafka demands of several topic configs at once, as LogConfig.validate does on a controller.

Tiered storage is taken to be enabled in the brokers: no topic config tells whether it is.
"""

from collections.abc import Iterator, Mapping

from kgitops.model.configs.values import Value

Problem = tuple[str, str]
"""The config that is at fault, and what is wrong, in plain words."""

RULED = (
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
"""The configs that a rule is about: no other's value is looked at."""

_FROM_RETENTION = -2
_UNLIMITED = -1


def cross_problems(values: Mapping[str, Value], *, was_tiered: bool) -> Iterator[Problem]:
    """What is wrong between the ``values`` in effect for a topic: all of ``RULED``, and legal.

    ``was_tiered`` says whether the topic has ``remote.storage.enable=true`` before the change.
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
