"""Finding an object in the cluster state by its address, without an index of all objects."""

from urllib.parse import unquote

from kgitops.apply.observe.virtual_clusters import MemberState, find_inside
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import ScopedAddress, broker_address, split_scoped_address
from kgitops.model.resources.config_resources import FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import RESOURCES
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import FoundUser
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster

Object = (
    TopicState
    | AclBinding
    | ClientQuotaState
    | FoundUser
    | Broker
    | FoundGroup
    | FoundConfigs
    | VirtualCluster
    | TopicLink
    | MemberState
)


_BY_ADDRESS = frozenset({"user", *(form.segment for form in RESOURCES.values())})


def find_object(address: str, state: ClusterState) -> Object | None:
    """Find the object of ``address``; None when there is none.

    Raises:
        ValueError: it is not an address, or its kind is unknown.
    """
    at = split_scoped_address(address)
    if at is not None and at.segment not in ("acl", "quota"):
        return find_inside(address, at, state)
    kind, _, rest = address.partition("/")
    match at.segment if at else kind:
        case "topic":
            return state.topics.get(unquote(rest))
        case "acl":
            binding = _binding(rest, at)
            return binding if binding in state.acls else None
        case "quota":
            quota = state.quotas.get(_entity(rest, at))
            return quota if quota and quota.quotas else None
        case "broker":
            return next(
                (item for item in state.brokers if broker_address(item.id) == address), None
            )
        case kind if kind in _BY_ADDRESS:
            return state.objects.get(address)
        case "vc":
            return state.virtual_clusters.get(unquote(rest))
        case _:
            raise ValueError(f"{address!r} is not the address of anything that kgitops knows")


def credentials_name(address: str) -> str | None:
    """Return the user's name in ``user/NAME``; None for another kind of object."""
    kind, _, rest = address.partition("/")
    return unquote(rest) if kind == "user" else None


def topic_name(address: str) -> str | None:
    """Return the topic's name in ``address``; None for another kind of object."""
    kind, _, rest = address.partition("/")
    return unquote(rest) if kind == "topic" else None


def _binding(rest: str, at: ScopedAddress | None) -> AclBinding:
    before, _, host = (at.tail if at else rest).rpartition("@")
    parts = [unquote(part) for part in before.split("/")]
    if len(parts) != 6:
        raise ValueError(f"'acl/{rest}' is not the address of an ACL")
    principal, permission, operation, resource_type, pattern, name = parts
    return AclBinding(
        principal=principal,
        permission_type=PermissionType(permission),
        operation=Operation(operation),
        resource_type=ResourceType(resource_type),
        pattern_type=PatternType(pattern),
        resource_name=name,
        host=unquote(host),
        virtual_cluster=at.virtual_cluster if at else CLUSTER_NAME,
        virtual_cluster_pattern_type=(
            PatternType.PREFIXED if at and at.prefixed else PatternType.LITERAL
        ),
    )


def _entity(rest: str, at: ScopedAddress | None) -> ClientQuotaEntity:
    entity: list[tuple[str, str | None]] = [(VIRTUAL_CLUSTER, at.virtual_cluster)] if at else []
    for part in (at.tail if at else rest).split(","):
        kind, equals, name = part.partition("=")
        if not equals:
            raise ValueError(f"'quota/{rest}' is not the address of a quota")
        entity.append((kind, None if name == "<default>" else unquote(name)))
    return tuple(entity)
