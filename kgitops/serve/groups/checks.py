"""Checks on the member that sends a request and on its generation; Heartbeat is just that."""

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.group import NO_GENERATION, NO_MEMBER, Group, kept_alive, member_error


def generation_error(
    group: Group, member_id: str, instance_id: str | None, generation: int
) -> ErrorCode:
    """The error of who is not a member of the current generation."""
    error = member_error(group.members, member_id, instance_id)
    if error is ErrorCode.NONE and generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def commit_error(
    group: Group | None,
    member_id: str,
    instance_id: str | None,
    generation: int,
    *,
    transactional: bool = False,
) -> ErrorCode:
    """The error of who may not commit offsets of the group now; None: no member ever joined it.

    Whoever names neither member nor generation commits for a group without members: an admin
    client, or a consumer that assigns itself partitions. A transaction may do so always.
    """
    if group is None:
        stale = generation > NO_GENERATION
        return ErrorCode.ILLEGAL_GENERATION if stale else ErrorCode.NONE
    if generation <= NO_GENERATION and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if generation > NO_GENERATION or member_id != NO_MEMBER or instance_id is not None:
        error = generation_error(group, member_id, instance_id, generation)
        if error is not ErrorCode.NONE:
            return error
    elif not transactional and group.state is not GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not transactional and group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def heartbeat(
    group: Group, member_id: str, instance_id: str | None, generation: int, now_ms: int
) -> tuple[Group, ErrorCode]:
    """The group after a heartbeat, and its answer (``classicGroupHeartbeat``)."""
    error = generation_error(group, member_id, instance_id, generation)
    if error is not ErrorCode.NONE:
        return group, error
    preparing = group.state is GroupState.PREPARING_REBALANCE
    error = ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE
    return kept_alive(group, member_id, now_ms), error
