"""Members that speak the classic protocol in a group of KIP-848, while it is being migrated.

They join, sync, send heartbeats and leave as in a classic group, but the coordinator assigns: no
member leads, and nobody waits for others. A rebalance is a member's own: a heartbeat tells it to
join again until it has its target.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.group import (
    NOTHING,
    ClassicSession,
    ConsumerMember,
    ModernGroup,
    Partitions,
    ReconciledState,
    with_consumer,
    without_consumer,
)
from kgitops.serve.groups.consumers.heartbeats import (
    ConsumerHeartbeat,
    FindTopics,
    retargeted,
    with_replaced,
    with_subscription,
)
from kgitops.serve.groups.consumers.reconciling import reconciled, unreleased
from kgitops.serve.groups.embedded_protocol import CONSUMER, read_subscription, write_assignment
from kgitops.serve.groups.expiring import Leaving
from kgitops.serve.groups.group import (
    NO_MEMBER,
    JoinAnswer,
    SyncAnswer,
    member_error,
    static_member,
)
from kgitops.serve.groups.joining import Joining
from kgitops.serve.groups.settings import GroupSettings
from kgitops.serve.groups.syncing import Syncing
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import Message


def classic_join(
    group: ModernGroup, request: Joining, find: FindTopics, now_ms: int, settings: GroupSettings
) -> tuple[ModernGroup, JoinAnswer]:
    """Let a member join or join again (``classicGroupJoinToConsumerGroup``)."""
    member_id = request.member_id or request.new_member_id
    if member_id not in group.members and len(group.members) >= settings.consumer_max_size:
        return group, JoinAnswer(error=ErrorCode.GROUP_MAX_SIZE_REACHED)
    subscription = _subscription(group, request)
    if subscription is None:
        error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return group, JoinAnswer(error=error, member_id=request.member_id)
    dynamic = request.instance_id is None
    if request.member_id == NO_MEMBER and dynamic and request.must_know_its_id:
        return group, JoinAnswer(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
    error = ErrorCode.NONE if dynamic else _static_error(group, request)
    if error is not ErrorCode.NONE:
        return group, JoinAnswer(error=error, member_id=request.member_id)
    group, member = _joining(group, member_id, request.instance_id)
    group = _subscribed(group, member, request, subscription)
    group = retargeted(group, find)
    owned = _owned(subscription, find)
    updated = reconciled(group, group.members[member_id], owned, now_ms)
    updated = replace(
        updated,
        # A classic member gives up partitions by joining again, which has a time of its own.
        revoked_by_ms=None,
        expires_ms=now_ms + request.session_timeout_ms,
        classic=ClassicSession(
            timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
            sync_by_ms=now_ms + request.rebalance_timeout_ms,
        ),
    )
    return with_consumer(group, updated), JoinAnswer(
        member_id=member_id,
        generation=updated.epoch,
        protocol_type=CONSUMER,
        protocol=request.protocols[0][0],
    )


def classic_sync(
    group: ModernGroup, request: Syncing, now_ms: int
) -> tuple[ModernGroup, SyncAnswer]:
    """Let a member fetch its assignment (``classicGroupSyncToConsumerGroup``)."""
    error = _member_error(group, request.member_id, request.instance_id, request.generation)
    member = group.members.get(request.member_id)
    if member is None or member.classic is None or error is not ErrorCode.NONE:
        return group, SyncAnswer(error=error)
    protocol, metadata = member.classic.protocols[0]
    if request.protocol_type not in {None, CONSUMER} or request.protocol not in {None, protocol}:
        return group, SyncAnswer(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.epoch > member.epoch and member.state is not ReconciledState.UNREVOKED:
        group = with_consumer(group, _told_to_join(member, now_ms))
        return group, SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS)
    names = group.topic_names
    partitions = [(names[topic], item) for topic, item in member.assigned if topic in names]
    session = replace(member.classic, sync_by_ms=None)
    return with_consumer(group, _kept_alive(member, session, now_ms)), SyncAnswer(
        protocol_type=request.protocol_type,
        protocol=request.protocol,
        assignment=write_assignment(partitions, metadata),
    )


def classic_heartbeat(
    group: ModernGroup, member_id: str, instance_id: str | None, generation: int, now_ms: int
) -> tuple[ModernGroup, ErrorCode]:
    """Take a sign of life (``classicGroupHeartbeatToConsumerGroup``)."""
    error = _member_error(group, member_id, instance_id, generation)
    member = group.members.get(member_id)
    if member is None or member.classic is None or error is not ErrorCode.NONE:
        return group, error
    member = _kept_alive(member, member.classic, now_ms)
    match member.state:
        case _ if member.epoch < group.epoch:
            behind = True
        case ReconciledState.UNREVOKED:
            behind = True
        case ReconciledState.UNRELEASED:
            behind = not unreleased(group, member)
        case ReconciledState.STABLE:
            behind = False
    if behind:
        return with_consumer(group, _told_to_join(member, now_ms)), ErrorCode.REBALANCE_IN_PROGRESS
    return with_consumer(group, member), ErrorCode.NONE


def classic_leave(
    group: ModernGroup, members: Sequence[Leaving]
) -> tuple[ModernGroup, Sequence[ErrorCode]]:
    """Let members leave, with an answer for each (``classicGroupLeaveToConsumerGroup``)."""
    epoch = group.epoch + 1
    errors = []
    for leaving in members:
        member_id = leaving.member_id
        if member_id == NO_MEMBER:
            static = static_member(group.members, leaving.instance_id)
            member_id = static.id if static else NO_MEMBER
        error = _known_error(group, member_id, leaving.instance_id)
        errors.append(error)
        if error is ErrorCode.NONE:
            group = replace(without_consumer(group, member_id), epoch=epoch)
    return group, errors


def _subscription(group: ModernGroup, request: Joining) -> Message | None:
    """The topics that the request subscribes to; None if its protocols are not the group's."""
    classic = [item.classic for item in group.members.values() if item.classic]
    fits = any(
        all(name in dict(session.protocols) for session in classic) for name, _ in request.protocols
    )
    if request.protocol_type != CONSUMER or not fits:
        return None
    try:
        return read_subscription(request.protocols[0][1])
    except MalformedError:
        return None


