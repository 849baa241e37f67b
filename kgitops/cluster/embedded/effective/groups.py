"""The configs in effect of groups (KIP-848) and of subscriptions to clients' metrics (KIP-714)."""

from collections.abc import Mapping

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.brokers import broker_layers
from kgitops.cluster.embedded.effective.entries import (
    ConfigEntry,
    ConfigSource,
    ConfigSynonym,
    EntryType,
    broker_synonyms,
    by_key,
    source_of,
)
from kgitops.model.resources.config_resources import ConfigResourceType, KnownConfig, known_configs


def group_entries(draft: Draft, own: Mapping[str, str], broker: str) -> dict[str, ConfigEntry]:
    """Every config of a group, above the defaults that this broker gives."""
    layers = broker_layers(draft, broker)

    def entry(config: KnownConfig) -> ConfigEntry:
        default = ConfigSynonym(
            key=config.name, value=config.default, source=ConfigSource.DEFAULT_CONFIG
        )
        name = config.server_default
        return _entry(
            config,
            own,
            broker_synonyms(layers, name) if name else (default,),
            ConfigSource.DYNAMIC_GROUP_CONFIG,
        )

    return by_key([entry(config) for config in known_configs(ConfigResourceType.GROUP).values()])


def client_metrics_entries(own: Mapping[str, str]) -> dict[str, ConfigEntry]:
    """Every config of a subscription."""
    source = ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG
    configs = known_configs(ConfigResourceType.CLIENT_METRICS).values()
    return by_key([_entry(config, own, (), source) for config in configs])


def _entry(
    config: KnownConfig,
    own: Mapping[str, str],
    defaults: tuple[ConfigSynonym, ...],
    source: ConfigSource,
) -> ConfigEntry:
    synonyms = defaults
    if config.name in own:
        found = ConfigSynonym(key=config.name, value=own[config.name], source=source)
        synonyms = (found, *defaults)
    return ConfigEntry(
        key=config.name,
        value=synonyms[0].value if synonyms else config.default,
        source=source_of(synonyms),
        type=EntryType(config.type),
        synonyms=synonyms,
    )
