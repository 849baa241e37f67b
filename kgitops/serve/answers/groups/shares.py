"""ShareGroupHeartbeat, ShareGroupDescribe and the requests about a share group's offsets (KIP-932).

A group is in the store, as others are; all else of it is in memory. After a restart a stored group
without committed offsets becomes the share group of the first member that joins it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from kgitops.cluster.embedded.client.partitions import TopicAccess
from kgitops.cluster.embedded.effective.groups import group_entries
from kgitops.cluster.embedded.image.records import GROUP
from kgitops.cluster.embedded.store.batches import LEADER_EPOCH, PartitionKey
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.groups.consumers import by_topic, group_topics
from kgitops.serve.answers.groups.groups import coordinated
from kgitops.serve.answers.values import (
    NOT_ASKED_FOR,
    operation_bits,
    topic_id_bytes,
    topic_id_text,
)
from kgitops.serve.call import ApiCall
from kgitops.serve.data.data_plane import Place
from kgitops.serve.groups.consumers.group import LEAVES, NOTHING, Partition
from kgitops.serve.groups.share_groups import (
    ASSIGNOR,
    MemberSettings,
    ShareError,
    ShareGroup,
    ShareMember,
    check_heartbeat,
    heartbeat,
)
from kgitops.serve.groups.share_partition import ShareLimits, SharePartition, move_start
from kgitops.wire import messages
from kgitops.wire.messages import Message

T = TypeVar("T")

_UNSEEN = "The group has described topic(s) that the client is not authorized to describe."
_NOT_EMPTY = "The group is not empty."
_NO_PARTITION = "This server does not host this topic-partition."
_UNKNOWN = -1
"""The offset and the lag of a partition whose records no member has fetched."""
_BY_DURATION = re.compile(
    r"by_duration:P(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d*)?)S)?)?",
    re.IGNORECASE,
)


class ShareSettings(Struct, frozen=True, kw_only=True):
    """The configs of a share group as a broker has them."""

    members: MemberSettings
    limits: ShareLimits
    reset: str
    """``share.auto.offset.reset``."""
    committed: bool
    """True if members see only what transactions have committed."""

    @property
    def reset_ms(self) -> int | None:
        """The age of the first record that the group is to read, if its start is given by that."""
        matched = _BY_DURATION.fullmatch(self.reset)
        if matched is None:
            return None
        days, hours, minutes, seconds = (float(part or 0) for part in matched.groups())
        return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)


def share_settings(call: ApiCall, physical: str) -> ShareSettings:
    """The configs in effect of the group with this physical id."""
    entries = call.cluster.controller.read(
        lambda draft: group_entries(
            draft, draft.delta.configs.of(GROUP, physical), str(call.node.id)
        ),
        call.image(),
        principal=call.principal,
        host=call.host,
        client_id=call.client_id,
    )

    def value(key: str) -> str:
        return (entries[f"share.{key}"].value or "").strip().lower()

    return ShareSettings(
        members=MemberSettings(
            session_timeout_ms=int(value("session.timeout.ms")),
            heartbeat_interval_ms=int(value("heartbeat.interval.ms")),
            max_size=call.cluster.groups.settings.share_max_size,
        ),
        limits=ShareLimits(
            delivery_count=int(value("delivery.count.limit")),
            record_locks=int(value("partition.max.record.locks")),
            lock_ms=int(value("record.lock.duration.ms")),
            renews=value("renew.acknowledge.enable") == "true",
        ),
        reset=value("auto.offset.reset"),
        committed=value("isolation.level") == "read_committed",
    )


async def share_group_heartbeat(call: ApiCall, request: Message) -> Message:
    """A member joins, lives or leaves, and gets its partitions when they change."""
    response = messages.ShareGroupHeartbeatResponse
    try:
        physical = _coordinated(call, request.group_id, Operation.READ)
        check_heartbeat(request)
        _check_described(call, request.subscribed_topic_names or ())
        settings = share_settings(call, physical).members
        member, tells = await _beat(call, physical, request, settings)
    except ShareError as error:
        return response(error_code=error.code, error_message=error.message)
    if member is None:
        return response(member_id=request.member_id, member_epoch=request.member_epoch)
    row = response.TopicPartitions
    assignment = response.Assignment(
        topic_partitions=[
            row(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in by_topic(member.assigned).items()
        ]
    )
    return response(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=settings.heartbeat_interval_ms,
        assignment=assignment if tells else None,
    )


async def share_group_describe(call: ApiCall, request: Message) -> Message:
    """The members of share groups."""
    operations = request.include_authorized_operations
    row = messages.ShareGroupDescribeResponse.DescribedGroup
    rows = []
    for group in dict.fromkeys(request.group_ids):
        try:
            rows.append(_described(call, group, operations=operations))
        except ShareError as error:
            rows.append(row(group_id=group, error_code=error.code, error_message=error.message))
    return messages.ShareGroupDescribeResponse(groups=rows)


async def describe_share_group_offsets(call: ApiCall, request: Message) -> Message:
    """The start offsets of a group's partitions, and how many records are behind them."""
    response = messages.DescribeShareGroupOffsetsResponse
    row = response.DescribeShareGroupOffsetsResponseGroup
    rows = []
    for group in request.groups:
        try:
            physical = _coordinated(call, group.group_id, Operation.DESCRIBE)
            topics = await _described_offsets(call, physical, group.topics)
            rows.append(row(group_id=group.group_id, topics=topics))
        except ShareError as error:
            rows.append(
                row(group_id=group.group_id, error_code=error.code, error_message=error.message)
            )
    return response(groups=rows)


