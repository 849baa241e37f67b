"""DeleteRecords, which each partition's leader carries out itself (A4-81)."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from kafka.protocol.admin import DeleteRecordsRequest as LeaderRequest

from kgitops.cluster.kafka.answers import SEND_MS, TIMEOUT_MS, result_of
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import PlannedTopic, find_topics, split_batches
from kgitops.model.requests import DeleteRecordsRequest
from kgitops.model.results import OK, ErrorCode, RequestResult

# A leader that has moved, or does not know yet that it is one, answers this and deletes nothing.
_NOT_LEADER = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
_RETRY_S = 5.0
_PAUSE_S = 0.1
_LEAST_MS = 1_000
# Leaders answer with a code and no message (C-22).
_MESSAGES = {
    ErrorCode.OFFSET_OUT_OF_RANGE: "Partition {partition} has no offset {offset}.",
    ErrorCode.POLICY_VIOLATION: "The topic's cleanup.policy does not let records be deleted.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "Records of an internal topic can not be deleted.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "There is no partition {partition}.",
    ErrorCode.LEADER_NOT_AVAILABLE: "Partition {partition} has no leader.",
}

_TopicPartition = tuple[str, int]
"""A topic's name and a partition."""


def delete_records(wire: Wire, requests: Sequence[DeleteRecordsRequest]) -> list[RequestResult]:
    """Delete the records before each partition's offset; a request is done when all partitions are.

    Deleting again is a success. So where a leader has moved, the whole topic is sent again, after
    its id was checked again.
    """
    results: list[RequestResult] = []
    for batch in split_batches(
        requests,
        weight=lambda request: len(request.deleted_message_offsets),
        key=lambda request: request.topic,
    ):
        results += _delete(wire, batch)
    return results


def _delete(wire: Wire, requests: Sequence[DeleteRecordsRequest]) -> list[RequestResult]:
    results: dict[str, RequestResult] = {}
    started = time.monotonic()
    deadline = started + SEND_MS / 1000
    left = list(requests)
    while True:
        topics = find_topics(wire, [(request.topic, request.topic_id) for request in left])
        codes = _ask_leaders(wire, list(zip(left, topics, strict=True)), deadline)
        for request, topic in zip(left, topics, strict=True):
            results[request.topic] = (
                _topic_result(request, codes) if isinstance(topic, PlannedTopic) else topic
            )
        left = [request for request in left if results[request.topic].code in _NOT_LEADER]
        if not left or time.monotonic() >= started + _RETRY_S:
            return [results[request.topic] for request in requests]
        time.sleep(_PAUSE_S)


def _ask_leaders(
    wire: Wire,
    asked: Sequence[tuple[DeleteRecordsRequest, PlannedTopic | RequestResult]],
    deadline: float,
) -> Mapping[_TopicPartition, int]:
    """Ask the leaders; return the error code of each partition."""
    codes: dict[_TopicPartition, int] = {}
    by_leader: dict[int, dict[_TopicPartition, int]] = defaultdict(dict)
    for request, topic in asked:
        if isinstance(topic, RequestResult):
            continue
        for partition, offset in request.deleted_message_offsets.items():
            leader = topic.leaders.get(partition)
            if leader is None:
                codes[request.topic, partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif leader < 0:
                codes[request.topic, partition] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                by_leader[leader][request.topic, partition] = offset
    for leader, offsets in by_leader.items():
        left_ms = max(_LEAST_MS, int((deadline - time.monotonic()) * 1000))
        response = wire.send(_leader_request(offsets, left_ms), to=leader, timeout_ms=left_ms)
        codes |= {
            (topic.name, row.partition_index): row.error_code
            for topic in response.topics
            for row in topic.partitions
        }
    return codes


def _leader_request(offsets: Mapping[_TopicPartition, int], left_ms: int) -> Message:
    topic = LeaderRequest.DeleteRecordsTopic
    by_topic: dict[str, list[Message]] = defaultdict(list)
    for (name, partition), offset in offsets.items():
        item = topic.DeleteRecordsPartition(partition_index=partition, offset=offset)
        by_topic[name].append(item)
    return LeaderRequest(
        topics=[topic(name=name, partitions=items) for name, items in by_topic.items()],
        timeout_ms=min(TIMEOUT_MS, left_ms),
    )


def _topic_result(
    request: DeleteRecordsRequest, codes: Mapping[_TopicPartition, int]
) -> RequestResult:
    """Return the topic's result: that of the first partition that failed."""
    for partition, offset in request.deleted_message_offsets.items():
        code = codes.get((request.topic, partition), ErrorCode.UNKNOWN_SERVER_ERROR)
        result = result_of(code, None)
        if not result.ok:
            template = _MESSAGES.get(result.code, result.message or "")
            message = template.format(partition=partition, offset=offset)
            return RequestResult(code=result.code, message=message or None)
    return OK
