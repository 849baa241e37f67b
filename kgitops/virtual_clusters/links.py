"""Decides requests about topic links: names in a virtual cluster for physical topics."""

from collections.abc import Callable, Iterator

from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, VirtualCluster
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.records import (
    VirtualClusterMetadataRecord,
    VirtualClusterTopicLinkRecord,
)
from kgitops.virtual_clusters.refusals import (
    Symbol,
    VirtualClusterRefusal,
    abbreviate,
    check_member,
    find_virtual_cluster,
)

TopicId = Callable[[str], str | None]
"""The topic id of a physical topic, None where there is none of that name."""


def link(
    delta: VirtualClustersDelta,
    virtual_cluster: VirtualCluster,
    request: AlterVirtualClusterRequest,
    name: str,
    topic_id: TopicId,
) -> Iterator[VirtualClusterMetadataRecord]:
    """Create or redirect a link (VC-028).

    Raises:
        VirtualClusterRefusal: the link is not possible.
    """
    problem = topic_name_problem(name)
    if problem:
        raise VirtualClusterRefusal(Symbol.INVALID_LINK_NAME, problem)
    topic = link_target(delta, request)
    if topic is None:
        raise VirtualClusterRefusal(
            Symbol.LINK_NOT_FOUND, f"there is no link {request.target} that could be followed"
        )
    if is_internal(topic):
        raise VirtualClusterRefusal(
            Symbol.INTERNAL_TOPIC, f"the topic {topic} is internal and can't be linked to"
        )
    known_id = topic_id(topic)
    if known_id is None:
        raise VirtualClusterRefusal(Symbol.TOPIC_NOT_FOUND, f"there is no topic {topic}")
    before = virtual_cluster.links.get(name)
    if before is not None:
        if before.topic == topic and before.topic_id == known_id:
            return
        if before.topic != topic and before.topic != request.replaces:
            raise VirtualClusterRefusal(
                Symbol.LINK_ALREADY_EXISTS,
                f"the link {name} of {virtual_cluster.name} leads to {before.topic}",
            )
        if before.topic == topic:
            raise VirtualClusterRefusal(
                Symbol.TOPIC_REPLACED,
                f"the topic {topic} was deleted and re-created since {name} was linked to it",
            )
    yield VirtualClusterTopicLinkRecord(
        virtual_cluster=virtual_cluster.name, link_name=name, topic=topic, topic_id=known_id
    )


def unlink(virtual_cluster: VirtualCluster, name: str) -> Iterator[VirtualClusterMetadataRecord]:
    """Remove a link; its topic stays.

    Raises:
        VirtualClusterRefusal: there is no such link.
    """
    check_member(virtual_cluster, EntityType.TOPIC, name)
    yield VirtualClusterTopicLinkRecord(
        virtual_cluster=virtual_cluster.name, link_name=name, topic=None
    )


def link_target(delta: VirtualClustersDelta, request: AlterVirtualClusterRequest) -> str | None:
    """The physical topic for a new link; None if the link that it follows does not exist."""
    if request.target is None:
        return request.topic
    owner = delta.get(request.target.virtual_cluster)
    link = owner.links.get(request.target.name) if owner else None
    return link.topic if link else None


def check_link_free(delta: VirtualClustersDelta, local: LocalName) -> None:
    """Refuse to create a topic under a local name that is taken (VC-061).

    Raises:
        VirtualClusterRefusal: there is no such virtual cluster, or it has such a link.
    """
    link = find_virtual_cluster(delta, local.virtual_cluster).links.get(local.name)
    if link is not None:
        raise VirtualClusterRefusal(
            Symbol.LINK_ALREADY_EXISTS,
            f"the link {local.name} of {local.virtual_cluster} leads to {link.topic}",
        )


def refuse_linked(delta: VirtualClustersDelta, topic: str) -> None:
    """Refuse to delete a physical topic while links lead to it (VC-033).

    Raises:
        VirtualClusterRefusal: a link leads to the topic.
    """
    links = delta.links_to(topic)
    if links:
        named = abbreviate([str(local) for local in sorted(links)])
        raise VirtualClusterRefusal(
            Symbol.TOPIC_HAS_LINKS,
            f"the topic {topic} is linked to as {named}; remove the links first",
        )
