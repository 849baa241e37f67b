"""AlterVirtualClusters: a batch with removals before additions, and each move as one (VC-240)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.controls import groups as group_control
from kgitops.cluster.embedded.controls import virtual_clusters as virtual_cluster_control
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.cluster.embedded.rights import may
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    VirtualCluster,
    default_link_name,
)
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.refusals import Symbol

RESOURCE_TYPES = {
    2: EntityType.TOPIC,
    3: EntityType.GROUP,
    5: EntityType.TRANSACTIONAL_ID,
    7: EntityType.USER,
    8: EntityType.CLIENT_ID,
}
"""Kafka's codes of resource types; KIP-1134 gives none, and forgets client ids (VC-239)."""
CHANGE_TYPES = {0: ChangeType.ADD, 1: ChangeType.REMOVE}


class VirtualClusterEntityChange(Struct, frozen=True, kw_only=True):
    """An entity to add to or remove from a virtual cluster; types may also be Kafka's codes.

    ``entity_name`` of a TOPIC is the physical topic, and ``link_name`` its name in the virtual
    cluster: None for the default. If a link is removed, the topic may be left empty.
    """

    resource_type: EntityType | int
    entity_name: str
    change_type: ChangeType | int = ChangeType.ADD
    link_name: str | None = None

    @property
    def key(self) -> "EntityKey":
        """The key that may appear in a request only once: for a topic with the link's name."""
        name = self.entity_name
        if self.entity_type is EntityType.TOPIC:
            name = self.link_name or default_link_name(name)
        return self.entity_type or self.resource_type, name, self.change or self.change_type

    @property
    def entity_type(self) -> EntityType | None:
        """None for an unknown code."""
        type_ = self.resource_type
        return type_ if isinstance(type_, EntityType) else RESOURCE_TYPES.get(type_)

    @property
    def change(self) -> ChangeType | None:
        """None for an unknown code."""
        type_ = self.change_type
        return type_ if isinstance(type_, ChangeType) else CHANGE_TYPES.get(type_)


EntityKey = tuple[EntityType | int, str, ChangeType | int]


class VirtualClusterAlteration(Struct, frozen=True, kw_only=True):
    """Changes to one virtual cluster."""

    virtual_cluster_name: str
    changes: Sequence[VirtualClusterEntityChange]


class _Item(Struct, frozen=True):
    virtual_cluster: str
    entity_type: EntityType
    name: str
    change: ChangeType
    topic: str | None

    @property
    def entity(self) -> tuple[EntityType, str, str]:
        """A key that is the same for a removal and an addition that belong together.

        A link gets another topic within its virtual cluster; other entities move between two.
        """
        place = self.virtual_cluster if self.entity_type is EntityType.TOPIC else ""
        return self.entity_type, self.name, place


Results = dict[str, dict[EntityKey, RequestResult]]


def alter_virtual_clusters(
    draft: Draft, alterations: Sequence[VirtualClusterAlteration]
) -> Results:
    """One result for each change of each virtual cluster."""
    results: Results = {}
    items = _items(alterations, results)
    pairs = _pairs(draft, items)
    paired = {*pairs, *pairs.values()}
    for item in items:
        if item.change is ChangeType.REMOVE and item not in paired:
            _put(results, item, attempt(_remove, draft, item))
    for added, removed in pairs.items():
        result = attempt(_add, draft, added, removed)
        _put(results, added, result)
        _put(results, removed, OK if result.ok else _not_attempted(added))
    for item in items:
        if item.change is ChangeType.ADD and item not in paired:
            _put(results, item, attempt(_add, draft, item, None))
    return results


def _items(alterations: Sequence[VirtualClusterAlteration], results: Results) -> list[_Item]:
    """The changes that can be decided; the answers to all others are put in ``results``."""
    items = []
    names = Counter(alteration.virtual_cluster_name for alteration in alterations)
    for alteration in alterations:
        name = alteration.virtual_cluster_name
        answers = results.setdefault(name, {})
        keys = Counter(change.key for change in alteration.changes)
        for change in alteration.changes:
            entity_type, changing = change.entity_type, change.change
            if names[name] > 1 or keys[change.key] > 1:
                answers[change.key] = duplicate_resource(name if names[name] > 1 else change.key[1])
            elif entity_type is None or changing is None:
                answers[change.key] = RequestResult(
                    code=ErrorCode.INVALID_REQUEST, message="Unknown type of resource or operation."
                )
            else:
                answers[change.key] = OK
                topic = change.entity_name if entity_type is EntityType.TOPIC else None
                items.append(_Item(name, entity_type, change.key[1], changing, topic))
    return items


