"""What becomes of a request about virtual clusters: records, or a refusal; nothing changes here.

Brokers of the embedded cluster decide so, and kgitops in the place of brokers that know no virtual
clusters. Whether the principal has the right to ask was checked before. ``links`` and ``members``
decide about what is in a virtual cluster.
"""

from collections.abc import Callable, Collection, Iterator

from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
)
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
    delta: VirtualClustersDelta, request: CreateVirtualClusterRequest
) -> Iterator[VirtualClusterMetadataRecord]:
    """VC-231, VC-246.

    Raises:
        VirtualClusterRefusal: it can't be made.
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
    delta: VirtualClustersDelta, request: DeleteVirtualClusterRequest
) -> Iterator[VirtualClusterMetadataRecord]:
    """VC-245: only an empty one.

    Raises:
        VirtualClusterRefusal: it is not there, or not empty.
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
    request: AlterVirtualClusterRequest,
    topic_id: links.TopicId,
    *,
    super_users: Collection[str] = (),
    is_global_group: Callable[[str], bool] = lambda _: False,
    open_transactions: Collection[str] = (),
) -> Iterator[VirtualClusterMetadataRecord]:
    """VC-233: one entity is added or removed, or moved, or a link leads elsewhere.

    Adding what is there already is no error and changes nothing (VC-046). ``is_global_group`` tells
    of a physical group whether it was made outside virtual clusters; ``open_transactions`` are
    transactional ids.

    Raises:
        VirtualClusterRefusal: it can't be done.
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
