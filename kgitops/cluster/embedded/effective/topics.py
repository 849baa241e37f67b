"""The configs in effect of topics: their own, above the defaults that a broker gives."""

from collections.abc import Mapping

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.brokers import broker_layers
from kgitops.cluster.embedded.effective.entries import (
    ConfigEntry,
    ConfigSource,
    ConfigSynonym,
    EntryType,
    Layers,
    broker_synonyms,
    by_key,
    source_of,
)
from kgitops.cluster.embedded.image.image import ConfigsImage
from kgitops.cluster.embedded.options import Options
from kgitops.model.resources.topic_configs import TopicConfig, topic_configs

_MINUTE, _HOUR = 60_000, 3_600_000
_LARGER = {
    # ServerTopicConfigSynonyms: the names that count where the first one is not set, and their unit
    "log.retention.ms": (("log.retention.minutes", _MINUTE), ("log.retention.hours", _HOUR)),
    "log.roll.ms": (("log.roll.hours", _HOUR),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", _HOUR),),
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
}


_latest: dict[str, tuple[ConfigsImage, Options, Mapping[str, ConfigEntry]]] = {}
"""The defaults that brokers gave last, as long as no broker's configs change."""


def topic_default_entries(draft: Draft, broker: str) -> Mapping[str, ConfigEntry]:
    """The entries of a topic that sets nothing itself, as this broker has them.

    They are the same object until a config of a broker changes.
    """
    configs, options = draft.image.configs, draft.options
    held = _latest.get(broker)
    if held and held[0] is configs and held[1] is options:
        return held[2]
    layers = broker_layers(draft, broker)
    entries = by_key([_default(layers, config) for config in topic_configs().values()])
    _latest[broker] = configs, options, entries
    return entries


def topic_entries(
    own: Mapping[str, str], defaults: Mapping[str, ConfigEntry]
) -> Mapping[str, ConfigEntry]:
    if not own:
        return defaults
    entries = {**defaults, **{key: _own(key, own[key], defaults.get(key)) for key in own}}
    # A key that Kafka does not know has come last.
    return entries if len(entries) == len(defaults) else by_key(list(entries.values()))


def _own(key: str, value: str, default: ConfigEntry | None) -> ConfigEntry:
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    synonym = ConfigSynonym(key=key, value=value, source=source)
    return ConfigEntry(
        key=key,
        value=value,
        source=source,
        type=default.type if default else EntryType.UNKNOWN,
        synonyms=(synonym, *(default.synonyms if default else ())),
    )


def _default(layers: Layers, config: TopicConfig) -> ConfigEntry:
    name = config.server_default
    synonyms = broker_synonyms(layers, name) if name else ()
    return ConfigEntry(
        key=config.name,
        value=_of_broker(layers, name) or config.default if name else config.default,
        source=source_of(synonyms),
        type=EntryType(config.type),
        synonyms=synonyms,
    )


def _of_broker(layers: Layers, name: str) -> str | None:
    """The value that a broker was given for its default; None where it was given none."""
    for other, unit in ((name, 1), *_LARGER.get(name, ())):
        for _, configs in layers[:-1]:
            if other in configs:
                return configs[other] if unit == 1 else str(max(-1, int(configs[other]) * unit))
    return None
