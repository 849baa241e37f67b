"""Decides IncrementalAlterConfigs and the old AlterConfigs of one resource (A4-74…79)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from kgitops.cluster.embedded.controls.broker_messages import (
    compaction_lags_refusal,
    config_refusal,
    rate_refusal,
)
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import BROKER, TOPIC, ConfigRecord
from kgitops.cluster.embedded.image.state import alter_topic_request, topic_defaults
from kgitops.cluster.embedded.policy_keys import POLICY_KEYS
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.requests import AlterBrokerRequest, AlterStep, Request
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.topic_configs import (
    ConfigType,
    configs_problems,
    removed_config,
    topic_configs,
)
from kgitops.model.resources.topics import RATES
from kgitops.model.results import ErrorCode


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
    if resource.type == BROKER and not draft.options.seed:
        # The broker checks values before the controller checks the caller's right.
        check_broker_configs({o.key: o.value for o in operations if o.value is not None})
    before = _current(draft, resource)
    _check_operations(resource, operations)
    after = dict(before)
    for operation in operations:
        value = _after(operation, before)
        if value is None:
            after.pop(operation.key, None)
        else:
            after[operation.key] = value
    named = {o.key: after.get(o.key) for o in operations if o.key not in implied}
    identity = resource.name
    requests: list[Request] = []
    topic = draft.delta.topics.get(resource.name) if resource.type == TOPIC else None
    if topic is not None:
        check_topic_configs(draft, after, before=before)
        identity = topic.topic_id
        requests.append(
            alter_topic_request(topic, AlterStep.CONFIGS, configs=after, requested_configs=named)
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


def replace_configs(draft: Draft, resource: ConfigResource, configs: Mapping[str, str]) -> None:
    """Replace the configs of one resource: keys not listed fall back to their defaults (A4-78).

    Raises:
        Refusal: the configs are not legal.
    """
    dropped = _current(draft, resource).keys() - configs.keys()
    removals = [AlterConfig(key=key, value=None, op=ConfigOp.DELETE) for key in dropped]
    settings = [AlterConfig(key=key, value=value) for key, value in configs.items()]
    alter(draft, resource, [*removals, *settings], implied=frozenset(dropped))


def check_topic_configs(
    draft: Draft, configs: Mapping[str, str], *, before: Mapping[str, str]
) -> None:
    """Refuse configs that a topic can't have.

    Raises:
        Refusal: there are such configs (40).
    """
    for key, value in configs.items():
        if key not in topic_configs():
            if draft.options.vendor_configs and removed_config(key) is None:
                continue
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {key}")
        refusal = config_refusal(key, value)
        if refusal:
            raise Refusal(ErrorCode.INVALID_CONFIG, refusal)
    defaults = broker_defaults(draft)
    conflict = compaction_lags_refusal(configs, defaults)
    if conflict:
        raise Refusal(ErrorCode.INVALID_CONFIG, conflict)
    problems = configs_problems(configs, broker_defaults=defaults, existing=before)
    for _, problem in problems:
        raise Refusal(ErrorCode.INVALID_CONFIG, problem)


def check_broker_configs(configs: Mapping[str, str]) -> None:
    """Refuse configs that a broker can't have.

    Raises:
        Refusal: there are such configs (40, 42).
    """
    by_server_name = {config.server_default: key for key, config in topic_configs().items()}
    for key, value in configs.items():
        wrong_rate = rate_refusal(key, value) if key in RATES else None
        if wrong_rate:
            raise Refusal(ErrorCode.INVALID_REQUEST, wrong_rate)
        topic_key = by_server_name.get(key)
        refusal = None if topic_key is None else config_refusal(topic_key, value)
        if refusal and topic_key:
            raise Refusal(ErrorCode.INVALID_CONFIG, refusal.replace(topic_key, key))


def broker_defaults(draft: Draft) -> dict[str, str]:
    """Brokers' defaults of topic configs, by the topics' keys, if they differ from Kafka's."""
    return topic_defaults(draft.options.static_configs, draft.image.configs.brokers.get("", {}))


def _check_operations(resource: ConfigResource, operations: Sequence[AlterConfig]) -> None:
    keys = {operation.key for operation in operations}
    if len(keys) < len(operations):
        raise Refusal(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [o.key for o in operations if o.value is None and o.op is not ConfigOp.DELETE]
    if nulls:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(sorted(nulls))}"
        )
    static = sorted(keys.intersection(POLICY_KEYS)) if resource.type == BROKER else []
    if static:
        # A policy is created when its broker starts (P201-47).
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Cannot update these configs dynamically: {', '.join(static)}",
        )


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
            topic = draft.delta.topics.get(resource.name)
            if topic is None:
                raise Refusal(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"The topic '{resource.name}' does not exist.",
                )
            return topic.configs
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
        case _:
            raise Refusal(
                ErrorCode.INVALID_REQUEST, f"Unsupported config resource type {resource.type}."
            )


def _after(operation: AlterConfig, before: Mapping[str, str]) -> str | None:
    match operation.op:
        case ConfigOp.SET:
            return operation.value
        case ConfigOp.DELETE:
            return None
        case ConfigOp.APPEND | ConfigOp.SUBTRACT:
            config = topic_configs().get(operation.key)
            if config is None or config.type is not ConfigType.LIST:
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
