"""The configs in effect of one broker, and those that are the default of all."""

from collections.abc import Mapping
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
from kgitops.cluster.embedded.effective.known import (
    broker_config_defaults,
    known_broker_config,
    known_broker_configs,
)
from kgitops.cluster.embedded.options import AuthorizerKind

_STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


_NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


def broker_layers(
    draft: Draft, broker: str, properties: Mapping[str, str] = _NO_PROPERTIES
) -> Layers:
    """The configs of a broker by their source; of the default of all brokers for ``""``.

    ``properties`` are those that it was started with besides the cluster's options.
    """
    configs = draft.image.configs.brokers
    return [
        (ConfigSource.DYNAMIC_BROKER_CONFIG, configs.get(broker, {}) if broker else {}),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, configs.get("", {})),
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
        keys |= known_broker_configs().keys()
    return by_key([_entry(layers, key) for key in keys])


def _entry(layers: Layers, key: str) -> ConfigEntry:
    known = known_broker_config(key)
    sensitive = known is None or known.sensitive
    synonyms = broker_synonyms(layers, key, sensitive=sensitive)
    value = next((configs[key] for _, configs in layers if key in configs), None)
    return ConfigEntry(
        key=key,
        value=None if sensitive else value,
        source=source_of(synonyms),
        type=EntryType.UNKNOWN if known is None else known.type,
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
