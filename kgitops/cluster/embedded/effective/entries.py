"""A config in effect, its source, and its synonyms in Kafka's order (ConfigHelper)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import dropwhile

from msgspec import Struct

_FAMILIES = (
    # DynamicBrokerConfig.brokerConfigSynonyms
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_SYNONYMS = {name: family for family in _FAMILIES for name in family} | {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
}


class ConfigSource(StrEnum):
    """Source of a value (org.apache.kafka.clients.admin.ConfigEntry.ConfigSource)."""

    DYNAMIC_TOPIC_CONFIG = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER_CONFIG = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER_CONFIG = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER_CONFIG = "STATIC_BROKER_CONFIG"
    DEFAULT_CONFIG = "DEFAULT_CONFIG"
    DYNAMIC_BROKER_LOGGER_CONFIG = "DYNAMIC_BROKER_LOGGER_CONFIG"
    DYNAMIC_CLIENT_METRICS_CONFIG = "DYNAMIC_CLIENT_METRICS_CONFIG"
    DYNAMIC_GROUP_CONFIG = "DYNAMIC_GROUP_CONFIG"


class EntryType(StrEnum):
    """Type of a value (org.apache.kafka.clients.admin.ConfigEntry.ConfigType)."""

    UNKNOWN = "UNKNOWN"
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 (a type, not a secret)


class ConfigSynonym(Struct, frozen=True, kw_only=True):
    """A place that a value could come from; the first of several is where it does."""

    key: str
    value: str | None
    source: ConfigSource


class ConfigEntry(Struct, frozen=True, kw_only=True):
    """One config in effect; a sensitive one has no value to be seen."""

    key: str
    value: str | None
    source: ConfigSource
    type: EntryType = EntryType.UNKNOWN
    sensitive: bool = False
    read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()


Layers = Sequence[tuple[ConfigSource, Mapping[str, str]]]
"""A broker's configs by their source, the strongest first; Kafka's defaults last."""


def broker_synonyms(
    layers: Layers, name: str, *, sensitive: bool = False
) -> tuple[ConfigSynonym, ...]:
    """The places of a broker's config, also under names that mean the same in another unit.

    Kafka leaves out what comes before the name itself.
    """
    names = _SYNONYMS.get(name) or (name,)
    found = [
        ConfigSynonym(key=other, value=None if sensitive else configs[other], source=source)
        for source, configs in layers
        for other in names
        if other in configs
    ]
    return tuple(dropwhile(lambda synonym: synonym.key != name, found))


def source_of(synonyms: Sequence[ConfigSynonym]) -> ConfigSource:
    """The source of a value with these synonyms."""
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG


def by_key(entries: Sequence[ConfigEntry]) -> dict[str, ConfigEntry]:
    """The entries in the order of their keys."""
    return {entry.key: entry for entry in sorted(entries, key=lambda entry: entry.key)}
