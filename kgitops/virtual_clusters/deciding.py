"""What becomes of a request about virtual clusters: records, or a refusal; nothing changes here.

Brokers of the embedded cluster decide so, and kgitops in the place of brokers that know no virtual
clusters. Whether the principal has the right to ask was checked before.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from kgitops.model.acls import CLUSTER_NAME
from kgitops.model.names import is_internal, topic_name_problem
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
)
from kgitops.model.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
    physical_id,
    virtual_cluster_name_problem,
)
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)
from kgitops.virtual_clusters.refusals import Symbol, VirtualClusterRefusal

TopicId = Callable[[str], str | None]
"""The topic id of a physical topic, None where there is none of that name."""

_MANY = 10
_WORDS = {
    EntityType.TOPIC: "link",
    EntityType.GROUP: "group",
    EntityType.TRANSACTIONAL_ID: "transactional id",
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "client id",
}
_ANONYMOUS = "User:ANONYMOUS"
_EVERYONE = "User:*"


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
    found = _known(delta, request.virtual_cluster)
    if not found.empty:
        left = [
            f"the {_WORDS[entity_type]} {name}"
            for entity_type in EntityType
            for name in sorted(found.members(entity_type))
        ]
        raise VirtualClusterRefusal(
            Symbol.VC_NOT_EMPTY,
            f"the virtual cluster {found.name} still has {_some(left)}; remove what it has first",
        )
    yield RemoveVirtualClusterRecord(name=found.name)


def alter(
    delta: VirtualClustersDelta,
    request: AlterVirtualClusterRequest,
    topic_id: TopicId,
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
    found = _known(delta, request.virtual_cluster)
    if request.options is not None:
        yield VirtualClusterRecord(name=found.name, options=request.options)
        return
    name, entity_type = request.entity_name, request.entity_type
    if name is None or entity_type is None:
        raise ValueError("an alteration is about an entity or about options")
    if request.change is ChangeType.REMOVE:
        yield from _remove(found, entity_type, name)
    elif entity_type is EntityType.TOPIC:
        yield from _link(delta, found, request, name, topic_id)
    else:
        if name not in found.members(entity_type):
            _refuse_in_use(found, entity_type, name, is_global_group, open_transactions)
        yield from _add(delta, found, request, entity_type, name, super_users)


def check_link_free(delta: VirtualClustersDelta, local: LocalName) -> None:
    """A topic can be made under this name (VC-061).

    Raises:
        VirtualClusterRefusal: there is no such virtual cluster, or it has such a link.
    """
    link = _known(delta, local.virtual_cluster).links.get(local.name)
    if link is not None:
        raise VirtualClusterRefusal(
            Symbol.LINK_ALREADY_EXISTS,
            f"the link {local.name} of {local.virtual_cluster} leads to {link.topic}",
        )


def target(delta: VirtualClustersDelta, request: AlterVirtualClusterRequest) -> str | None:
    """The physical topic that a link is to lead to; None where that can't be told."""
    if request.target is None:
        return request.topic
    owner = delta.get(request.target.virtual_cluster)
    link = owner.links.get(request.target.name) if owner else None
    return link.topic if link else None


def refuse_linked(delta: VirtualClustersDelta, topic: str) -> None:
    """A physical topic is not deleted while links lead to it (VC-033).

    Raises:
        VirtualClusterRefusal: one does.
    """
    links = delta.links_to(topic)
    if links:
        named = _some([str(local) for local in sorted(links)])
        raise VirtualClusterRefusal(
            Symbol.TOPIC_HAS_LINKS,
            f"the topic {topic} is linked to as {named}; remove the links first",
        )


def _some(items: Sequence[str]) -> str:
    more = f" and {len(items) - _MANY} more" if len(items) > _MANY else ""
    return ", ".join(items[:_MANY]) + more


def _known(delta: VirtualClustersDelta, name: str) -> VirtualCluster:
    if name == CLUSTER_NAME:
        raise VirtualClusterRefusal(
            Symbol.RESERVED_NAME, f"{CLUSTER_NAME} is the physical cluster itself"
        )
    found = delta.get(name)
    if found is None:
        raise VirtualClusterRefusal(Symbol.VC_NOT_FOUND, f"there is no virtual cluster {name}")
    return found