async def alter_share_group_offsets(call: ApiCall, request: Message) -> Message:
    """Move the start offsets of a group without members; one result for each partition."""
    response = messages.AlterShareGroupOffsetsResponse
    try:
        physical = _coordinated(call, request.group_id, Operation.READ)
        _check_group_id(request.group_id)
        access = call.admin.authorize_topics(
            Operation.READ, [topic.topic_name for topic in request.topics]
        )
        limits = share_settings(call, physical).limits
        await _in_group(
            call,
            request.group_id,
            physical,
            lambda: _alter(call, physical, request, access, limits),
        )
    except ShareError as error:
        return response(error_code=error.code, error_message=error.message)
    row = response.AlterShareGroupOffsetsResponseTopic
    part = response.AlterShareGroupOffsetsResponsePartition
    return response(
        responses=[
            row(
                topic_name=topic.topic_name,
                topic_id=_id_of(access[topic.topic_name]),
                partitions=[
                    part(
                        partition_index=partition.partition_index,
                        error_code=code,
                        error_message=_message_of(code),
                    )
                    for partition in topic.partitions
                    for code in [_error_of(access[topic.topic_name], partition.partition_index)]
                ],
            )
            for topic in request.topics
        ]
    )


async def delete_share_group_offsets(call: ApiCall, request: Message) -> Message:
    """Forget the state of topics in a group without members; one result for each topic."""
    response = messages.DeleteShareGroupOffsetsResponse
    try:
        physical = _coordinated(call, request.group_id, Operation.DELETE)
        _check_group_id(request.group_id)
        group = _existing(call, request.group_id, physical)
        _check_empty(group)
    except ShareError as error:
        return response(error_code=error.code, error_message=error.message)
    names = [topic.topic_name for topic in request.topics]
    access = call.admin.authorize_topics(Operation.READ, names)
    ids = {_id_of(access[name]) for name in names if access[name].topic is not None}
    deleted = [partition for partition in group.known if partition[0] in ids]
    shares = call.cluster.groups.shares
    shares.forget_partitions(physical, [_key(partition) for partition in deleted])
    shares.keep(physical, group.without_partitions(deleted))
    row = response.DeleteShareGroupOffsetsResponseTopic
    return response(
        responses=[
            row(
                topic_name=name,
                topic_id=_id_of(access[name]),
                error_code=access[name].result.code,
                error_message=_message_of(access[name].result.code),
            )
            for name in names
        ]
    )


