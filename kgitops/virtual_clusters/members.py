"""Decides requests about users, client ids, groups and transactional ids."""

from collections.abc import Callable, Collection, Iterator

from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import EVERYONE
from kgitops.model.resources.virtual_clusters import (
    SEPARATOR,
    EntityType,
    LocalName,
    VirtualCluster,
    physical_id,
)
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.records import (
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
)
from kgitops.virtual_clusters.refusals import (
    ENTITY_LABELS,
    Symbol,
    VirtualClusterRefusal,
    check_member,
    find_virtual_cluster,
)

_ANONYMOUS = "User:ANONYMOUS"


def add(
    delta: VirtualClustersDelta,
    virtual_cluster: VirtualCluster,
    request: AlterVirtualClusterRequest,
    entity_type: EntityType,
    name: str,
    super_users: Collection[str],
) -> Iterator[VirtualClusterMetadataRecord]:
    """Add a member; one that moves leaves its other virtual cluster at the same moment.

    Raises:
        VirtualClusterRefusal: it can't be added.
    """
    if not name:
        raise VirtualClusterRefusal(
            Symbol.INVALID_NAME, f"the {ENTITY_LABELS[entity_type]} has no name"
        )
    exists = name in virtual_cluster.members(entity_type)
    if exists and (
        entity_type is not EntityType.GROUP or virtual_cluster.groups[name] == request.adopts
    ):
        return
    if entity_type is EntityType.USER:
        _refuse_user(name, super_users)
    if request.adopts is not None:
        _refuse_second_adopter(
            delta, request, LocalName(virtual_cluster.name, name), request.adopts
        )
    elsewhere = _elsewhere(delta, virtual_cluster, entity_type, name)
    if elsewhere is not None and elsewhere != request.moved_from:
        raise VirtualClusterRefusal(
            Symbol.ENTITY_BOUND_ELSEWHERE,
            f"the {ENTITY_LABELS[entity_type]} {name} belongs to the virtual cluster {elsewhere}",
        )
    if request.moved_from is not None:
        # Together with the addition, so that the entity is never in no virtual cluster (VC-086).
        yield from remove(find_virtual_cluster(delta, request.moved_from), entity_type, name)
    yield VirtualClusterEntityRecord(
        virtual_cluster=virtual_cluster.name,
        entity_type=entity_type,
        entity_name=name,
        adopts=request.adopts,
    )


def remove(
    virtual_cluster: VirtualCluster, entity_type: EntityType, name: str
) -> Iterator[VirtualClusterMetadataRecord]:
    """Remove a member.

    Raises:
        VirtualClusterRefusal: it is not a member.
    """
    check_member(virtual_cluster, entity_type, name)
    yield VirtualClusterEntityRecord(
        virtual_cluster=virtual_cluster.name, entity_type=entity_type, entity_name=name, remove=True
    )


def refuse_in_use(
    virtual_cluster: VirtualCluster,
    entity_type: EntityType,
    name: str,
    is_global_group: Callable[[str], bool],
    open_transactions: Collection[str],
) -> None:
    """Refuse a new member whose id is in use outside the virtual cluster (VC-117, VC-122).

    Raises:
        VirtualClusterRefusal: the id is in use.
    """
    if entity_type is EntityType.GROUP and is_global_group(physical_id(virtual_cluster.name, name)):
        raise VirtualClusterRefusal(
            Symbol.GROUP_NAME_COLLISION,
            "a group outside virtual clusters is named "
            f"{physical_id(virtual_cluster.name, name)} already",
        )
    if entity_type is EntityType.TRANSACTIONAL_ID and name in open_transactions:
        raise VirtualClusterRefusal(
            Symbol.TXN_IN_PROGRESS, f"a transaction of {name} is open; wait until it is done"
        )


def _refuse_user(principal: str, super_users: Collection[str]) -> None:
    if principal in super_users:
        raise VirtualClusterRefusal(
            Symbol.RESERVED_NAME, f"{principal} is a super user and can't be bound"
        )
    if principal in (_ANONYMOUS, EVERYONE):
        raise VirtualClusterRefusal(Symbol.RESERVED_NAME, f"{principal} can't be bound")


def _refuse_second_adopter(
    delta: VirtualClustersDelta, request: AlterVirtualClusterRequest, local: LocalName, group: str
) -> None:
    """Refuse to take over a group twice, or a group of a virtual cluster (VC-115)."""
    owner, separator, _ = group.partition(SEPARATOR)
    if separator and delta.get(owner) is not None:
        raise VirtualClusterRefusal(
            Symbol.ENTITY_BOUND_ELSEWHERE,
            f"the group {group} belongs to the virtual cluster {owner}",
        )
    adopter = delta.adopter(group)
    given_up = request.moved_from and LocalName(request.moved_from, local.name)
    if adopter is not None and adopter not in (local, given_up):
        raise VirtualClusterRefusal(
            Symbol.ENTITY_BOUND_ELSEWHERE,
            f"the group {group} was taken over by {adopter}; a group is taken over once",
        )


def _elsewhere(
    delta: VirtualClustersDelta, virtual_cluster: VirtualCluster, entity_type: EntityType, name: str
) -> str | None:
    """The other virtual cluster that the entity belongs to (VC-080, VC-081)."""
    owner: str | None = None
    match entity_type:
        case EntityType.USER:
            owner = delta.of_user(name)
        case EntityType.CLIENT_ID:
            owner = delta.of_client_id(name)
        case _:
            pass
    return None if owner == virtual_cluster.name else owner
