"""Objects by their addresses: reading them, and finding one in a state without an index of all."""

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from kgitops.apply.observe.virtual_clusters import MemberState, find_inside
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import (
    ScopedAddress,
    broker_address,
    encode,
    split_scoped_address,
)
from kgitops.model.resources.config_resources import ALL_BROKERS, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import FORMS, Kind
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


READ_BY_NAME: Mapping[str, Kind] = {
    "user": Kind.USER,
    **{form.segment: form.kind for form in FORMS if form.resource is not None},
}
"""The kinds that are read by name, by the segment of their addresses, in the order of reading."""
_OF_BROKERS = frozenset(form.kind for form in FORMS if form.of_brokers)


def with_objects(cluster: Cluster, state: ClusterState, addresses: Iterable[str]) -> ClusterState:
    """Add the users, groups and config resources of these addresses; without any, read nothing.

    Raises:
        UnreachableError: the cluster can't be read.
    """
    names: dict[str, set[str]] = {segment: set() for segment in READ_BY_NAME}
    for address in addresses:
        segment, _, name = address.partition("/")
        if segment in names:
            names[segment].add(unquote(name))
    for segment, kind in READ_BY_NAME.items():
        if possible := possible_names(kind, names[segment], state):
            state = state.with_objects(cluster.read(kind, possible), kind)
    return state


def possible_names(kind: Kind, names: Iterable[str], state: ClusterState) -> frozenset[str]:
    """Return those of the names that objects can have: brokers that left the cluster have none."""
    if kind not in _OF_BROKERS:
        return frozenset(names)
    brokers = {ALL_BROKERS, *(str(broker.id) for broker in state.brokers)}
    return frozenset(brokers.intersection(names))


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
        case kind if kind in READ_BY_NAME:
            return state.objects.get(f"{kind}/{encode(unquote(rest))}")
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
