"""IncrementalAlterConfigs and CreatePartitions, for topics that still have the plan's ids."""

from collections.abc import Sequence

from kafka.protocol.admin import CreatePartitionsRequest, IncrementalAlterConfigsRequest

from kgitops.cluster.kafka.answers import SEND_MS, TIMEOUT_MS, answer
from kgitops.cluster.kafka.config_resources import TOPIC, alteration
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import MOST_RECORDS, TOO_LARGE
from kgitops.cluster.kafka.write.topic_ids import Found, each_same
from kgitops.model.requests import AlterTopicRequest
from kgitops.model.results import RequestResult


def alter_configs(
    wire: Wire, requests: Sequence[AlterTopicRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Set and delete the configs that are named; all of a topic's or none (A4-75)."""

    def send(batch: Sequence[AlterTopicRequest], found: Sequence[Found]) -> Sequence[RequestResult]:
        del found
        response = wire.send(
            IncrementalAlterConfigsRequest(
                resources=[
                    alteration(TOPIC, request.topic, request.requested_state.requested_configs)
                    for request in batch
                ],
                validate_only=validate_only,
            ),
            timeout_ms=SEND_MS,
            again=validate_only,
        )
        rows = {row.resource_name: row for row in response.responses}
        return [answer(rows.get(request.topic), response) for request in batch]

    return each_same(wire, requests, _config_records, send)


def create_partitions(
    wire: Wire, requests: Sequence[AlterTopicRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Raise the number of partitions, the new ones where the plan says (A4-71, A4-72)."""

    def send(batch: Sequence[AlterTopicRequest], found: Sequence[Found]) -> Sequence[RequestResult]:
        # Kafka 4 answers UNKNOWN_SERVER_ERROR to more records than it takes at once, and yet makes
        # the first 10,000 partitions: such a request must not reach it.
        topics = {
            request.topic: _partitions(request, topic.partitions)
            for request, topic in zip(batch, found, strict=True)
            if request.requested_state.num_partitions - topic.partitions <= MOST_RECORDS
        }
        if not topics:
            return [TOO_LARGE for _ in batch]
        response = wire.send(
            CreatePartitionsRequest(
                topics=list(topics.values()), timeout_ms=TIMEOUT_MS, validate_only=validate_only
            ),
            timeout_ms=SEND_MS,
            again=validate_only,
        )
        rows = {row.name: row for row in response.results}
        return [
            answer(rows.get(request.topic), response) if request.topic in topics else TOO_LARGE
            for request in batch
        ]

    return each_same(wire, requests, _partition_records, send)


def _config_records(request: AlterTopicRequest) -> int:
    return len(request.requested_state.requested_configs)


def _partition_records(request: AlterTopicRequest) -> int:
    return request.requested_state.num_partitions


def _partitions(request: AlterTopicRequest, existing: int) -> Message:
    topic = CreatePartitionsRequest.CreatePartitionsTopic
    wanted = request.requested_state.assignment
    return topic(
        name=request.topic,
        count=len(wanted),
        assignments=[
            topic.CreatePartitionsAssignment(broker_ids=list(replicas))
            for replicas in wanted[existing:]
        ],
    )
