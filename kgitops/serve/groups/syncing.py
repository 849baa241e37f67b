"""SyncGroup: the leader brings the assignment, and every member fetches its own."""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.checks import generation_error
from kgitops.serve.groups.group import (
    Group,
    SyncAnswer,
    answered,
    kept_alive,
    sync_answered,
    with_member,
)


class Syncing(Struct, frozen=True, kw_only=True):
    """A SyncGroup request, and the ticket of its answer."""

    ticket: int
    member_id: str
    instance_id: str | None = None
    generation: int
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)
    """By member id; the leader's request alone has any."""


def sync(group: Group, request: Syncing, now_ms: int) -> Group:
    """The group after a SyncGroup: it waits for the leader's assignment (``classicGroupSync``)."""
    error = _error(group, request)
    if error is not ErrorCode.NONE:
        return answered(group, request.ticket, SyncAnswer(error=error))
    member_id = request.member_id
    unsynced = group.unsynced - {member_id}
    deadline_ms = group.sync_deadline_ms if unsynced else None
    group = replace(group, unsynced=unsynced, sync_deadline_ms=deadline_ms)
    if group.state is GroupState.STABLE:
        answer = _assignment(group, member_id)
        return kept_alive(answered(group, request.ticket, answer), member_id, now_ms)
    member = group.members[member_id]
    late = SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS)
    group = answered(group, member.syncs, late)
    group = with_member(group, replace(member, syncs=request.ticket))
    if member_id == group.leader:
        return _assigned(group, request.assignments, now_ms)
    return group


def _error(group: Group, request: Syncing) -> ErrorCode:
    error = generation_error(group, request.member_id, request.instance_id, request.generation)
    if error is not ErrorCode.NONE:
        return error
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol, group.protocol
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differs(told: str | None, known: str | None) -> bool:
    return told is not None and known is not None and told != known


def _assigned(group: Group, assignments: Mapping[str, bytes], now_ms: int) -> Group:
    """All members have their assignments; one that the leader left out has an empty one."""
    group = replace(group, state=GroupState.STABLE)
    for member_id in group.members:
        assignment = assignments.get(member_id, b"")
        group = with_member(group, replace(group.members[member_id], assignment=assignment))
        group = sync_answered(group, member_id, _assignment(group, member_id), now_ms)
    return group


def _assignment(group: Group, member_id: str) -> SyncAnswer:
    return SyncAnswer(
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        assignment=group.members[member_id].assignment,
    )