def _coordinated(call: ApiCall, group: str, operation: Operation) -> str:
    physical, error = coordinated(call, group, operation)
    if error is not ErrorCode.NONE:
        raise ShareError(error)
    return physical


def _check_group_id(group: str) -> None:
    if not group:
        raise ShareError(ErrorCode.INVALID_GROUP_ID)


def _check_described(call: ApiCall, names: Iterable[str]) -> None:
    allowed = call.admin.allowed_operations(ResourceType.TOPIC, names)
    if not all(Operation.DESCRIBE in operations for operations in allowed.values()):
        raise ShareError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _existing(call: ApiCall, group_id: str, physical: str, word: str = "Group") -> ShareGroup:
    group = call.cluster.groups.shares.group(physical)
    if group is None:
        known = call.admin.describe_groups([group_id])[group_id].result.ok
        other, missing = f"Group {group_id} is not a share group.", f"{word} {group_id} not found."
        raise ShareError(ErrorCode.GROUP_ID_NOT_FOUND, other if known else missing)
    return group


def _check_empty(group: ShareGroup) -> None:
    if group.members:
        raise ShareError(ErrorCode.NON_EMPTY_GROUP, _NOT_EMPTY)


async def _in_group(call: ApiCall, group_id: str, physical: str, change: Callable[[], T]) -> T:
    """Change a share group, which is made if no group has its id."""

    def create() -> ErrorCode:
        stored = call.cluster.controller.recent_image().groups.groups.get(physical)
        if stored is not None and stored.committed:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return call.admin.create_group(group_id).code

    groups = call.cluster.groups
    try:
        return await groups.in_share_group(physical, lambda: call.decide(create), change)
    except ShareError as error:
        if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
            error.message = f"Group {group_id} is not a share group."
        raise


async def _beat(
    call: ApiCall, physical: str, request: Message, settings: MemberSettings
) -> tuple[ShareMember | None, bool]:
    """The member after its heartbeat, None once it has left; and if it gets its partitions."""
    shares = call.cluster.groups.shares

    def beat() -> tuple[ShareMember | None, bool]:
        word = "Group" if request.member_epoch == LEAVES else "Share group"
        group = _existing(call, request.group_id, physical, word)
        client = call.client_id or "", f"/{call.host}"
        now_ms = shares.now_ms()
        changed = heartbeat(
            group, request, client, lambda names: group_topics(call, names), now_ms, settings
        )
        shares.keep(physical, changed)
        before = group.members.get(request.member_id)
        after = changed.members.get(request.member_id)
        joins = request.member_epoch == 0 or request.subscribed_topic_names is not None
        moved = before is not None and after is not None and before.assigned != after.assigned
        return after, joins or moved

    if request.member_epoch != 0:
        return beat()
    return await _in_group(call, request.group_id, physical, beat)


def _described(call: ApiCall, group_id: str, *, operations: bool) -> Message:
    response = messages.ShareGroupDescribeResponse
    physical = _coordinated(call, group_id, Operation.DESCRIBE)
    _check_group_id(group_id)
    group = _existing(call, group_id, physical)
    assigned = NOTHING.union(*(member.assigned for member in group.members.values()))
    ids = {topic_id for topic_id, _ in assigned}
    known = call.admin.topic_names(map(topic_id_text, ids))
    names = {topic_id_bytes(topic_id): name for topic_id, name in known.items()}
    existing = {topic.id for topic in group.topics.values()}
    allowed = call.admin.allowed_operations(ResourceType.TOPIC, names.values())
    seen = all(Operation.DESCRIBE in item for item in allowed.values())
    if not seen or not (ids & existing) <= names.keys():
        raise ShareError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, _UNSEEN)
    own = call.admin.allowed_operations(ResourceType.GROUP, [group_id])[group_id]
    row = response.TopicPartitions
    return response.DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.epoch,
        assignor_name=ASSIGNOR,
        members=[
            response.Member(
                member_id=member.id,
                rack_id=member.rack_id,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=sorted(member.topics),
                assignment=response.Assignment(
                    topic_partitions=[
                        row(topic_id=topic_id, topic_name=names[topic_id], partitions=partitions)
                        for topic_id, partitions in by_topic(member.assigned).items()
                        if topic_id in names
                    ]
                ),
            )
            for member in group.members.values()
        ],
        authorized_operations=operation_bits(own) if operations else NOT_ASKED_FOR,
    )


