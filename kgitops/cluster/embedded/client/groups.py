"""OffsetCommit, OffsetFetch, ListGroups and the other requests of consumers about groups.

Offsets are kept by physical group and topic, so that a topic's two names, or a renamed link, have
the same (VC-045).
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.controls import groups as group_control
from kgitops.cluster.embedded.controls.reassignments import TopicPartition
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import GroupRecord, RemoveGroupRecord
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import OK, ErrorCode, RequestResult

NO_COORDINATOR = -1
_NO_GROUP = Refusal(ErrorCode.GROUP_ID_NOT_FOUND, "The group id does not exist.")


class GroupState(StrEnum):
    """The state of a group: with or without members; only tests simulate members."""

    EMPTY = "Empty"
    STABLE = "Stable"


class CoordinatorType(StrEnum):
    """The type of key that a coordinator is looked up by."""

    GROUP = "group"
    TRANSACTION = "transaction"


class FetchedOffsets(Struct, frozen=True, kw_only=True):
    """Committed offsets of a group, and the partitions whose offsets the caller may not see.

    Partitions without a committed offset are left out.
    """

    result: RequestResult = OK
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    refused: Mapping[TopicPartition, RequestResult] = field(default_factory=dict)


class GroupDescription(Struct, frozen=True, kw_only=True):
    """One group, or the error in its place."""

    result: RequestResult = OK
    state: GroupState | None = None


class Coordinator(Struct, frozen=True, kw_only=True):
    """The broker that coordinates a group or a transactional id; -1 with an error."""

    result: RequestResult = OK
    node_id: int = NO_COORDINATOR


class GroupCalls(Connection):
    """Calls about groups; a bound caller's ids are local ones (VC-111)."""

    def offset_commit(
        self, group: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, RequestResult]:
        """Commit offsets of the group; one result for each partition."""
        return self._ask(lambda draft: _offset_commit(draft, group, offsets))

    def offset_fetch(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> FetchedOffsets:
        """Offsets that the group has committed in these partitions, or in all."""
        return self._read(lambda draft: _offset_fetch(draft, group, partitions))

    def offset_delete(
        self, group: str, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, RequestResult]:
        """Delete committed offsets of the group; one result for each partition."""
        return self._ask(lambda draft: _offset_delete(draft, group, partitions))

    def list_groups(self) -> tuple[str, ...]:
        """The groups that the caller may see, in order."""
        return self._read(_list_groups)

    def describe_groups(self, groups: Sequence[str]) -> dict[str, GroupDescription]:
        """Describe groups: with members, or empty."""
        return self._read(lambda draft: _describe_groups(draft, groups))

    def delete_groups(self, groups: Sequence[str]) -> dict[str, RequestResult]:
        """Delete groups that have no members, with their offsets."""
        return self._ask(lambda draft: _delete_groups(draft, groups))

    def find_coordinator(
        self, keys: Sequence[str], key_type: CoordinatorType = CoordinatorType.GROUP
    ) -> dict[str, Coordinator]:
        """Find the brokers that coordinate these groups or transactional ids."""
        return self._read(lambda draft: _find_coordinator(draft, keys, key_type))


def _offset_commit(
    draft: Draft, group: str, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, RequestResult]:
    """One result for each partition; the group then belongs to its virtual cluster (VC-113)."""
    here = namespace(draft)
    try:
        physical = here.group(Operation.READ, group)
        here.check_group(physical)
    except Refusal as refusal:
        return dict.fromkeys(offsets, refusal.result)
    return {key: attempt(_commit, here, physical, key, offsets[key]) for key in offsets}


def _offset_fetch(
    draft: Draft, group: str, partitions: Iterable[TopicPartition] | None
) -> FetchedOffsets:
    """Offsets that the group has committed in these partitions; None: in all."""
    here = namespace(draft)
    try:
        physical = here.group(Operation.DESCRIBE, group)
    except Refusal as refusal:
        return FetchedOffsets(result=refusal.result)
    committed = _committed(here, physical)
    if partitions is None:
        return FetchedOffsets(offsets=_visible(here, committed))
    offsets: dict[TopicPartition, int] = {}
    refused: dict[TopicPartition, RequestResult] = {}
    for name, partition in partitions:
        try:
            offset = committed.get((here.topic(Operation.DESCRIBE, name), partition))
        except Refusal as refusal:
            refused[name, partition] = refusal.result
        else:
            offsets |= {} if offset is None else {(name, partition): offset}
    return FetchedOffsets(offsets=offsets, refused=refused)


def _offset_delete(
    draft: Draft, group: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, RequestResult]:
    """One result for each partition, also for those without a committed offset."""
    here = namespace(draft)
    try:
        physical = here.group(Operation.DELETE, group)
        _check_known(here, physical)
    except Refusal as refusal:
        return dict.fromkeys(partitions, refusal.result)
    return {key: attempt(_forget, here, physical, key) for key in partitions}


def _list_groups(draft: Draft) -> tuple[str, ...]:
    """The groups that the caller may see, in order (VC-116, VC-159)."""
    here = namespace(draft)
    every = here.lists_all_groups()
    return tuple(
        group
        for group in here.groups()
        if every or here.may(Operation.DESCRIBE, ResourceType.GROUP, group)
    )


def _describe_groups(draft: Draft, groups: Sequence[str]) -> dict[str, GroupDescription]:
    """One description for each."""
    here = namespace(draft)
    return {group: _describe(here, group) for group in groups}


def _delete_groups(draft: Draft, groups: Sequence[str]) -> dict[str, RequestResult]:
    """Delete groups with their offsets; one result for each."""
    here = namespace(draft)
    return {group: attempt(_delete, here, group) for group in groups}


def _find_coordinator(
    draft: Draft, keys: Sequence[str], key_type: CoordinatorType
) -> dict[str, Coordinator]:
    """The coordinator of each group or transactional id, which need not exist."""
    here = namespace(draft)
    return {key: _coordinator(here, key, key_type) for key in keys}


def _commit(here: GlobalNamespace, physical: str, key: TopicPartition, offset: int) -> None:
    name, partition = key
    committed = {(here.topic(Operation.READ, name), partition): offset}
    group_control.commit(here.draft, physical, committed, virtual_cluster=here.virtual_cluster)


def _committed(here: GlobalNamespace, physical: str) -> GroupOffsets:
    group = here.draft.delta.groups.get(physical)
    # A group of that id that was made elsewhere is hidden from the caller (VC-117).
    return group.committed if group and here.local_group(physical) is not None else {}


def _visible(here: GlobalNamespace, committed: GroupOffsets) -> dict[TopicPartition, int]:
    """Offsets by the caller's first name of each topic, if it may describe the topic (VC-039)."""
    return {
        (name, partition): committed[topic, partition]
        for topic, partition in sorted(committed)
        for name in here.local_topics(topic)[:1]
        if here.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
    }


def _check_known(here: GlobalNamespace, physical: str) -> None:
    if here.draft.delta.groups.get(physical) is None or here.local_group(physical) is None:
        raise _NO_GROUP


def _forget(here: GlobalNamespace, physical: str, key: TopicPartition) -> None:
    name, partition = key
    deleted = here.topic(Operation.READ, name), partition
    group = here.draft.delta.groups.get(physical)
    if group is None or deleted not in group.committed:
        return
    kept = {other: group.committed[other] for other in group.committed if other != deleted}
    here.draft.write(
        RemoveGroupRecord(group=physical),
        GroupRecord(group=physical, virtual_cluster=group.virtual_cluster, committed=kept),
    )


def _describe(here: GlobalNamespace, group: str) -> GroupDescription:
    try:
        physical = here.group(Operation.DESCRIBE, group)
    except Refusal as refusal:
        return GroupDescription(result=refusal.result)
    if not here.has_group(group):
        return GroupDescription(result=_NO_GROUP.result)
    busy = physical in here.draft.faults.busy_groups
    return GroupDescription(state=GroupState.STABLE if busy else GroupState.EMPTY)


def _delete(here: GlobalNamespace, group: str) -> None:
    physical = here.group(Operation.DELETE, group)
    _check_known(here, physical)
    if physical in here.draft.faults.busy_groups:
        raise Refusal(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    here.draft.write(RemoveGroupRecord(group=physical))


def _coordinator(here: GlobalNamespace, key: str, key_type: CoordinatorType) -> Coordinator:
    find = here.group if key_type is CoordinatorType.GROUP else here.transactional_id
    try:
        physical = find(Operation.DESCRIBE, key)
    except Refusal as refusal:
        return Coordinator(result=refusal.result)
    alive = [broker.id for broker in here.draft.delta.brokers.all() if not broker.fenced]
    if not alive:
        unavailable = RequestResult(code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return Coordinator(result=unavailable)
    return Coordinator(node_id=alive[zlib.crc32(physical.encode()) % len(alive)])
