"""AlterVirtualClusters as one request: removals before additions, and moves as one (VC-240)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterEntityChange:
    """One entity is added to or removed from a virtual cluster; types are given by code too.

    ``entity_name`` of a TOPIC is the physical topic, and ``link_name`` its name in the virtual
    cluster: None for the default. Where a link is removed, the topic may be left empty.
    """

    resource_type: EntityType | int
    entity_name: str
    change_type: ChangeType | int = ChangeType.ADD
    link_name: str | None = None

    @property
    def key(self) -> "EntityKey":
        """What may stand in a request only once: of a topic it is the link's name."""
        name = self.entity_name
        if self.entity_type is EntityType.TOPIC:
            name = self.link_name or default_link_name(name)
        return self.entity_type or self.resource_type, name, self.change or self.change_type

    @property
    def entity_type(self) -> EntityType | None:
        """None for an unknown code."""
        given = self.resource_type
        return given if isinstance(given, EntityType) else RESOURCE_TYPES.get(given)

    @property
    def change(self) -> ChangeType | None:
        """None for an unknown code."""
        given = self.change_type
        return given if isinstance(given, ChangeType) else CHANGE_TYPES.get(given)


EntityKey = tuple[EntityType | int, str, ChangeType | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualClusterAlteration:
    """What becomes of one virtual cluster."""

    virtual_cluster_name: str
    changes: Sequence[VirtualClusterEntityChange]


@dataclass(frozen=True, slots=True)
class _Item:
    virtual_cluster: str
    entity_type: EntityType
    name: str
    change: ChangeType
    topic: str | None

    @property
    def entity(self) -> tuple[EntityType, str, str]:
        """The same for a removal and an addition that belong together.

        A link is given another topic where it is; everything else goes from one to another.
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
    """What can be decided; what can't is answered."""
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
    """The answer to what stands in one request twice."""
    return RequestResult(
        code=ErrorCode.DUPLICATE_RESOURCE,
        message=f"{Symbol.DUPLICATE_IN_REQUEST}: {name} is in the request more than once",
    )


def _pairs(draft: Draft, items: Sequence[_Item]) -> Mapping[_Item, _Item]:
    """An addition to the removal that only makes sense with it (VC-028, VC-086)."""
    removals: dict[tuple[EntityType, str, str], _Item] = {}
    for item in items:
        found = draft.delta.virtual_clusters.get(item.virtual_cluster)
        if (
            item.change is ChangeType.REMOVE
            and found is not None
            and _is_there(found, item)
            and may(draft, Operation.ALTER_VIRTUAL_CLUSTER, item.virtual_cluster)
        ):
            removals[item.entity] = item
    return {
        item: removals.pop(item.entity)
        for item in items
        if item.change is ChangeType.ADD and item.entity in removals
    }


def _is_there(found: VirtualCluster, item: _Item) -> bool:
    if item.entity_type is EntityType.TOPIC:
        link = found.links.get(item.name)
        return link is not None and item.topic in ("", link.topic)
    return item.name in found.members(item.entity_type)


def _remove(draft: Draft, item: _Item) -> None:
    found = draft.delta.virtual_clusters.get(item.virtual_cluster)
    request = AlterVirtualClusterRequest(
        virtual_cluster=item.virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=item.entity_type,
        entity_name=item.name,
    )
    if found is not None and item.name in found.links and not _is_there(found, item):
        # The topic is there to make sure that the right link is meant.
        virtual_cluster_control.check_may_alter(draft, request)
        raise Refusal(
            ErrorCode.RESOURCE_NOT_FOUND,
            f"{Symbol.LINK_NOT_FOUND}: the link {item.name} of {item.virtual_cluster} does not "
            f"lead to {item.topic}",
        )
    virtual_cluster_control.alter(draft, request)


def _add(draft: Draft, item: _Item, given_up: _Item | None) -> None:
    found = draft.delta.virtual_clusters.get(given_up.virtual_cluster) if given_up else None
    topic = item.entity_type is EntityType.TOPIC
    adopts = _adopted(draft, item, found) if item.entity_type is EntityType.GROUP else None
    moved = given_up is not None and given_up.virtual_cluster != item.virtual_cluster
    virtual_cluster_control.alter(
        draft,
        AlterVirtualClusterRequest(
            virtual_cluster=item.virtual_cluster,
            entity_type=item.entity_type,
            entity_name=item.name,
            topic=item.topic,
            replaces=found.links[item.name].topic if topic and found else None,
            moved_from=given_up.virtual_cluster if moved and given_up else None,
            adopts=adopts,
        ),
    )
    if adopts is not None:
        group_control.copy(draft, adopts, virtual_cluster=item.virtual_cluster, group=item.name)


def _adopted(draft: Draft, item: _Item, given_up_by: VirtualCluster | None) -> str | None:
    """The global group of this name is taken over, and its offsets are copied (VC-114)."""
    target = draft.delta.virtual_clusters.get(item.virtual_cluster)
    if given_up_by is not None:
        return given_up_by.groups.get(item.name)
    if target is not None and item.name in target.groups:
        return target.groups[item.name]
    found = draft.delta.groups.get(item.name)
    if found is None or found.virtual_cluster is not None:
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