def _remove(
    found: VirtualCluster, entity_type: EntityType, name: str
) -> Iterator[VirtualClusterMetadataRecord]:
    if name not in found.members(entity_type):
        link = entity_type is EntityType.TOPIC
        raise VirtualClusterRefusal(
            Symbol.LINK_NOT_FOUND if link else Symbol.MEMBER_NOT_FOUND,
            f"the virtual cluster {found.name} has no {_WORDS[entity_type]} {name}",
        )
    if entity_type is EntityType.TOPIC:
        yield VirtualClusterTopicLinkRecord(virtual_cluster=found.name, link_name=name, topic=None)
    else:
        yield VirtualClusterEntityRecord(
            virtual_cluster=found.name, entity_type=entity_type, entity_name=name, remove=True
        )


def _link(
    delta: VirtualClustersDelta,
    found: VirtualCluster,
    request: AlterVirtualClusterRequest,
    name: str,
    topic_id: TopicId,
) -> Iterator[VirtualClusterMetadataRecord]:
    problem = topic_name_problem(name)
    if problem:
        raise VirtualClusterRefusal(Symbol.INVALID_LINK_NAME, problem)
    topic = target(delta, request)
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
    before = found.links.get(name)
    if before is not None:
        if before.topic == topic and before.topic_id == known_id:
            return
        if before.topic != topic and before.topic != request.replaces:
            raise VirtualClusterRefusal(
                Symbol.LINK_ALREADY_EXISTS,
                f"the link {name} of {found.name} leads to {before.topic}",
            )
        if before.topic == topic:
            raise VirtualClusterRefusal(
                Symbol.TOPIC_REPLACED,
                f"the topic {topic} was deleted and made anew since {name} was linked to it",
            )
    yield VirtualClusterTopicLinkRecord(
        virtual_cluster=found.name, link_name=name, topic=topic, topic_id=known_id
    )


def _add(
    delta: VirtualClustersDelta,
    found: VirtualCluster,
    request: AlterVirtualClusterRequest,
    entity_type: EntityType,
    name: str,
    super_users: Collection[str],
) -> Iterator[VirtualClusterMetadataRecord]:
    if not name:
        raise VirtualClusterRefusal(Symbol.INVALID_NAME, f"the {_WORDS[entity_type]} has no name")
    there = name in found.members(entity_type)
    if there and (entity_type is not EntityType.GROUP or found.groups[name] == request.adopts):
        return
    if entity_type is EntityType.USER:
        _refuse_user(name, super_users)
    if request.adopts is not None:
        _refuse_second_adopter(delta, request, LocalName(found.name, name), request.adopts)
    elsewhere = _elsewhere(delta, found, entity_type, name)
    if elsewhere is not None and elsewhere != request.moved_from:
        raise VirtualClusterRefusal(
            Symbol.ENTITY_BOUND_ELSEWHERE,
            f"the {_WORDS[entity_type]} {name} belongs to the virtual cluster {elsewhere}",
        )
    if request.moved_from is not None:
        # Together with the addition: nobody ever sees it in no virtual cluster (VC-086).
        yield from _remove(_known(delta, request.moved_from), entity_type, name)
    yield VirtualClusterEntityRecord(
        virtual_cluster=found.name,
        entity_type=entity_type,
        entity_name=name,
        adopts=request.adopts,
    )


def _refuse_in_use(
    found: VirtualCluster,
    entity_type: EntityType,
    name: str,
    is_global_group: Callable[[str], bool],
    open_transactions: Collection[str],
) -> None:
    if entity_type is EntityType.GROUP and is_global_group(physical_id(found.name, name)):
        raise VirtualClusterRefusal(
            Symbol.GROUP_NAME_COLLISION,
            f"a group outside virtual clusters is named {physical_id(found.name, name)} already",
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
    if principal in (_ANONYMOUS, _EVERYONE):
        raise VirtualClusterRefusal(Symbol.RESERVED_NAME, f"{principal} can't be bound")


def _refuse_second_adopter(
    delta: VirtualClustersDelta, request: AlterVirtualClusterRequest, local: LocalName, group: str
) -> None:
    """VC-115: also under another name in the same virtual cluster."""
    adopter = delta.adopter(group)
    given_up = request.moved_from and LocalName(request.moved_from, local.name)
    if adopter is not None and adopter not in (local, given_up):
        raise VirtualClusterRefusal(
            Symbol.ENTITY_BOUND_ELSEWHERE,
            f"the group {group} was taken over by {adopter}; a group is taken over once",
        )


def _elsewhere(
    delta: VirtualClustersDelta, found: VirtualCluster, entity_type: EntityType, name: str
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
    return None if owner == found.name else owner
