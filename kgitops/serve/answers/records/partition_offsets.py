"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

import asyncio
from collections.abc import Mapping
from enum import IntEnum
from itertools import count

from kgitops.cluster.embedded.client.partitions import TopicAccess
from kgitops.cluster.embedded.store.batches import LEADER_EPOCH
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.records.places import (
    PartitionError,
    find_place,
    looked_up,
    yield_to_event_loop,
)
from kgitops.serve.call import ApiCall
from kgitops.serve.data.data_plane import Place
from kgitops.serve.data.partition_log import LogView
from kgitops.serve.data.timestamps import NEWEST, find_timestamp
from kgitops.wire import messages
from kgitops.wire.messages import Message

_READ_COMMITTED = 1
_FIRST_WITH_EPOCH = 4
"""The version of ListOffsets that began to tell the epoch of an offset."""
_UNKNOWN_EPOCH = -1


class OffsetSpec(IntEnum):
    """The timestamps that stand for something else than a time."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = NEWEST
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


_FIRST_VERSIONS: Mapping[int, int] = {
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}


async def list_offsets(call: ApiCall, request: Message) -> Message:
    """The offset of a time in each partition, or of an end of it."""
    response = messages.ListOffsetsResponse
    image = call.image()
    committed = call.version >= 2 and request.isolation_level == _READ_COMMITTED
    names = {topic.name for topic in request.topics}
    found = await looked_up(
        request.topics, lambda: call.admin.authorize_topics(Operation.DESCRIBE, names)
    )
    topics: dict[str, dict[int, Message]] = {}
    steps = count()
    for topic in request.topics:
        await yield_to_event_loop(next(steps))
        if found[topic.name].result.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            topics.setdefault(topic.name, {})  # a row even where no partition is named
        for wanted in topic.partitions:
            await yield_to_event_loop(next(steps))
            index = wanted.partition_index
            again = index in topics.get(topic.name, ())
            row = response.ListOffsetsPartitionResponse(partition_index=index)
            epoch = wanted.current_leader_epoch
            access = found[topic.name]
            try:
                _check_asked(call, access, wanted.timestamp, again=again)
                place = find_place(call, image, access, index, epoch)
                await _fill(call, row, place, wanted.timestamp, committed=committed)
            except PartitionError as error:
                row.error_code = error.code
            if call.version < _FIRST_WITH_EPOCH:
                row.leader_epoch = _UNKNOWN_EPOCH
            topics.setdefault(topic.name, {})[index] = row
    return response(
        topics=[
            response.ListOffsetsTopicResponse(name=name, partitions=list(rows.values()))
            for name, rows in topics.items()
        ]
    )


async def offset_for_leader_epoch(call: ApiCall, request: Message) -> Message:
    """The end of each partition for the one epoch that there is, and none for others."""
    response = messages.OffsetForLeaderEpochResponse
    image = call.image()
    names = {topic.topic for topic in request.topics}
    found = await looked_up(
        request.topics, lambda: call.admin.authorize_topics(Operation.DESCRIBE, names)
    )
    topics, steps = [], count()
    for topic in request.topics:
        await yield_to_event_loop(next(steps))
        rows = []
        for wanted in topic.partitions:
            await yield_to_event_loop(next(steps))
            row = response.EpochEndOffset(partition=wanted.partition)
            epoch = wanted.current_leader_epoch
            access = found[topic.topic]
            try:
                place = find_place(call, image, access, wanted.partition, epoch)
                view = await _view(call, place)
                if wanted.leader_epoch == LEADER_EPOCH:
                    row.leader_epoch, row.end_offset = LEADER_EPOCH, view.end
            except PartitionError as error:
                row.error_code = error.code
            rows.append(row)
        topics.append(response.OffsetForLeaderTopicResult(topic=topic.topic, partitions=rows))
    return response(topics=topics)


def delete_records(call: ApiCall, request: Message) -> Message:
    """Move the beginnings of partitions, where policies allow it."""
    response = messages.DeleteRecordsResponse
    offsets = {
        (topic.name, partition.partition_index): partition.offset
        for topic in request.topics
        for partition in topic.partitions
    }
    outcomes = call.admin.delete_records(offsets, broker=call.node.id, version=call.version)
    image = call.image()
    named = call.admin.authorize_topics(Operation.DELETE, {name for name, _ in offsets})
    call.cluster.data.refresh(
        (topic.topic_id, partition)
        for (name, partition), outcome in outcomes.items()
        if outcome.result.ok
        and (topic := named[name].topic) is not None
        and topic.topic_id in image.topics.names
    )
    rows: dict[str, list[Message]] = {}
    for (name, partition), outcome in outcomes.items():
        rows.setdefault(name, []).append(
            response.DeleteRecordsPartitionResult(
                partition_index=partition,
                low_watermark=outcome.low_watermark,
                error_code=outcome.result.code,
            )
        )
    return response(
        topics=[
            response.DeleteRecordsTopicResult(name=name, partitions=partitions)
            for name, partitions in rows.items()
        ]
    )


async def _view(call: ApiCall, place: Place) -> LogView:
    (view,) = await call.cluster.data.views([place])
    if view is None:
        raise PartitionError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return view


def _check_asked(call: ApiCall, access: TopicAccess, timestamp: int, *, again: bool) -> None:
    """Refuse, of what a client may see, a partition that is asked twice, and unknown ends of it."""
    if access.result.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return
    if again:
        raise PartitionError(ErrorCode.INVALID_REQUEST)
    if timestamp < min(OffsetSpec) or call.version < _FIRST_VERSIONS.get(timestamp, 0):
        raise PartitionError(ErrorCode.UNSUPPORTED_VERSION)


async def _fill(
    call: ApiCall, row: Message, place: Place, timestamp: int, *, committed: bool
) -> None:
    view = await _view(call, place)
    end = view.last_stable if committed else view.end
    match timestamp:
        case OffsetSpec.LATEST:
            row.offset, row.leader_epoch = end, LEADER_EPOCH
        case OffsetSpec.EARLIEST | OffsetSpec.EARLIEST_LOCAL | OffsetSpec.EARLIEST_PENDING_UPLOAD:
            row.offset, row.leader_epoch = view.start, LEADER_EPOCH
        case OffsetSpec.LATEST_TIERED:
            pass  # nothing is in tiered storage
        case _:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(
                None, find_timestamp, call.cluster.data, place.key, view, timestamp
            )
            if found is not None and found.offset < end:
                row.timestamp, row.offset = found.timestamp_ms, found.offset
                row.leader_epoch = LEADER_EPOCH