def duplicate_resource(name: str) -> RequestResult:
    """The answer to an item that appears in a request more than once."""
    return RequestResult(
        code=ErrorCode.DUPLICATE_RESOURCE,
        message=f"{Symbol.DUPLICATE_IN_REQUEST}: {name} is in the request more than once",
    )


def _pairs(draft: Draft, items: Sequence[_Item]) -> Mapping[_Item, _Item]:
    """Each addition that belongs to a removal, to that removal (VC-028, VC-086)."""
    removals: dict[tuple[EntityType, str, str], _Item] = {}
    for item in items:
        virtual_cluster = draft.delta.virtual_clusters.get(item.virtual_cluster)
        if (
            item.change is ChangeType.REMOVE
            and virtual_cluster is not None
            and _contains(virtual_cluster, item)
            and may(draft, Operation.ALTER_VIRTUAL_CLUSTER, item.virtual_cluster)
        ):
            removals[item.entity] = item
    return {
        item: removals.pop(item.entity)
        for item in items
        if item.change is ChangeType.ADD and item.entity in removals
    }


def _contains(virtual_cluster: VirtualCluster, item: _Item) -> bool:
    if item.entity_type is EntityType.TOPIC:
        link = virtual_cluster.links.get(item.name)
        return link is not None and item.topic in ("", link.topic)
    return item.name in virtual_cluster.members(item.entity_type)


def _remove(draft: Draft, item: _Item) -> None:
    owner = draft.delta.virtual_clusters.get(item.virtual_cluster)
    request = AlterVirtualClusterRequest(
        virtual_cluster=item.virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=item.entity_type,
        entity_name=item.name,
    )
    if owner is not None and item.name in owner.links and not _contains(owner, item):
        # The topic is given to make sure that the right link is removed.
        virtual_cluster_control.check_may_alter(draft, request)
        raise Refusal(
            ErrorCode.RESOURCE_NOT_FOUND,
            f"{Symbol.LINK_NOT_FOUND}: the link {item.name} of {item.virtual_cluster} does not "
            f"lead to {item.topic}",
        )
    virtual_cluster_control.alter(draft, request)


def _add(draft: Draft, item: _Item, given_up: _Item | None) -> None:
    origin = draft.delta.virtual_clusters.get(given_up.virtual_cluster) if given_up else None
    topic = item.entity_type is EntityType.TOPIC
    adopts = _adopted(draft, item, origin) if item.entity_type is EntityType.GROUP else None
    moved = given_up is not None and given_up.virtual_cluster != item.virtual_cluster
    virtual_cluster_control.alter(
        draft,
        AlterVirtualClusterRequest(
            virtual_cluster=item.virtual_cluster,
            entity_type=item.entity_type,
            entity_name=item.name,
            topic=item.topic,
            replaces=origin.links[item.name].topic if topic and origin else None,
            moved_from=given_up.virtual_cluster if moved and given_up else None,
            adopts=adopts,
        ),
    )
    if adopts is not None:
        group_control.copy(draft, adopts, virtual_cluster=item.virtual_cluster, group=item.name)


def _adopted(draft: Draft, item: _Item, given_up_by: VirtualCluster | None) -> str | None:
    """The global group that the item adopts, and whose offsets are copied (VC-114)."""
    target = draft.delta.virtual_clusters.get(item.virtual_cluster)
    if given_up_by is not None:
        return given_up_by.groups.get(item.name)
    if target is not None and item.name in target.groups:
        return target.groups[item.name]
    group = draft.delta.groups.get(item.name)
    if group is None or group.virtual_cluster is not None:
        return None
    group_control.check_may_copy(draft, item.name, item.virtual_cluster, item.name)
    return item.name


def _not_attempted(added: _Item) -> RequestResult:
    return RequestResult(
        code=ErrorCode.OPERATION_NOT_ATTEMPTED,
        message=f"{added.name} can't be added to {added.virtual_cluster}, so it stays.",
    )


def _put(results: Results, item: _Item, result: RequestResult) -> None:
    results[item.virtual_cluster][item.entity_type, item.name, item.change] = result
