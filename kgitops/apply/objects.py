"""Finding an object on the cluster by its address, without an index over everything there."""

from typing import assert_never
from urllib.parse import unquote

from kgitops.model.acls import AclBinding, Operation, PatternType, PermissionType, ResourceType
from kgitops.model.addresses import acl_address, broker_address, quota_address, topic_address
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.model.topics import TopicState

Object = TopicState | AclBinding | ClientQuotaState | Broker


def find_object(address: str, state: ClusterState) -> Object | None:
    """What ``state`` holds at ``address``; None when there is nothing.

    Raises:
        ValueError: it is no address, or of a kind not known here.
    """
    kind, _, rest = address.partition("/")
    match kind:
        case "topic":
            return state.topics.get(unquote(rest))
        case "acl":
            binding = _binding(rest)
            return binding if binding in state.acls else None
        case "quota":
            found = state.quotas.get(_entity(rest))
            return found if found and found.quotas else None
        case "broker":
            return next(
                (item for item in state.brokers if broker_address(item.id) == address), None
            )
        case _:
            raise ValueError(f"{address!r} is no address of a topic, an ACL, a quota or a broker")


def topic_name(address: str) -> str | None:
    """The topic at ``address``; None for another kind of object."""
    kind, _, rest = address.partition("/")
    return unquote(rest) if kind == "topic" else None


def request_address(request: Request) -> str:
    """The address of the object that ``request`` changes."""
    match request:
        case (
            CreateTopicRequest() | AlterTopicRequest() | DeleteTopicRequest()
            | DeleteRecordsRequest()
        ):  # fmt: skip
            return topic_address(request.topic)
        case CreateAclRequest() | DeleteAclRequest():
            return acl_address(request.binding)
        case AlterClientQuotaRequest():
            return quota_address(request.entity)
        case AlterBrokerRequest():
            return broker_address(request.broker)
        case _:
            assert_never(request)


def _binding(rest: str) -> AclBinding:
    before, _, host = rest.rpartition("@")
    parts = [unquote(part) for part in before.split("/")]
    if len(parts) != 6:
        raise ValueError(f"'acl/{rest}' is no address of an ACL")
    principal, permission, operation, resource_type, pattern, name = parts
    return AclBinding(
        principal=principal,
        permission_type=PermissionType(permission),
        operation=Operation(operation),
        resource_type=ResourceType(resource_type),
        pattern_type=PatternType(pattern),
        resource_name=name,
        host=unquote(host),
    )


def _entity(rest: str) -> ClientQuotaEntity:
    entity = []
    for part in rest.split(","):
        kind, equals, name = part.partition("=")
        if not equals:
            raise ValueError(f"'quota/{rest}' is no address of a quota")
        entity.append((kind, None if name == "<default>" else unquote(name)))
    return tuple(entity)
