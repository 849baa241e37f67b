"""Heartbeat: a member is alive, and learns of a rebalance."""

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.checks import generation_error
from kgitops.serve.groups.group import Group, kept_alive


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
