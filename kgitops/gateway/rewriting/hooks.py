"""The fields that are changed, by the definitions of Kafka's messages, and their splicers."""

from collections.abc import Sequence
from functools import cache

from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition
from kgitops.wire.splicing import Hook, Splicer, make_splicer

_ENTITIES = {"topicName": "topic", "groupId": "scoped_id", "transactionalId": "scoped_id"}
_NODE_IDS = ("NodeId", "BrokerId")

_UNTYPED: dict[str, dict[tuple[str, ...], Hook]] = {
    # No type tells that these are names, or hold names.
    "FindCoordinatorRequest": {
        ("Key",): Hook("scoped_id"),
        ("CoordinatorKeys",): Hook("scoped_id"),
    },
    "FindCoordinatorResponse": {("Coordinators", "Key"): Hook("scoped_id")},
    "JoinGroupRequest": {
        ("ProtocolType",): Hook("protocol_type"),
        ("Protocols", "Metadata"): Hook("subscription"),
    },
    "JoinGroupResponse": {("Members", "Metadata"): Hook("subscription")},
    "SyncGroupRequest": {
        ("ProtocolType",): Hook("protocol_type"),
        ("Assignments", "Assignment"): Hook("assignment"),
    },
    "SyncGroupResponse": {("Assignment",): Hook("assignment")},
    "DescribeGroupsResponse": {
        ("Groups", "ProtocolType"): Hook("protocol_type"),
        ("Groups", "Members", "MemberMetadata"): Hook("subscription"),
        ("Groups", "Members", "MemberAssignment"): Hook("assignment"),
    },
    "ListTransactionsRequest": {("TransactionalIdPattern",): Hook("id_pattern")},
    "ConsumerGroupDescribeResponse": {
        ("Groups", "Members", "SubscribedTopicRegex"): Hook("hidden_regex"),
    },
    "StreamsGroupHeartbeatRequest": {
        ("Topology", "Subtopologies", "SourceTopicRegex"): Hook("topic_pattern"),
    },
    "StreamsGroupHeartbeatResponse": {("Status", "StatusDetail"): Hook("error_text")},
    "ConsumerProtocolSubscription": {("Topics",): Hook("topic")},
}


@cache
def names_splicer(message: str, version: int) -> Splicer | None:
    """The splicer of names, topic ids and addresses; None where the version has none of them."""
    found = definition(message)
    return make_splicer(found, version, _hooks(found))


@cache
def address_splicer(message: str, version: int) -> Splicer | None:
    """The splicer of brokers' addresses alone; None where the version has none."""
    found = definition(message)
    hooks = {path: hook for path, hook in _hooks(found).items() if hook.port is not None}
    return make_splicer(found, version, hooks)


def _hooks(message: MessageDefinition) -> dict[tuple[str, ...], Hook]:
    hooks = dict(_UNTYPED.get(message.name, {}))
    _typed(message, message.fields, (), hooks)
    return hooks


def _typed(
    message: MessageDefinition,
    fields: Sequence[FieldDefinition],
    path: tuple[str, ...],
    hooks: dict[tuple[str, ...], Hook],
) -> None:
    names = {field.name for field in fields}
    node_id = next((name for name in _NODE_IDS if name in names), None)
    for field in fields:
        here = (*path, field.name)
        inner = message.struct_fields(field)
        if inner is not None:
            _typed(message, inner, here, hooks)
        elif field.entity in _ENTITIES:
            hooks.setdefault(here, Hook(_ENTITIES[field.entity]))
        elif field.name == "TopicId":
            described = message.name == "MetadataResponse"
            hooks[here] = Hook("described_topic_id" if described else "topic_id")
        elif field.name == "ResourceName" and "ResourceType" in names:
            hooks[here] = Hook("resource", given="ResourceType")
        elif message.kind == "response" and field.name.endswith("ErrorMessage"):
            hooks[here] = Hook("error_text")
        elif message.kind == "response" and field.name == "Host" and node_id is not None:
            hooks[here] = Hook("address", given=node_id, port="Port")
