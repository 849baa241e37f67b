"""ConsumerGroupHeartbeat: a member joins, lives, changes what it reads, and leaves."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.assigning import ASSIGNORS, assigned
from kgitops.serve.groups.consumers.group import (
    LEAVES,
    LEAVES_FOR_A_WHILE,
    NOTHING,
    ConsumerMember,
    HeartbeatAnswer,
    ModernGroup,
    Partitions,
    ReadTopic,
    ReconciledState,
    with_consumer,
    without_consumer,
)
from kgitops.serve.groups.consumers.reconciling import reconciled
from kgitops.serve.groups.group import static_member
from kgitops.serve.groups.settings import GroupSettings

FindTopics = Callable[[frozenset[str]], Mapping[str, ReadTopic]]
"""Finds the topics of these names that exist."""


class ConsumerHeartbeat(Struct, frozen=True, kw_only=True):
    """A ConsumerGroupHeartbeat; None for what has not changed since the last one."""

    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] | None = None
    pattern: str | None = None
    matched: frozenset[str] = frozenset()
    """The topics that the member's pattern, this one or the one told before, matches now."""
    assignor: str | None = None
    owned: Partitions | None = None

    @property
    def tells_all(self) -> bool:
        """True if the member has lost an answer, and wants its whole assignment."""
        subscribes = self.topics is not None or self.pattern is not None
        return self.rebalance_timeout_ms >= 0 and subscribes and self.owned is not None