def _static_error(group: ModernGroup, request: Joining) -> ErrorCode:
    """The error of a static member that names its id and is not, or no longer, that member."""
    if request.member_id == NO_MEMBER:
        return ErrorCode.NONE
    return member_error(group.members, request.member_id, request.instance_id)


def _known_error(group: ModernGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """The error of a request that does not come from a member with the classic protocol."""
    error = member_error(group.members, member_id, instance_id)
    if error is ErrorCode.NONE and group.members[member_id].classic is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return error


def _member_error(
    group: ModernGroup, member_id: str, instance_id: str | None, generation: int
) -> ErrorCode:
    error = _known_error(group, member_id, instance_id)
    if error is ErrorCode.NONE and generation != group.members[member_id].epoch:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def _joining(
    group: ModernGroup, member_id: str, instance_id: str | None
) -> tuple[ModernGroup, ConsumerMember]:
    static = static_member(group.members, instance_id)
    if static is not None and static.id != member_id:
        return with_replaced(group, static, member_id)
    if member_id in group.members:
        return group, group.members[member_id]
    member = ConsumerMember(id=member_id, instance_id=instance_id)
    return with_consumer(replace(group, epoch=group.epoch + 1), member), member


def _subscribed(
    group: ModernGroup, member: ConsumerMember, request: Joining, subscription: Message
) -> ModernGroup:
    heartbeat = ConsumerHeartbeat(
        member_id=member.id,
        epoch=member.epoch,
        rack_id=subscription.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=frozenset(subscription.topics),
        pattern="",
    )
    return with_subscription(group, member, heartbeat)


def _owned(subscription: Message, find: FindTopics) -> Partitions:
    """Partitions that a cooperative member keeps while it joins; others have given up all."""
    rows = subscription.owned_partitions
    if not rows:
        return NOTHING
    topics = find(frozenset(row.topic for row in rows))
    return frozenset(
        (topics[row.topic].id, item)
        for row in rows
        if row.topic in topics
        for item in row.partitions
    )


def _kept_alive(member: ConsumerMember, session: ClassicSession, now_ms: int) -> ConsumerMember:
    return replace(member, classic=session, expires_ms=now_ms + session.timeout_ms)


def _told_to_join(member: ConsumerMember, now_ms: int) -> ConsumerMember:
    session = member.classic
    if session is None or session.join_by_ms is not None:
        return member
    by_ms = now_ms + member.rebalance_timeout_ms
    return replace(member, classic=replace(session, join_by_ms=by_ms))
