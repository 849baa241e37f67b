"""Finds objects of requests and preconditions in a cluster's state, by their addresses."""

from collections.abc import Iterable
from urllib.parse import unquote

from msgspec import Struct

from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
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
    local_topic_address,
    member_address,
    split_scoped_address,
)
from kgitops.model.resources.config_resources import ALL_BROKERS, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import FORMS, READ_BY_NAME, Kind
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import FoundUser
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    TopicLink,
    VirtualCluster,
    physical_id,
)

_MEMBERS = {
    "group": EntityType.GROUP,
    "txn": EntityType.TRANSACTIONAL_ID,
    "user": EntityType.USER,
    "client": EntityType.CLIENT_ID,
}


class MemberState(Struct, frozen=True, kw_only=True):
    """A user, client id, group or transactional id; ``adopts`` is the global id of a group."""

    entity_type: EntityType
    name: str
    adopts: str | None = None


def find_inside(
    address: str, at: ScopedAddress, state: ClusterState
) -> TopicState | TopicLink | MemberState | None:
    """Find the topic, link or member at that address; None when there is none.

    Raises:
        ValueError: virtual clusters have no such kind of object.
    """
    virtual_cluster = state.virtual_clusters.get(at.virtual_cluster)
    name = unquote(at.tail)
    if at.segment == "link":
        return virtual_cluster.links.get(name) if virtual_cluster else None
    if at.segment == "topic":
        return _topic(address, virtual_cluster.links.get(name) if virtual_cluster else None, state)
    entity_type = _MEMBERS.get(at.segment)
    if entity_type is None:
        raise ValueError(f"{address!r} is not the address of anything in a virtual cluster")
    if virtual_cluster is None or name not in virtual_cluster.members(entity_type):
        return None
    return MemberState(
        entity_type=entity_type,
        name=name,
        adopts=virtual_cluster.groups[name] if entity_type is EntityType.GROUP else None,
    )


def same_object(address: str) -> str:
    """Return one address for both a topic of a virtual cluster and its link."""
    at = split_scoped_address(address)
    if at is None or at.segment != "topic":
        return address
    return member_address(at.virtual_cluster, EntityType.TOPIC, unquote(at.tail))


def local_name(address: str) -> LocalName | None:
    """Return the local name of a topic of a virtual cluster; None for any other object."""
    at = split_scoped_address(address)
    if at is None or at.segment != "topic":
        return None
    return LocalName(at.virtual_cluster, unquote(at.tail))


def topic_behind(address: str) -> str | None:
    """Return the address of the topic declared under a link's name; None for any other object."""
    at = split_scoped_address(address)
    if at is None or at.segment != "link":
        return None
    return local_topic_address(LocalName(at.virtual_cluster, unquote(at.tail)))


def link_of(address: str) -> str | None:
    """Return the address of the link of a virtual cluster's topic; None for any other object."""
    link = same_object(address)
    return None if link == address else link


def linked_topic(local: LocalName, state: ClusterState) -> TopicState | None:
    """Return the topic that a link leads to."""
    link = state.link(local)
    return state.topics.get(link.topic) if link else None


def is_virtual_cluster_created(
    request: req.CreateVirtualClusterRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    """Return whether the virtual cluster exists; unless ``confirmed`` it must still be empty."""
    virtual_cluster = state.virtual_clusters.get(request.virtual_cluster)
    if virtual_cluster is None or virtual_cluster.options != request.options:
        return False
    return confirmed or virtual_cluster.empty


def is_virtual_cluster_altered(
    request: req.AlterVirtualClusterRequest, state: ClusterState
) -> bool:
    """Return whether the entity was added or removed, or the options were set."""
    virtual_cluster = state.virtual_clusters.get(request.virtual_cluster)
    if request.options is not None:
        return virtual_cluster is not None and virtual_cluster.options == request.options
    name, entity_type = request.entity_name, request.entity_type
    if name is None or entity_type is None:
        return False
    there = virtual_cluster is not None and name in virtual_cluster.members(entity_type)
    if request.change is ChangeType.REMOVE:
        return not there
    if virtual_cluster is None or not there:
        return False
    return _is_added(request, virtual_cluster, name, entity_type, state)


def has_copied_offsets(
    request: req.CopyGroupOffsetsRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    """Return whether the group has committed offsets, where its source has some.

    A ``confirmed`` request may have left existing offsets as they were; otherwise all of the
    source's must exist.
    """
    copied = state.group_offsets.get(physical_id(request.virtual_cluster, request.group), {})
    source = state.group_offsets.get(request.source, {})
    if confirmed:
        return bool(copied) or not source
    return copied.keys() >= source.keys()


def has_no_offsets(request: req.DeleteGroupRequest, state: ClusterState) -> bool:
    """Return whether the group has no offsets left."""
    return not state.group_offsets.get(physical_id(request.virtual_cluster, request.group))


def _is_added(
    request: req.AlterVirtualClusterRequest,
    virtual_cluster: VirtualCluster,
    name: str,
    entity_type: EntityType,
    state: ClusterState,
) -> bool:
    if request.moved_from is not None:
        before = state.virtual_clusters.get(request.moved_from)
        if before is not None and name in before.members(entity_type):
            return False
    if entity_type is EntityType.GROUP:
        return virtual_cluster.groups[name] == request.adopts
    if entity_type is not EntityType.TOPIC:
        return True
    topic = request.topic
    if request.target is not None:
        followed = state.link(request.target)
        topic = followed.topic if followed else None
    return topic is not None and virtual_cluster.links[name].topic == topic


def _topic(address: str, link: TopicLink | None, state: ClusterState) -> TopicState | None:
    """Find a topic by its link; once the link is gone, by the topic id in its owner record."""
    if link is not None:
        return state.topics.get(link.topic)
    recorded = recorded_topic_id(address, state)
    if recorded is None:
        return None
    return next((topic for topic in state.topics.values() if topic.topic_id == recorded), None)


def recorded_topic_id(address: str, state: ClusterState) -> str | None:
    """Return the id that the registry has of a virtual cluster's topic; None for other objects."""
    owner = state.registry.owners.get(address) if state.registry else None
    return owner.topic_id if owner and not owner.spent and local_name(address) else None


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
    for segment, form in READ_BY_NAME.items():
        if possible := possible_names(form.kind, names[segment], state):
            state = state.with_objects(cluster.read(form.kind, possible), form.kind)
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
