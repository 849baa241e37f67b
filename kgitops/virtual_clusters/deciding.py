"""Decides requests about virtual clusters: returns records or refuses, and changes nothing.

The embedded cluster decides with it, and so does kgitops for brokers without virtual clusters. The
rights of the principal were checked before. ``links`` and ``members`` decide about the entities of
a virtual cluster.
"""

from collections.abc import Callable, Collection, Iterator

from kgitops.model import requests as req
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    virtual_cluster_name_problem,
)
from kgitops.virtual_clusters import links, members
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
)
from kgitops.virtual_clusters.refusals import (
    ENTITY_LABELS,
    Symbol,
    VirtualClusterRefusal,
    abbreviate,
    find_virtual_cluster,
)


def create(
    delta: VirtualClustersDelta, request: req.CreateVirtualClusterRequest
) -> Iterator[VirtualClusterMetadataRecord]:
    """Create a virtual cluster (VC-231, VC-246).

    Raises:
        VirtualClusterRefusal: the name is illegal or taken.
    """
    name = request.virtual_cluster
    problem = virtual_cluster_name_problem(name)
    if problem:
        reserved = name == CLUSTER_NAME
        raise VirtualClusterRefusal(
            Symbol.RESERVED_NAME if reserved else Symbol.INVALID_NAME, problem
        )
    if delta.get(name) is not None:
        raise VirtualClusterRefusal(
            Symbol.VC_ALREADY_EXISTS, f"there is a virtual cluster {name} already"
        )
    yield VirtualClusterRecord(name=name, options=request.options)


def delete(
    delta: VirtualClustersDelta, request: req.DeleteVirtualClusterRequest
) -> Iterator[VirtualClusterMetadataRecord]:
    """Delete a virtual cluster, which must be empty (VC-245).

    Raises:
        VirtualClusterRefusal: it does not exist, or is not empty.
    """
    virtual_cluster = find_virtual_cluster(delta, request.virtual_cluster)
    if not virtual_cluster.empty:
        remaining = [
            f"the {ENTITY_LABELS[entity_type]} {name}"
            for entity_type in EntityType
            for name in sorted(virtual_cluster.members(entity_type))
        ]
        raise VirtualClusterRefusal(
            Symbol.VC_NOT_EMPTY,
            f"the virtual cluster {virtual_cluster.name} still has {abbreviate(remaining)}; remove "
            "what it has first",
        )
    yield RemoveVirtualClusterRecord(name=virtual_cluster.name)


def alter(
    delta: VirtualClustersDelta,
    request: req.AlterVirtualClusterRequest,
    topic_id: links.TopicId,
    *,
    super_users: Collection[str] = (),
    is_global_group: Callable[[str], bool] = lambda _: False,
    open_transactions: Collection[str] = (),
) -> Iterator[VirtualClusterMetadataRecord]:
    """Add, remove or move one entity, redirect a link, or set the options (VC-233).

    Adding an entity that exists already is not an error and changes nothing (VC-046).
    ``is_global_group`` is true for a physical group that was created outside virtual clusters;
    ``open_transactions`` are transactional ids.

    Raises:
        VirtualClusterRefusal: the alteration is not possible.
    """
    virtual_cluster = find_virtual_cluster(delta, request.virtual_cluster)
    if request.options is not None:
        yield VirtualClusterRecord(name=virtual_cluster.name, options=request.options)
        return
    name, entity_type = request.entity_name, request.entity_type
    if name is None or entity_type is None:
        raise ValueError("an alteration is about an entity or about options")
    removes = request.change is ChangeType.REMOVE
    if entity_type is EntityType.TOPIC:
        if removes:
            yield from links.unlink(virtual_cluster, name)
        else:
            yield from links.link(delta, virtual_cluster, request, name, topic_id)
    elif removes:
        yield from members.remove(virtual_cluster, entity_type, name)
    else:
        if name not in virtual_cluster.members(entity_type):
            members.refuse_in_use(
                virtual_cluster, entity_type, name, is_global_group, open_transactions
            )
        yield from members.add(delta, virtual_cluster, request, entity_type, name, super_users)