async def _described_offsets(
    call: ApiCall, physical: str, topics: Sequence[Message] | None
) -> list[Message]:
    """The rows of the topics of a request; without one, of all that the client may see."""
    group = call.cluster.groups.shares.group(physical)
    if topics is None:
        asked = _known_partitions(call, group)
    else:
        asked = {topic.topic_name: topic.partitions for topic in topics}
    access = call.admin.authorize_topics(Operation.DESCRIBE, asked)
    response = messages.DescribeShareGroupOffsetsResponse
    rows = []
    for name, partitions in asked.items():
        code = access[name].result.code
        denied = code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if denied and topics is None:
            continue
        rows.append(
            response.DescribeShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=_id_of(access[name]),
                partitions=[
                    response.DescribeShareGroupOffsetsResponsePartition(
                        partition_index=partition, start_offset=_UNKNOWN, error_code=code
                    )
                    if denied
                    else await _described_offset(call, physical, access[name], partition)
                    for partition in partitions
                ],
            )
        )
    return rows


def _known_partitions(call: ApiCall, group: ShareGroup | None) -> Mapping[str, Sequence[int]]:
    known = by_topic(group.known) if group is not None else {}
    names = call.admin.topic_names(map(topic_id_text, known))
    return {name: known[topic_id_bytes(topic_id)] for topic_id, name in names.items()}


async def _described_offset(
    call: ApiCall, physical: str, access: TopicAccess, partition: int
) -> Message:
    row = messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition, start_offset=_UNKNOWN
    )
    topic = access.topic
    if topic is None:  # Kafka takes it for one that nobody has read
        return row
    state = call.cluster.groups.shares.partitions(physical).get((topic.topic_id, partition))
    if state is None:
        return row
    (view,) = await call.cluster.data.views([Place(topic, partition)])
    if view is None:
        return row
    state = move_start(state, view.start)
    row.start_offset, row.leader_epoch = state.start, LEADER_EPOCH
    row.lag = view.end - state.start - state.complete
    return row


def _alter(
    call: ApiCall,
    physical: str,
    request: Message,
    access: Mapping[str, TopicAccess],
    limits: ShareLimits,
) -> None:
    shares = call.cluster.groups.shares
    group = shares.create(physical)
    _check_empty(group)
    altered = []
    for topic in request.topics:
        for partition in topic.partitions:
            index = partition.partition_index
            if _error_of(access[topic.topic_name], index) is ErrorCode.NONE:
                altered.append((_id_of(access[topic.topic_name]), index))
                start = SharePartition(start=partition.start_offset)
                shares.keep_partition(physical, _key(altered[-1]), start, limits)
    shares.keep(physical, group.with_partitions(altered))


def _error_of(access: TopicAccess, partition: int) -> ErrorCode:
    if access.topic is None:
        return access.result.code
    known = 0 <= partition < len(access.topic.assignment)
    return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _message_of(code: ErrorCode) -> str | None:
    return _NO_PARTITION if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else None


def _id_of(access: TopicAccess) -> bytes:
    return topic_id_bytes(access.topic.topic_id if access.topic else None)


def _key(partition: Partition) -> PartitionKey:
    return topic_id_text(partition[0]), partition[1]
