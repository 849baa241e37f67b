"""LeaveGroup: members leave, or are removed by an admin client (KIP-345)."""

from collections.abc import Sequence

from msgspec import Struct

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.checks import member_error
from kgitops.serve.groups.group import NO_MEMBER, Group
from kgitops.serve.groups.rebalancing import completed_if_joined, rebalanced, without_members


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
        static = group.static_member(member.instance_id)
        if static is None:
            return NO_MEMBER, ErrorCode.UNKNOWN_MEMBER_ID
        return static.id, ErrorCode.NONE
    if member.member_id in group.pending:
        return member.member_id, ErrorCode.NONE
    return member.member_id, member_error(group, member.member_id, member.instance_id)
