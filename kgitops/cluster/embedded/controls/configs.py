"""Decides IncrementalAlterConfigs and the old AlterConfigs of one resource (A4-74…79)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from kgitops.cluster.embedded.broker_messages import name_refusal
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.brokers import MIN_ISR, known_broker_config
from kgitops.cluster.embedded.effective.checks import (
    check_at_broker,
    check_broker_configs,
    check_client_metrics,
    check_group_configs,
    check_lists_at_broker,
    check_topic_configs,
)
from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.cluster.embedded.image.records import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    ConfigRecord,
)
from kgitops.cluster.embedded.image.state import alter_topic_request
from kgitops.cluster.embedded.policy_keys import POLICY_KEYS
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterConfigResourceRequest,
    AlterStep,
    Request,
)
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.config_resources import ConfigResourceType, KnownConfig
from kgitops.model.resources.topic_configs import ConfigType, TopicConfig, topic_configs
from kgitops.model.results import ErrorCode

_RESOURCE_TYPES = {
    GROUP: ConfigResourceType.GROUP,
    CLIENT_METRICS: ConfigResourceType.CLIENT_METRICS,
}


class ConfigOp(StrEnum):
    """The operation on one key."""

    SET = "SET"
    DELETE = "DELETE"
    APPEND = "APPEND"
    SUBTRACT = "SUBTRACT"


class ConfigResource(Struct, frozen=True, kw_only=True):
    """A topic by its name, or a broker by its id; broker ``""`` stands for all of them."""

    type: str
    name: str


class AlterConfig(Struct, frozen=True, kw_only=True):
    """One operation on one key."""

    key: str
    value: str | None
    op: ConfigOp = ConfigOp.SET


ConfigChanges = Sequence[tuple[ConfigResource, Sequence[AlterConfig]]]


def alter(
    draft: Draft,
    resource: ConfigResource,
    operations: Sequence[AlterConfig],
    *,
    implied: frozenset[str] = frozenset(),
) -> None:
    """Change the configs of one resource; ``implied`` keys are removed without a mention (P201-29).

    Raises:
        Refusal: one of the operations, or their result, is not legal.
    """
    if not draft.options.seed:
        check_operations(resource, operations)
    if resource.type == BROKER and not draft.options.seed:
        # The broker checks values before the controller checks the caller's right.
        check_lists_at_broker(
            [
                (o.key, o.op.lower())
                for o in operations
                if o.op in (ConfigOp.APPEND, ConfigOp.SUBTRACT)
            ]
        )
        check_at_broker(
            resource.name,
            {o.key: o.value for o in operations if o.op is ConfigOp.SET and o.value is not None},
        )
    before = _current(draft, resource)
    check_operations(resource, operations)
    if resource.type == BROKER and not draft.options.seed:
        _check_min_isr(resource, operations, before)
    after = dict(before)
    for operation in operations:
        value = _after(resource, operation, before)
        if value is None:
            after.pop(operation.key, None)
        else:
            after[operation.key] = value
    named = {o.key: after.get(o.key) for o in operations if o.key not in implied}
    identity = resource.name
    requests: list[Request] = []
    if resource.type == TOPIC:
        topic = _existing(draft, resource.name, after, before)
        identity = topic.topic_id
        requests.append(
            alter_topic_request(topic, AlterStep.CONFIGS, configs=after, requested_configs=named)
        )
        draft.judge(requests[-1])
    elif resource.type in _RESOURCE_TYPES:
        if resource.type == GROUP:
            check_group_configs(after, draft.options.static_configs)
        else:
            check_client_metrics(after)
        requests.append(
            AlterConfigResourceRequest(
                resource_type=_RESOURCE_TYPES[resource.type],
                resource_name=resource.name,
                configs=named,
            )
        )
        draft.judge(requests[-1])
    else:
        check_broker_configs(after)
        for broker in _brokers_of(draft, resource):
            requests.append(AlterBrokerRequest(broker=broker, configs=named))
            draft.judge(requests[-1], node=broker)
    # A value that stays the same writes no record (A4-77).
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            draft.write(
                ConfigRecord(
                    resource_type=resource.type, resource=identity, key=key, value=after.get(key)
                )
            )
    for request in requests:
        draft.accept(request)


def replace_configs(
    draft: Draft, resource: ConfigResource, configs: Sequence[tuple[str, str | None]]
) -> None:
    """Replace the configs of one resource: keys not listed fall back to their defaults (A4-78).

    Raises:
        Refusal: the configs are not legal.
    """
    current = set(_current(draft, resource))
    if resource.type == BROKER and not resource.name and not draft.options.seed:
        current.add(MIN_ISR)  # Kafka sets it for all brokers (KIP-966).
    dropped = current - dict(configs).keys()
    removals = [AlterConfig(key=key, value=None, op=ConfigOp.DELETE) for key in dropped]
    settings = [AlterConfig(key=key, value=value) for key, value in configs]
    alter(draft, resource, [*removals, *settings], implied=frozenset(dropped))


def _check_min_isr(
    resource: ConfigResource, operations: Sequence[AlterConfig], before: Mapping[str, str]
) -> None:
    """Refuse what eligible leader replicas depend on (KIP-966).

    A value of one broker, which older stores may have, can be removed.

    Raises:
        Refusal: the config of all brokers is removed, or that of one broker is set (40).
    """
    for operation in operations:
        removed = operation.op is ConfigOp.DELETE
        if operation.key != MIN_ISR or (resource.name and removed and MIN_ISR in before):
            continue
        if resource.name:
            raise Refusal(
                ErrorCode.INVALID_CONFIG,
                f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.",
            )
        if removed:
            raise Refusal(
                ErrorCode.INVALID_CONFIG,
                f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.",
            )


def check_operations(resource: ConfigResource, operations: Sequence[AlterConfig]) -> None:
    """Refuse operations that contradict each other, or say nothing.

    Raises:
        Refusal: there are such operations (42).
    """
    keys = {operation.key for operation in operations}
    if len(keys) < len(operations):
        raise Refusal(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [o.key for o in operations if o.value is None and o.op is not ConfigOp.DELETE]
    if nulls:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}"
        )
    static = sorted(keys.intersection(POLICY_KEYS)) if resource.type == BROKER else []
    if static:
        # A policy is created when its broker starts (P201-47).
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Cannot update these configs dynamically: [{', '.join(static)}]",
        )


def _existing(
    draft: Draft, name: str, after: Mapping[str, str], before: Mapping[str, str]
) -> TopicImage:
    """The topic of this name, which can have the configs; Kafka's controller checks these first.

    Raises:
        Refusal: it can't (17, 40), or there is none (3).
    """
    illegal = name_refusal(name)
    if illegal:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
    check_topic_configs(draft, after, before=before)
    topic = draft.delta.topics.get(name)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return topic


def _brokers_of(draft: Draft, resource: ConfigResource) -> list[int]:
    """The brokers that take the configs: one, or for the default of all those alive (P201-89)."""
    if resource.name:
        return [int(resource.name)]
    brokers = draft.delta.brokers.all()
    alive = [broker.id for broker in brokers if not broker.fenced]
    return alive or [broker.id for broker in brokers]


def _current(draft: Draft, resource: ConfigResource) -> Mapping[str, str]:
    match resource.type:
        case "topic":
            if not draft.authorizer.allows_topic(Operation.ALTER_CONFIGS, resource.name):
                raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
            _check_name(resource, "Default topic resources are not allowed.")
            topic = draft.delta.topics.get(resource.name)
            return {} if topic is None else topic.configs
        case "broker":
            if not draft.authorizer.allows_cluster(Operation.ALTER_CONFIGS):
                raise Refusal(
                    ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
                )
            known = {"", *(str(broker.id) for broker in draft.delta.brokers.all())}
            if resource.name not in known:
                raise Refusal(
                    ErrorCode.INVALID_REQUEST, f"No such broker is registered: {resource.name}."
                )
            return draft.delta.configs.of_broker(resource.name)
        case "group":
            # The caller's right to it was asked for by its own name.
            _check_name(resource, "Default group resources are not allowed.")
            return draft.delta.configs.of(GROUP, resource.name)
        case "client_metrics":
            if not draft.authorizer.allows_cluster(Operation.ALTER_CONFIGS):
                raise Refusal(
                    ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
                )
            _check_name(resource, "Subscription name can't be empty")
            return draft.delta.configs.of(CLIENT_METRICS, resource.name)
        case _:
            raise Refusal(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.type}")


def _check_name(resource: ConfigResource, problem: str) -> None:
    if not resource.name:
        raise Refusal(ErrorCode.INVALID_REQUEST, problem)


def _after(
    resource: ConfigResource, operation: AlterConfig, before: Mapping[str, str]
) -> str | None:
    match operation.op:
        case ConfigOp.SET:
            return operation.value
        case ConfigOp.DELETE:
            return None
        case ConfigOp.APPEND | ConfigOp.SUBTRACT:
            config = _defined(resource, operation.key)
            if config is None or config.type != ConfigType.LIST:
                raise Refusal(
                    ErrorCode.INVALID_CONFIG,
                    f"Can't {operation.op} to key {operation.key} because its type is not LIST.",
                )
            held = [
                part for part in before.get(operation.key, config.default or "").split(",") if part
            ]
            given = [part.strip() for part in (operation.value or "").split(",")]
            if operation.op is ConfigOp.APPEND:
                held += [part for part in given if part not in held]
            else:
                held = [part for part in held if part not in given]
            return ",".join(held)
        case _:
            assert_never(operation.op)


def _defined(resource: ConfigResource, key: str) -> TopicConfig | KnownConfig | None:
    """The definition of a config that the controller knows; it has none of groups and others."""
    if resource.type == TOPIC:
        return topic_configs().get(key)
    if resource.type == BROKER:
        return known_broker_config(key)
    return None
