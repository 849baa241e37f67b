"""DescribeConfigs and the two AlterConfigs (VC-035, VC-154).

Topics and groups have local names: brokers' configs take a right on the physical cluster.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.broker_messages import name_refusal
from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.config_resources import (
    RESOURCE_TYPES,
    check_cluster_right,
    list_resources,
    physical_group,
)
from kgitops.cluster.embedded.controls import configs as config_control
from kgitops.cluster.embedded.controls.configs import (
    AlterConfig,
    ConfigChanges,
    ConfigOp,
    ConfigResource,
)
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.brokers import (
    broker_entries,
    check_level,
    logger_entries,
    set_levels,
)
from kgitops.cluster.embedded.effective.entries import ConfigEntry
from kgitops.cluster.embedded.effective.groups import client_metrics_entries, group_entries
from kgitops.cluster.embedded.effective.topics import topic_default_entries, topic_entries
from kgitops.cluster.embedded.image.records import BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kgitops.cluster.embedded.image.state import controller_id
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.model.resources.acls import Operation
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey

Replacements = Sequence[tuple[ConfigResource, Sequence[tuple[str, str | None]]]]
"""Resources with all configs that they are to have, as in a request: not checked yet."""


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
        changes: Mapping[ConfigResource, Mapping[str, str]] | Replacements,
        *,
        validate_only: bool = False,
    ) -> dict[ConfigResource, RequestResult]:
        """Replace all configs of a resource: deprecated, as keys that are not listed are lost.

        They fall back to their defaults (A4-78).
        """
        replacements = (
            [(resource, tuple(configs.items())) for resource, configs in changes.items()]
            if isinstance(changes, Mapping)
            else changes
        )
        return self._decide(
            lambda draft: _alter_configs(draft, replacements),
            [resource for resource, _ in replacements],
            validate_only=validate_only,
        )

    def describe_configs(
        self,
        resources: Sequence[ConfigResource],
        *,
        broker: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> dict[ConfigResource, DescribedConfigs]:
        """Every config in effect, with its source, as a broker has it: by default the controller's.

        Topics and groups get their defaults from the broker that answers. ``properties`` are those
        that it was started with besides the cluster's options.
        """
        return self._read(
            lambda draft: _describe_all(
                draft,
                resources,
                str(controller_id(draft.image) if broker is None else broker),
                properties or {},
            )
        )

    def list_config_resources(
        self, types: Collection[str] = RESOURCE_TYPES
    ) -> list[ConfigResource]:
        """The resources that can have configs; groups and client metrics that have some (KIP-1142).

        Raises:
            Refusal: the caller has no right to it (31).
        """
        return self._read(lambda draft: list_resources(draft, types))


def _incremental_alter_configs(
    draft: Draft, changes: ConfigChanges
) -> dict[ConfigResource, RequestResult]:
    times = Counter(resource for resource, _ in changes)
    results: dict[ConfigResource, RequestResult] = {}
    for resource, operations in changes:
        if times[resource] > 1:
            results[resource] = duplicate("Each resource must appear at most once.")
        elif resource.type == BROKER_LOGGER:
            results[resource] = attempt(_alter_levels, resource, draft, operations)
        else:
            alter = partial(config_control.alter, draft, operations=operations)
            results[resource] = _decide_on(draft, resource, ApiKey.INCREMENTAL_ALTER_CONFIGS, alter)
    return results


def _alter_configs(draft: Draft, changes: Replacements) -> dict[ConfigResource, RequestResult]:
    times = Counter(resource for resource, _ in changes)
    results: dict[ConfigResource, RequestResult] = {}
    for resource, configs in changes:
        if times[resource] > 1:
            results[resource] = duplicate("Each resource must appear at most once.")
            continue
        alter = partial(config_control.replace_configs, draft, configs=configs)
        results[resource] = _decide_on(draft, resource, ApiKey.ALTER_CONFIGS, alter)
    return results


def _decide_on(
    draft: Draft,
    resource: ConfigResource,
    api_key: ApiKey,
    decide: Callable[[ConfigResource], None],
) -> RequestResult:
    here = namespace(draft)
    if resource.type == TOPIC:
        return here.decide_on(
            Operation.ALTER_CONFIGS,
            resource.name,
            lambda topic: decide(replace(resource, name=topic)),
            api_key,
        )
    if resource.type == GROUP and resource.name:
        return attempt(
            lambda: decide(
                replace(
                    resource,
                    name=physical_group(here, Operation.ALTER_CONFIGS, resource.name, api_key),
                )
            )
        )
    return attempt(decide, resource)


def _alter_levels(
    resource: ConfigResource, draft: Draft, operations: Sequence[AlterConfig]
) -> None:
    """Change the levels of loggers, at once: no record says so."""
    check_cluster_right(draft, Operation.ALTER_CONFIGS)
    if resource.name not in {str(broker.id) for broker in draft.delta.brokers.all()}:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"No such broker is registered: {resource.name}.")
    config_control.check_operations(resource, operations)
    for item in operations:
        if item.op not in (ConfigOp.SET, ConfigOp.DELETE):
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"{item.op} operation is not allowed for the BROKER_LOGGER resource",
            )
    levels = [(o.key, o.value if o.op is ConfigOp.SET else None) for o in operations]
    for name, level in levels:
        check_level(name, level)
    if not draft.validate_only:
        set_levels(levels)


def _describe_all(
    draft: Draft,
    resources: Sequence[ConfigResource],
    broker: str,
    properties: Mapping[str, str],
) -> dict[ConfigResource, DescribedConfigs]:
    here = namespace(draft)
    describer = _Describer(here, broker, properties)
    results = {}
    for resource in resources:
        try:
            results[resource] = DescribedConfigs(entries=describer.entries(resource))
        except Refusal as refusal:
            results[resource] = DescribedConfigs(result=refusal.result, entries={})
    return results


class _Describer:
    """Describes resources as one broker does; topics that set nothing share their entries."""

    def __init__(self, here: GlobalNamespace, broker: str, properties: Mapping[str, str]) -> None:
        self._here = here
        self._draft = here.draft
        self._broker = broker
        self._properties = properties
        self._defaults: Mapping[str, ConfigEntry] | None = None

    def entries(self, resource: ConfigResource) -> Mapping[str, ConfigEntry]:
        """The entries of a resource.

        Raises:
            Refusal: there is none of that name, or the caller may not see it.
        """
        match resource.type:
            case "topic":
                return self._topic(resource.name)
            case "broker":
                check_cluster_right(self._draft, Operation.DESCRIBE_CONFIGS)
                self._check_broker(resource.name)
                own = self._properties if resource.name == self._broker else {}
                return broker_entries(self._draft, resource.name, own)
            case "broker_logger":
                check_cluster_right(self._draft, Operation.DESCRIBE_CONFIGS)
                if not resource.name:
                    raise Refusal(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
                self._check_broker(resource.name)
                return logger_entries()
            case "client_metrics":
                check_cluster_right(self._draft, Operation.DESCRIBE_CONFIGS)
                if not resource.name:
                    raise Refusal(
                        ErrorCode.INVALID_REQUEST,
                        "Client metrics subscription name must not be empty",
                    )
                own = self._draft.delta.configs.of(CLIENT_METRICS, resource.name)
                return client_metrics_entries(own)
            case "group":
                group = physical_group(
                    self._here, Operation.DESCRIBE_CONFIGS, resource.name, ApiKey.DESCRIBE_CONFIGS
                )
                if not resource.name:
                    raise Refusal(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
                own = self._draft.delta.configs.of(GROUP, group)
                return group_entries(self._draft, own, self._broker)
            case _:
                raise Refusal(
                    ErrorCode.INVALID_REQUEST, f"Unsupported config resource type {resource.type}."
                )

    def _topic(self, name: str) -> Mapping[str, ConfigEntry]:
        draft = self._draft
        key = ApiKey.DESCRIBE_CONFIGS
        with self._here.acting_on(Operation.DESCRIBE_CONFIGS, name, key) as physical:
            if not draft.authorizer.allows_topic(Operation.DESCRIBE_CONFIGS, physical):
                raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
            topic = draft.delta.topics.get(physical)
        if topic is None:
            illegal = name_refusal(name)
            if illegal:
                raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._defaults is None:
            self._defaults = topic_default_entries(draft, self._broker)
        return topic_entries(topic.configs, self._defaults)

    def _check_broker(self, name: str) -> None:
        known = {"", *(str(broker.id) for broker in self._draft.delta.brokers.all())}
        if name not in known:
            raise Refusal(ErrorCode.INVALID_REQUEST, f"No such broker is registered: {name}.")
