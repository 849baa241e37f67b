"""Finding objects in virtual clusters, and recognizing results of requests about them."""

from urllib.parse import unquote

from msgspec import Struct

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.addresses import (
    ScopedAddress,
    local_topic_address,
    member_address,
    split_scoped_address,
)
from kgitops.model.resources.topics import TopicState
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
