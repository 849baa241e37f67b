"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848)."""

import asyncio
import uuid
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.groups.groups import coordinated
from kgitops.serve.answers.values import (
    NOT_ASKED_FOR,
    operation_bits,
    topic_id_bytes,
    topic_id_text,
)
from kgitops.serve.call import ApiCall
from kgitops.serve.groups.consumers.group import (
    ConsumerMember,
    HeartbeatAnswer,
    ModernGroup,
    Partitions,
    ReadTopic,
)
from kgitops.serve.groups.consumers.heartbeats import (
    ConsumerHeartbeat,
    FencedError,
    check_heartbeat,
)
from kgitops.serve.groups.consumers.patterns import matching
from kgitops.serve.patterns import InvalidPatternError
from kgitops.wire import messages
from kgitops.wire.messages import Message

_CLASSIC, _CONSUMER = 0, 1
"""The type of a member that speaks the classic protocol, and of one that speaks KIP-848."""
_UNSEEN = "The group has described topic(s) that the client is not authorized to describe."


async def consumer_group_heartbeat(call: ApiCall, request: Message) -> Message:
    """A member joins, lives or leaves, and is told its partitions when they change."""
    response = messages.ConsumerGroupHeartbeatResponse
    answer = await _beat(call, request)
    assignment = None
    if answer.assigned is not None:
        row = response.TopicPartitions
        assignment = response.Assignment(
            topic_partitions=[
                row(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in by_topic(answer.assigned).items()
            ]
        )
    interval_ms = call.cluster.groups.settings.consumer_heartbeat_interval_ms
    return response(
        error_code=answer.error,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=0 if answer.error else interval_ms,
        assignment=assignment,
    )


def consumer_group_describe(call: ApiCall, request: Message) -> Message:
    """The members of groups of KIP-848; of others clients ask DescribeGroups."""
    operations = request.include_authorized_operations
    ids = dict.fromkeys(request.group_ids)
    return messages.ConsumerGroupDescribeResponse(
        groups=[_described(call, group, operations=operations) for group in ids]
    )


async def _beat(call: ApiCall, request: Message) -> HeartbeatAnswer:
    physical, error = coordinated(call, request.group_id, Operation.READ)
    beat = _heartbeat(call, request)
    if error is not ErrorCode.GROUP_AUTHORIZATION_FAILED:
        try:
            check_heartbeat(request.group_id, beat)
        except FencedError as problem:
            return problem.answer
    if error is ErrorCode.NONE and not _sees_all(call, beat.topics or ()):
        error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if error is ErrorCode.NONE:
        try:
            beat = await _matched(call, physical, beat)
        except InvalidPatternError as problem:
            invalid = ErrorCode.INVALID_REGULAR_EXPRESSION
            return HeartbeatAnswer(error=invalid, message=str(problem))
    if error is not ErrorCode.NONE:
        return HeartbeatAnswer(error=error)
    return await call.cluster.groups.consumer_heartbeat(
        physical,
        beat,
        lambda names: group_topics(call, names),
        lambda: call.decide(lambda: call.admin.create_group(request.group_id).code),
    )


def _heartbeat(call: ApiCall, request: Message) -> ConsumerHeartbeat:
    names, owned = request.subscribed_topic_names, request.topic_partitions
    # In version 0 the coordinator may be left to give a new member its id.
    new_id = str(uuid.uuid4()) if call.version == 0 and request.member_epoch == 0 else ""
    return ConsumerHeartbeat(
        member_id=request.member_id or new_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        client_id=call.client_id or "",
        client_host=f"/{call.host}",
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=None if names is None else frozenset(names),
        pattern=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=None
        if owned is None
        else frozenset((row.topic_id, item) for row in owned for item in row.partitions),
    )


async def _matched(call: ApiCall, physical: str, beat: ConsumerHeartbeat) -> ConsumerHeartbeat:
    """The heartbeat with the topics that its member's pattern matches, of those it may see."""
    held = call.cluster.groups.consumers.group(physical)
    member = held.members.get(beat.member_id) if held else None
    pattern = member.pattern if beat.pattern is None and member else beat.pattern
    if not pattern:
        return beat
    seen = frozenset(topic.name or "" for topic in call.admin.find_topics(None).topics)
    # With many topics it takes its time.
    return replace(beat, matched=await asyncio.to_thread(matching, pattern, seen))


def _sees_all(call: ApiCall, names: Iterable[str]) -> bool:
    allowed = call.admin.allowed_operations(ResourceType.TOPIC, names)
    return all(Operation.DESCRIBE in operations for operations in allowed.values())


def group_topics(call: ApiCall, names: Iterable[str]) -> Mapping[str, ReadTopic]:
    """The topics of these names that exist, by the names that the group's members have."""
    found = call.admin.group_topics(names)
    return {name: ReadTopic(topic_id_bytes(id_), count) for name, (id_, count) in found.items()}


def by_topic(partitions: Partitions) -> Mapping[bytes, list[int]]:
    """The partitions of each topic, in order."""
    found: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        found.setdefault(topic_id, []).append(partition)
    return found


def _described(call: ApiCall, group: str, *, operations: bool) -> Message:
    row = messages.ConsumerGroupDescribeResponse.DescribedGroup
    physical, error = coordinated(call, group, Operation.DESCRIBE)
    if error is ErrorCode.NONE and not group:
        error = ErrorCode.INVALID_GROUP_ID
    if error is not ErrorCode.NONE:
        return row(group_id=group, error_code=error)
    held = call.cluster.groups.consumers.group(physical)
    known = call.admin.describe_groups([group])[group].result.ok
    if held is None or not known:
        text = f"Group {group} {'is not a consumer group' if known else 'not found'}."
        return row(group_id=group, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=text)
    names = _names(call, held)
    if names is None:
        return row(
            group_id=group,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=_UNSEEN,
        )
    allowed = call.admin.allowed_operations(ResourceType.GROUP, [group])[group]
    return row(
        group_id=group,
        group_state=held.state,
        group_epoch=held.epoch,
        assignment_epoch=held.target_epoch,
        assignor_name=held.assignor,
        members=[_member(held, member, names) for member in held.members.values()],
        authorized_operations=operation_bits(allowed) if operations else NOT_ASKED_FOR,
    )


def _names(call: ApiCall, group: ModernGroup) -> Mapping[bytes, str] | None:
    """The client's names of all topics that members have; None if it may not see one."""
    held = [partitions for member in group.members.values() for partitions in (member.held,)]
    ids = {topic_id for partitions in (*held, *group.target.values()) for topic_id, _ in partitions}
    existing = {topic.id for topic in group.topics.values()}
    known = call.admin.topic_names(map(topic_id_text, ids))
    names = {topic_id_bytes(topic_id): name for topic_id, name in known.items()}
    return names if (ids & existing) <= names.keys() else None


def _member(group: ModernGroup, member: ConsumerMember, names: Mapping[bytes, str]) -> Message:
    return messages.ConsumerGroupDescribeResponse.Member(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern or None,
        assignment=_assignment(member.assigned, names),
        target_assignment=_assignment(group.target.get(member.id, frozenset()), names),
        member_type=_CLASSIC if member.classic else _CONSUMER,
    )


def _assignment(partitions: Partitions, names: Mapping[bytes, str]) -> Message:
    response = messages.ConsumerGroupDescribeResponse
    row = response.TopicPartitions
    return response.Assignment(
        topic_partitions=[
            row(topic_id=topic_id, topic_name=names[topic_id], partitions=items)
            for topic_id, items in by_topic(partitions).items()
            if topic_id in names
        ]
    )