class FencedError(Exception):
    """The heartbeat is refused."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.answer = HeartbeatAnswer(error=code, message=message)


def check_heartbeat(group_id: str, request: ConsumerHeartbeat) -> None:
    """Refuse what no member may send, in Kafka's words.

    Raises:
        FencedError: it is such a request.
    """
    first = request.epoch == 0
    problems = [
        (not group_id, "GroupId can't be empty."),
        (request.instance_id == "", "InstanceId can't be empty."),
        (request.rack_id == "", "RackId can't be empty."),
        (not request.member_id, "MemberId can't be empty."),
        (request.epoch < LEAVES_FOR_A_WHILE, "MemberEpoch is invalid."),
        (
            request.epoch == LEAVES_FOR_A_WHILE and request.instance_id is None,
            "InstanceId can't be null.",
        ),
        (
            first and request.rebalance_timeout_ms == -1,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (first and request.owned != NOTHING, "TopicPartitions must be empty when (re-)joining."),
        (
            first and request.topics is None and request.pattern is None,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining.",
        ),
    ]
    for wrong, message in problems:
        if wrong:
            raise FencedError(ErrorCode.INVALID_REQUEST, message)
    if request.assignor is not None and request.assignor not in ASSIGNORS:
        known = ", ".join(ASSIGNORS)
        raise FencedError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: {known}.",
        )


def consumer_heartbeat(
    group: ModernGroup,
    request: ConsumerHeartbeat,
    find: FindTopics,
    now_ms: int,
    settings: GroupSettings,
) -> tuple[ModernGroup, HeartbeatAnswer]:
    """The group after a heartbeat, and its answer (``consumerGroupHeartbeat``).

    Raises:
        FencedError: the member is not, or no longer, in the group.
    """
    if request.epoch in {LEAVES, LEAVES_FOR_A_WHILE}:
        return _leave(group, request, now_ms, settings)
    if request.epoch == 0:
        group, member = _joining(group, request, settings)
    else:
        member = _checked(group, request)
    group = retargeted(with_subscription(group, member, request), find)
    updated = reconciled(group, group.members[request.member_id], request.owned, now_ms)
    updated = replace(updated, expires_ms=now_ms + settings.consumer_session_timeout_ms)
    tells = request.epoch == 0 or request.tells_all or updated.assigned != member.assigned
    return with_consumer(group, updated), HeartbeatAnswer(
        member_id=updated.id, epoch=updated.epoch, assigned=updated.assigned if tells else None
    )


def retargeted(group: ModernGroup, find: FindTopics) -> ModernGroup:
    """The group with a target for its members and the topics that exist now."""
    topics = find(group.subscribed)
    if topics != group.topics and group.target_epoch == group.epoch:
        group = replace(group, epoch=group.epoch + 1)
    return assigned(group, topics) if group.target_epoch < group.epoch else group


def _joining(
    group: ModernGroup, request: ConsumerHeartbeat, settings: GroupSettings
) -> tuple[ModernGroup, ConsumerMember]:
    """The group with a member that is new, or begins again: it has no partitions."""
    static = static_member(group.members, request.instance_id)
    if static is not None and static.id != request.member_id:
        if static.epoch != LEAVES_FOR_A_WHILE and static.classic is None:
            raise FencedError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {static.id} with instance id {static.instance_id} was not removed "
                "from the group. Release it first.",
            )
        return with_replaced(group, static, request.member_id)
    known = group.members.get(request.member_id)
    if known is None and len(group.members) >= settings.consumer_max_size:
        raise FencedError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of "
            f"{settings.consumer_max_size} members.",
        )
    member = known or ConsumerMember(id=request.member_id, instance_id=request.instance_id)
    member = replace(
        member,
        epoch=0,
        previous_epoch=-1,
        state=ReconciledState.STABLE,
        assigned=NOTHING,
        revoking=NOTHING,
        revoked_by_ms=None,
    )
    if known is None:
        group = replace(group, epoch=group.epoch + 1)
    return with_consumer(group, member), member


def with_replaced(
    group: ModernGroup, static: ConsumerMember, member_id: str
) -> tuple[ModernGroup, ConsumerMember]:
    """A static member came back as another process: it has what was kept for it."""
    member = replace(static, id=member_id, epoch=0, previous_epoch=-1)
    members = {key: item for key, item in group.members.items() if key != static.id}
    target = {key: item for key, item in group.target.items() if key != static.id}
    return (
        replace(
            group,
            members={**members, member_id: member},
            target={**target, member_id: group.target.get(static.id, NOTHING)},
        ),
        member,
    )


def _known(group: ModernGroup, request: ConsumerHeartbeat) -> ConsumerMember:
    member = group.members.get(request.member_id)
    if request.instance_id is not None:
        static = static_member(group.members, request.instance_id)
        if static is not None and static.id != request.member_id:
            raise FencedError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {request.member_id} with instance id {request.instance_id} was "
                f"fenced by member {static.id}.",
            )
    if member is None:
        raise FencedError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not a member of the group."
        )
    return member


def _checked(group: ModernGroup, request: ConsumerHeartbeat) -> ConsumerMember:
    member = _known(group, request)
    if request.epoch == member.epoch:
        return member
    kept = request.owned is not None and request.owned <= member.assigned
    if request.epoch == member.previous_epoch and kept:
        return member  # The answer with the newer epoch was lost.
    greater = "greater" if request.epoch > member.epoch else "smaller"
    raise FencedError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {greater} member epoch ({request.epoch}) than the one "
        f"known by the group coordinator ({member.epoch}). The member must abandon all its "
        "partitions and rejoin.",
    )


def with_subscription(
    group: ModernGroup, member: ConsumerMember, request: ConsumerHeartbeat
) -> ModernGroup:
    """The group with what the request says of its member; a new subscription raises the epoch."""
    timeout_ms = request.rebalance_timeout_ms
    updated = replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms < 0 else timeout_ms,
        topics=member.topics if request.topics is None else request.topics,
        pattern=member.pattern if request.pattern is None else request.pattern,
        matched=request.matched,
        assignor=request.assignor or member.assignor,
        classic=None,
    )
    changed = (updated.reads, updated.assignor) != (member.reads, member.assignor)
    if changed and group.target_epoch == group.epoch:
        group = replace(group, epoch=group.epoch + 1)
    return with_consumer(group, updated)


def _leave(
    group: ModernGroup, request: ConsumerHeartbeat, now_ms: int, settings: GroupSettings
) -> tuple[ModernGroup, HeartbeatAnswer]:
    member = _known(group, request)
    answer = HeartbeatAnswer(member_id=member.id, epoch=request.epoch)
    if request.epoch == LEAVES:
        return without_consumer(group, member.id), answer
    away = replace(
        member,
        epoch=LEAVES_FOR_A_WHILE,
        revoking=NOTHING,
        revoked_by_ms=None,
        expires_ms=now_ms + settings.consumer_session_timeout_ms,
    )
    return with_consumer(group, away), answer
