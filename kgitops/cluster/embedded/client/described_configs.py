"""Answers DescribeConfigs: the value of each config, and where it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kgitops.cluster.embedded.controls.configs import ConfigResource
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.state import controller_id
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import Operation
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.model.topic_configs import topic_configs


class ConfigSource(StrEnum):
    """Where a value comes from (org.apache.kafka.clients.admin.ConfigEntry.ConfigSource)."""

    DYNAMIC_TOPIC_CONFIG = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER_CONFIG = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER_CONFIG = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER_CONFIG = "STATIC_BROKER_CONFIG"
    DEFAULT_CONFIG = "DEFAULT_CONFIG"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """One config in effect."""

    key: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfigs:
    """The configs of one resource by key, or why they are not told."""

    result: RequestResult = OK
    entries: Mapping[str, ConfigEntry]


def describe_configs(
    draft: Draft, resources: Sequence[ConfigResource]
) -> dict[ConfigResource, DescribedConfigs]:
    """One answer for each resource."""
    described = {}
    for resource in resources:
        try:
            entries = _entries(draft, resource)
        except Refusal as refusal:
            described[resource] = DescribedConfigs(result=refusal.result, entries={})
        else:
            described[resource] = DescribedConfigs(
                entries={entry.key: entry for entry in sorted(entries, key=lambda e: e.key)}
            )
    return described


def _entries(draft: Draft, resource: ConfigResource) -> list[ConfigEntry]:
    match resource.type:
        case "topic":
            if not draft.authorizer.allows_topic(Operation.DESCRIBE_CONFIGS, resource.name):
                raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            topic = draft.delta.topics.get(resource.name)
            if topic is None:
                raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return _topic_entries(draft, topic.configs)
        case "broker":
            if not draft.authorizer.allows_cluster(Operation.DESCRIBE_CONFIGS):
                raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            known = {"", *(str(broker.id) for broker in draft.delta.brokers.all())}
            if resource.name not in known:
                raise Refusal(
                    ErrorCode.INVALID_REQUEST, f"No such broker is registered: {resource.name}."
                )
            return _broker_entries(draft, resource.name)
        case _:
            raise Refusal(
                ErrorCode.INVALID_REQUEST, f"Unsupported config resource type {resource.type}."
            )


def _topic_entries(draft: Draft, own: Mapping[str, str]) -> list[ConfigEntry]:
    layers = _broker_layers(draft, str(controller_id(draft.image)))
    entries = [
        ConfigEntry(key=key, value=value, source=ConfigSource.DYNAMIC_TOPIC_CONFIG)
        for key, value in own.items()
    ]
    for key, config in topic_configs().items():
        if key not in own:
            value, source = _from_layers(layers, config.server_default, config.default)
            entries.append(ConfigEntry(key=key, value=value, source=source))
    return entries


def _broker_entries(draft: Draft, broker: str) -> list[ConfigEntry]:
    layers = _broker_layers(draft, broker)
    if not broker:
        # The default of all brokers is only what was set on it.
        source, configs = layers[1]
        return [ConfigEntry(key=key, value=configs[key], source=source) for key in configs]
    defaults = {c.server_default: c.default for c in topic_configs().values() if c.server_default}
    keys = {key for _, configs in layers for key in configs} | defaults.keys()
    return [
        ConfigEntry(key=key, value=value, source=source)
        for key in keys
        for value, source in [_from_layers(layers, key, defaults.get(key))]
    ]


def _broker_layers(draft: Draft, broker: str) -> list[tuple[ConfigSource, Mapping[str, str]]]:
    configs = draft.image.configs.brokers
    options = draft.options
    static = options.static_configs_of(int(broker)) if broker else options.static_configs
    return [
        (ConfigSource.DYNAMIC_BROKER_CONFIG, configs.get(broker, {}) if broker else {}),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, configs.get("", {})),
        (ConfigSource.STATIC_BROKER_CONFIG, static),
    ]


def _from_layers(
    layers: list[tuple[ConfigSource, Mapping[str, str]]], key: str | None, default: str | None
) -> tuple[str | None, ConfigSource]:
    if key is not None:
        for source, configs in layers:
            if key in configs:
                return configs[key], source
    return default, ConfigSource.DEFAULT_CONFIG
