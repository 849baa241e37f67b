"""DescribeConfigs and the two AlterConfigs (VC-035, VC-154).

Only topics have local names: brokers' configs take a right on the physical cluster.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.controls import configs as config_control
from kgitops.cluster.embedded.controls.configs import ConfigChanges, ConfigResource
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import TOPIC
from kgitops.cluster.embedded.image.state import controller_id
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey


class ConfigSource(StrEnum):
    """Source of a value (org.apache.kafka.clients.admin.ConfigEntry.ConfigSource)."""

    DYNAMIC_TOPIC_CONFIG = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER_CONFIG = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER_CONFIG = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER_CONFIG = "STATIC_BROKER_CONFIG"
    DEFAULT_CONFIG = "DEFAULT_CONFIG"


class ConfigEntry(Struct, frozen=True, kw_only=True):
    """One config in effect."""

    key: str
    value: str | None
    source: ConfigSource


class DescribedConfigs(Struct, frozen=True, kw_only=True):
    """The configs of one resource by key, or the error in their place."""

    result: RequestResult = OK
    entries: Mapping[str, ConfigEntry]


class ConfigCalls(Connection):
    """Calls about configs of topics and brokers."""

    def incremental_alter_configs(
        self, changes: ConfigChanges, *, validate_only: bool = False
    ) -> dict[ConfigResource, RequestResult]:
        """Set, delete, append to and subtract from configs (A4-75)."""
        return self._decide(
            lambda draft: _incremental_alter_configs(draft, changes),
            [resource for resource, _ in changes],
            validate_only=validate_only,
        )

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
    ) -> dict[ConfigResource, RequestResult]:
        """Replace all configs of a resource: deprecated, as keys that are not listed are lost.

        They fall back to their defaults (A4-78).
        """
        return self._decide(
            lambda draft: _alter_configs(draft, changes), changes, validate_only=validate_only
        )

    def describe_configs(
        self, resources: Sequence[ConfigResource]
    ) -> dict[ConfigResource, DescribedConfigs]:
        """Every config in effect, with its source."""
        return self._read(
            lambda draft: {
                resource: _describe(namespace(draft), resource) for resource in resources
            }
        )


def _incremental_alter_configs(
    draft: Draft, changes: ConfigChanges
) -> dict[ConfigResource, RequestResult]:
    times = Counter(resource for resource, _ in changes)
    results: dict[ConfigResource, RequestResult] = {}
    for resource, operations in changes:
        if times[resource] > 1:
            results[resource] = duplicate("Each resource must appear at most once.")
        else:
            alter = partial(config_control.alter, draft, operations=operations)
            results[resource] = _decide_on(draft, resource, ApiKey.INCREMENTAL_ALTER_CONFIGS, alter)
    return results


def _alter_configs(
    draft: Draft, changes: Mapping[ConfigResource, Mapping[str, str]]
) -> dict[ConfigResource, RequestResult]:
    results: dict[ConfigResource, RequestResult] = {}
    for resource, configs in changes.items():
        alter = partial(config_control.replace_configs, draft, configs=configs)
        results[resource] = _decide_on(draft, resource, ApiKey.ALTER_CONFIGS, alter)
    return results


def _decide_on(
    draft: Draft,
    resource: ConfigResource,
    api_key: ApiKey,
    decide: Callable[[ConfigResource], None],
) -> RequestResult:
    if resource.type != TOPIC:
        return attempt(decide, resource)
    return namespace(draft).decide_on(
        Operation.ALTER_CONFIGS,
        resource.name,
        lambda topic: decide(replace(resource, name=topic)),
        api_key,
    )


def _describe(here: GlobalNamespace, resource: ConfigResource) -> DescribedConfigs:
    try:
        if resource.type == TOPIC:
            with here.acting_on(
                Operation.DESCRIBE_CONFIGS, resource.name, ApiKey.DESCRIBE_CONFIGS
            ) as topic:
                entries = _entries(here.draft, replace(resource, name=topic))
        else:
            entries = _entries(here.draft, resource)
    except Refusal as refusal:
        return DescribedConfigs(result=refusal.result, entries={})
    return DescribedConfigs(
        entries={entry.key: entry for entry in sorted(entries, key=lambda e: e.key)}
    )


def _entries(draft: Draft, resource: ConfigResource) -> list[ConfigEntry]:
    match resource.type:
        case "topic":
            if not draft.authorizer.allows_topic(Operation.DESCRIBE_CONFIGS, resource.name):
                raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            topic = draft.delta.topics.get(resource.name)
            if topic is None:
                raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return topic_entries(draft, topic.configs)
        case "broker":
            if not draft.authorizer.allows_cluster(Operation.DESCRIBE_CONFIGS):
                raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            broker_names = {"", *(str(broker.id) for broker in draft.delta.brokers.all())}
            if resource.name not in broker_names:
                raise Refusal(
                    ErrorCode.INVALID_REQUEST, f"No such broker is registered: {resource.name}."
                )
            return _broker_entries(draft, resource.name)
        case _:
            raise Refusal(
                ErrorCode.INVALID_REQUEST, f"Unsupported config resource type {resource.type}."
            )


def topic_entries(draft: Draft, own: Mapping[str, str]) -> list[ConfigEntry]:
    """The configs in effect of a topic that sets these itself."""
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
