"""Members leave or are removed (LeaveGroup, KIP-345), or time alone ends sessions and phases."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.group import NO_MEMBER, Group, member_error, static_member
from kgitops.serve.groups.rebalancing import (
    completed_if_joined,
    joined,
    prepared,
    rebalanced,
    without_members,
)
from kgitops.serve.groups.settings import GroupSettings


def next_deadline_ms(group: Group) -> int | None:
    """The next time at which something happens to the group by itself."""
    sessions = [item.expires_ms for item in group.members.values() if not item.waits]
    phases = [group.join_deadline_ms, group.sync_deadline_ms]
    times = [*sessions, *group.pending.values(), *(time for time in phases if time is not None)]
    return min(times, default=None)


def expired(group: Group, now_ms: int, settings: GroupSettings) -> Group:
    """The group after all that was to happen until now."""
    group = _without_dead_members(group, now_ms)
    if group.join_deadline_ms is not None and group.join_deadline_ms <= now_ms:
        group = _end_of_joining(group, now_ms, settings)
    if group.sync_deadline_ms is not None and group.sync_deadline_ms <= now_ms:
        # Members that do not fetch their assignments keep the others from going on.
        group = prepared(without_members(group, group.unsynced), now_ms)
    return group


def _without_dead_members(group: Group, now_ms: int) -> Group:
    for member in list(group.members.values()):
        if not member.waits and member.expires_ms <= now_ms and member.id in group.members:
            group = without_members(group, [member.id])
            group = _completed(after_leaving(group, now_ms), now_ms)
    dead = [key for key, expires_ms in group.pending.items() if expires_ms <= now_ms]
    return _completed(without_members(group, dead), now_ms) if dead else group


def _completed(group: Group, now_ms: int) -> Group:
    preparing = group.state is GroupState.PREPARING_REBALANCE
    return joined(group, now_ms) if preparing and group.all_joined else group


def _end_of_joining(group: Group, now_ms: int, settings: GroupSettings) -> Group:
    """A first rebalance waits on while members come, within the time that they may take."""
    if group.begins and group.grew and group.more_delay_ms:
        delay_ms = min(settings.initial_delay_ms, group.more_delay_ms)
        return replace(
            group,
            grew=False,
            join_deadline_ms=now_ms + delay_ms,
            more_delay_ms=group.more_delay_ms - delay_ms,
        )
    return joined(group, now_ms)


class Leaving(Struct, frozen=True, kw_only=True):
    """One member that leaves; an admin client names a static one by its instance id alone."""

    member_id: str = NO_MEMBER
    instance_id: str | None = None


def leave(
    group: Group, members: Sequence[Leaving], now_ms: int
) -> tuple[Group, Sequence[ErrorCode]]:
    """The group after members have left, and an answer for each (``classicGroupLeave``)."""
    errors = []
    for member in members:
        leaves, error = _leaves(group, member)
        errors.append(error)
        if error is ErrorCode.NONE:
            group = without_members(group, [leaves])
    if ErrorCode.NONE in errors:
        group = after_leaving(group, now_ms)
    return group, errors


def after_leaving(group: Group, now_ms: int) -> Group:
    """The group once it has fewer members: the others share what is free now."""
    if group.state in {GroupState.STABLE, GroupState.COMPLETING_REBALANCE}:
        return rebalanced(group, now_ms)
    return completed_if_joined(group, now_ms)


def _leaves(group: Group, member: Leaving) -> tuple[str, ErrorCode]:
    """The id of the member that leaves, and the error if there is none."""
    if member.member_id == NO_MEMBER:
        static = static_member(group.members, member.instance_id)
        if static is None:
            return NO_MEMBER, ErrorCode.UNKNOWN_MEMBER_ID
        return static.id, ErrorCode.NONE
    if member.member_id in group.pending:
        return member.member_id, ErrorCode.NONE
    return member.member_id, member_error(group.members, member.member_id, member.instance_id)
