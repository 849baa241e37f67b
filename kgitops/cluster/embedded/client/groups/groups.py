"""ListGroups, FindCoordinator and the other requests about groups as such."""

import zlib
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.client.groups.offsets import NO_GROUP, check_known
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import GroupRecord, RemoveGroupRecord
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import OK, ErrorCode, RequestResult

NO_COORDINATOR = -1


class GroupState(StrEnum):
    """The state of a group; one without members is empty."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class CoordinatorType(StrEnum):
    """The type of key that a coordinator is looked up by."""

    GROUP = "group"
    TRANSACTION = "transaction"


class GroupDescription(Struct, frozen=True, kw_only=True):
    """One group, or the error in its place."""

    result: RequestResult = OK
    state: GroupState | None = None


class Coordinator(Struct, frozen=True, kw_only=True):
    """The broker that coordinates a group or a transactional id; -1 with an error."""

    result: RequestResult = OK
    node_id: int = NO_COORDINATOR
    physical: str = ""
    """The physical id; clients are not told."""


class GroupCalls(Connection):
    """Calls about groups; a bound caller's ids are local ones (VC-111)."""

    def list_groups(self) -> tuple[str, ...]:
        """The groups that the caller may see, in order."""
        return self._read_groups(_list_groups)

    def describe_groups(self, groups: Sequence[str]) -> dict[str, GroupDescription]:
        """Describe groups: with members, or empty."""
        return self._read_groups(lambda draft: _describe_groups(draft, groups))

    def delete_groups(self, groups: Sequence[str]) -> dict[str, RequestResult]:
        """Delete groups that have no members, with their offsets."""
        return self._ask(lambda draft: _delete_groups(draft, groups))

    def create_group(self, group: str) -> RequestResult:
        """Create a group that members are about to join, unless it exists (VC-113)."""
        return self._ask(lambda draft: attempt(_create_group, draft, group))

    def group_topics(self, names: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Ids and numbers of partitions of topics that a group's members read, by their names.

        Those that do not exist are left out. No right is asked for: the members' were checked.
        """
        return self._read(lambda draft: _group_topics(draft, names))

    def find_coordinator(
        self,
        keys: Sequence[str],
        key_type: CoordinatorType = CoordinatorType.GROUP,
        operation: Operation | None = Operation.DESCRIBE,
    ) -> dict[str, Coordinator]:
        """Find the brokers that coordinate these groups or transactional ids.

        ``operation`` is the right that it takes; None for what the caller is known to see.
        """
        return self._read_groups(lambda draft: _find_coordinator(draft, keys, key_type, operation))


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
    here = namespace(draft)
    return {group: _describe(here, group) for group in groups}


def _delete_groups(draft: Draft, groups: Sequence[str]) -> dict[str, RequestResult]:
    """Delete groups with their offsets; one result for each."""
    here = namespace(draft)
    return {group: attempt(_delete, here, group) for group in groups}


def _create_group(draft: Draft, group: str) -> None:
    here = namespace(draft)
    physical = here.group(Operation.READ, group)
    here.check_group(physical)
    if draft.delta.groups.get(physical) is None:
        draft.write(GroupRecord(group=physical, virtual_cluster=here.virtual_cluster))


def _group_topics(draft: Draft, names: Iterable[str]) -> dict[str, tuple[str, int]]:
    here = namespace(draft)
    return {
        name: (topic.topic_id, len(topic.assignment))
        for name in names
        if (topic := here.find_topic(name)) is not None
    }


def _find_coordinator(
    draft: Draft, keys: Sequence[str], key_type: CoordinatorType, operation: Operation | None
) -> dict[str, Coordinator]:
    """The coordinator of each group or transactional id, which need not exist."""
    here = namespace(draft)
    return {key: _coordinator(here, key, key_type, operation) for key in keys}


def _describe(here: GlobalNamespace, group: str) -> GroupDescription:
    try:
        physical = here.group(Operation.DESCRIBE, group)
    except Refusal as refusal:
        return GroupDescription(result=refusal.result)
    if not here.has_group(group):
        return GroupDescription(result=NO_GROUP.result)
    busy = here.draft.has_members(physical)
    return GroupDescription(state=GroupState.STABLE if busy else GroupState.EMPTY)


def _delete(here: GlobalNamespace, group: str) -> None:
    physical = here.group(Operation.DELETE, group)
    check_known(here, physical)
    if here.draft.has_members(physical):
        raise Refusal(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    here.draft.write(RemoveGroupRecord(group=physical))


def _coordinator(
    here: GlobalNamespace, key: str, key_type: CoordinatorType, operation: Operation | None
) -> Coordinator:
    find = here.group if key_type is CoordinatorType.GROUP else here.transactional_id
    try:
        physical = find(operation, key) if operation else here.physical_id(key)
    except Refusal as refusal:
        return Coordinator(result=refusal.result)
    alive = [broker.id for broker in here.draft.delta.brokers.all() if not broker.fenced]
    if not alive:
        unavailable = RequestResult(
            code=ErrorCode.COORDINATOR_NOT_AVAILABLE, message="The coordinator is not available."
        )
        return Coordinator(result=unavailable)
    node_id = alive[zlib.crc32(physical.encode()) % len(alive)]
    return Coordinator(node_id=node_id, physical=physical)
