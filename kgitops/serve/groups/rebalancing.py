"""The phases of a rebalance: it is prepared, members join, and the leader's assignment is awaited.

Names in backquotes are those of the same steps in Kafka's GroupMetadataManager.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.group import (
    NO_MEMBER,
    ClassicMember,
    Group,
    JoinAnswer,
    SyncAnswer,
    answered,
    join_answered,
    kept_alive,
    sync_answered,
    with_member,
)


def rebalanced(group: Group, now_ms: int, initial_delay_ms: int = 0) -> Group:
    """Begin a rebalance, or continue with the one that is being prepared.

    ``maybePrepareRebalanceOrCompleteJoin``.
    """
    if group.state is GroupState.PREPARING_REBALANCE:
        return completed_if_joined(group, now_ms)
    return prepared(group, now_ms, initial_delay_ms)


def prepared(group: Group, now_ms: int, initial_delay_ms: int = 0) -> Group:
    """Begin a rebalance: members learn of it by their next heartbeat (``prepareRebalance``)."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        group = _without_assignments(group, now_ms)
    begins = group.state is GroupState.EMPTY
    timeout_ms = group.rebalance_timeout_ms
    group = replace(
        group,
        state=GroupState.PREPARING_REBALANCE,
        begins=begins,
        grew=False,
        sync_deadline_ms=None,
        join_deadline_ms=now_ms + (initial_delay_ms if begins else timeout_ms),
        more_delay_ms=max(timeout_ms - initial_delay_ms, 0) if begins else 0,
    )
    if not begins and group.all_joined:
        return joined(group, now_ms)
    return group


def completed_if_joined(group: Group, now_ms: int) -> Group:
    """End the joining phase if nobody is missing (``maybeCompleteJoinPhase``)."""
    preparing = group.state is GroupState.PREPARING_REBALANCE and not group.begins
    return joined(group, now_ms) if preparing and group.all_joined else group


def joined(group: Group, now_ms: int) -> Group:
    """End the joining phase: a new generation of those that joined (``completeClassicGroupJoin``).

    Static members that did not join keep their places until their sessions end.
    """
    absent = [item.id for item in group.members.values() if item.joins is None]
    group = without_members(group, (i for i in absent if group.members[i].instance_id is None))
    leader = _elected_leader(group)
    if group.members and leader is None:
        # Nobody has joined: wait until the sessions of those that are away have ended.
        deadline_ms = now_ms + max(group.rebalance_timeout_ms, 1)
        return replace(group, begins=False, join_deadline_ms=deadline_ms)
    group = replace(
        group,
        leader=leader,
        generation=group.generation + 1,
        begins=False,
        join_deadline_ms=None,
        unsynced=frozenset(group.members),
    )
    if not group.members:
        return replace(group, state=GroupState.EMPTY, protocol=None)
    group = replace(
        group,
        state=GroupState.COMPLETING_REBALANCE,
        protocol=group.elected_protocol(),
        sync_deadline_ms=now_ms + group.rebalance_timeout_ms,
    )
    for member_id in group.members:
        group = join_answered(group, member_id, current_generation(group, member_id))
        group = kept_alive(group, member_id, now_ms)
        group = with_member(group, replace(group.members[member_id], is_new=False))
    return group


def current_generation(group: Group, member_id: str) -> JoinAnswer:
    """The answer to a member that is in the current generation."""
    return JoinAnswer(
        member_id=member_id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or NO_MEMBER,
        members=group.joined_members() if member_id == group.leader else (),
    )


def without_members(group: Group, gone: Iterable[str]) -> Group:
    """The group without these members and pending ids; their waiting requests are answered.

    The oldest that stays leads in place of a leader that is gone.
    """
    left = frozenset(gone)
    for member_id in left & group.members.keys():
        group = _refused(group, group.members[member_id], ErrorCode.UNKNOWN_MEMBER_ID)
    members = {key: group.members[key] for key in group.members if key not in left}
    leader = group.leader if group.leader in members else next(iter(members), None)
    return replace(
        group,
        members=members,
        leader=leader,
        pending={key: group.pending[key] for key in group.pending if key not in left},
        unsynced=group.unsynced - left,
    )


def with_successor(group: Group, member: ClassicMember, successor_id: str) -> Group:
    """The group with a static member under another id; who had the old id is fenced.

    ``replaceStaticMember``.
    """
    group = _refused(group, member, ErrorCode.FENCED_INSTANCE_ID)
    successor = replace(member, id=successor_id, joins=None, syncs=None)
    return replace(
        group,
        members={
            item.id: item
            for item in (
                successor if key == member.id else other for key, other in group.members.items()
            )
        },
        leader=successor_id if group.leader == member.id else group.leader,
        unsynced=frozenset(successor_id if key == member.id else key for key in group.unsynced),
    )


def _refused(group: Group, member: ClassicMember, error: ErrorCode) -> Group:
    unknown = error is ErrorCode.UNKNOWN_MEMBER_ID
    answer = JoinAnswer(error=error, member_id=NO_MEMBER if unknown else member.id)
    group = answered(group, member.joins, answer)
    return answered(group, member.syncs, SyncAnswer(error=error))


def _elected_leader(group: Group) -> str | None:
    """The leader if it has joined, else the oldest member that has."""
    ready = [item.id for item in group.members.values() if item.joins is not None]
    return group.leader if group.leader in ready else next(iter(ready), None)


def _without_assignments(group: Group, now_ms: int) -> Group:
    """Assignments are void, and members that wait for theirs join again."""
    answer = SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS)
    for member_id in group.members:
        group = with_member(group, replace(group.members[member_id], assignment=b""))
        group = sync_answered(group, member_id, answer, now_ms)
    return group
