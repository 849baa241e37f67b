"""AlterPartitionReassignments: moves of replicas, and their cancellation."""

from collections.abc import Mapping, Sequence

from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from kgitops.cluster.kafka.answers import NOT_ANSWERED, SEND_MS, TIMEOUT_MS, result_of
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import PlannedTopic, send_if_topic_ids_match
from kgitops.model.requests import AlterTopicRequest
from kgitops.model.results import OK, ErrorCode, RequestResult

_Target = tuple[str, Mapping[int, Sequence[int] | None]]
"""A topic and the replicas its partitions should have; None cancels (A4-80)."""


def reassign(wire: Wire, requests: Sequence[AlterTopicRequest]) -> list[RequestResult]:
    """Start reassignments; brokers answer once they accept them, long before data is copied.

    A partition that already has its target replicas is left out. One that is moving there is
    requested again, which changes nothing.
    """

    def send(
        batch: Sequence[AlterTopicRequest], found: Sequence[PlannedTopic]
    ) -> Sequence[RequestResult]:
        return _ask(wire, [_target(*pair) for pair in zip(batch, found, strict=True)])

    return send_if_topic_ids_match(
        wire, requests, lambda request: len(request.requested_state.assignment), send
    )


def cancel(wire: Wire, moves: Mapping[str, Sequence[int]]) -> list[RequestResult]:
    """Cancel reassignments, topic by topic; a partition that is no longer moving is a success."""
    asked = [(topic, dict.fromkeys(partitions)) for topic, partitions in moves.items()]
    return [
        OK if result.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS else result
        for result in _ask(wire, asked)
    ]


def _target(request: AlterTopicRequest, topic: PlannedTopic) -> _Target:
    wanted = enumerate(request.requested_state.assignment)
    return request.topic, {
        partition: replicas
        for partition, replicas in wanted
        if topic.replicas.get(partition) != replicas
    }


def _ask(wire: Wire, targets: Sequence[_Target]) -> list[RequestResult]:
    """Return one result per topic: that of its first partition that failed."""
    asked = [(name, partitions) for name, partitions in targets if partitions]
    if not asked:
        return [OK for _ in targets]
    response = wire.send(
        AlterPartitionReassignmentsRequest(
            topics=[_topic(name, partitions) for name, partitions in asked], timeout_ms=TIMEOUT_MS
        ),
        timeout_ms=SEND_MS,
    )
    if response.error_code:
        return [result_of(response.error_code, response.error_message) for _ in targets]
    rows = {
        topic.name: {row.partition_index: row for row in topic.partitions}
        for topic in response.responses
    }
    return [_topic_result(rows.get(name, {}), partitions) for name, partitions in targets]


def _topic(name: str, partitions: Mapping[int, Sequence[int] | None]) -> Message:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    return topic(
        name=name,
        partitions=[
            topic.ReassignablePartition(
                partition_index=partition, replicas=None if replicas is None else list(replicas)
            )
            for partition, replicas in partitions.items()
        ],
    )


def _topic_result(
    rows: Mapping[int, Message], partitions: Mapping[int, Sequence[int] | None]
) -> RequestResult:
    for partition in partitions:
        row = rows.get(partition)
        result = result_of(row.error_code, row.error_message) if row else NOT_ANSWERED
        if not result.ok:
            return result
    return OK
