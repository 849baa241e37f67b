"""CreateTopics, DeleteTopics, IncrementalAlterConfigs and CreatePartitions."""

from collections.abc import Sequence

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
)
from msgspec.structs import replace

from kgitops.cluster.kafka.answers import NOT_ANSWERED, SEND_MS, TIMEOUT_MS, answer
from kgitops.cluster.kafka.protocol_values import TOPIC, alteration, uuid_from_text, uuid_to_text
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import (
    MOST_RECORDS,
    TOO_LARGE,
    PlannedTopic,
    send_if_topic_ids_match,
    split_batches,
)
from kgitops.model.requests import AlterTopicRequest, CreateTopicRequest, DeleteTopicRequest
from kgitops.model.results import RequestResult

_DERIVED = -1
_WITH_IDS = 7
_BY_ID = 6


def create_topics(
    wire: Wire, requests: Sequence[CreateTopicRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Create topics with exactly the replicas of the plan, also where kgitops placed them.

    Brokers would place them elsewhere than the plan shows (P201-34).
    """
    results: list[RequestResult] = []
    for batch in split_batches(requests, weight=_records, key=lambda request: request.topic):
        response = wire.send(
            CreateTopicsRequest(
                topics=[_creatable(request) for request in batch],
                timeout_ms=TIMEOUT_MS,
                validate_only=validate_only,
                min_version=_WITH_IDS,
            ),
            timeout_ms=SEND_MS,
            may_repeat=validate_only,
        )
        rows = {row.name: row for row in response.topics}
        for request in batch:
            row = rows.get(request.topic)
            result = answer(row, response)
            if row is not None and result.ok and not validate_only:
                result = (
                    replace(result, topic_id=uuid_to_text(row.topic_id))
                    if row.topic_id
                    else NOT_ANSWERED
                )
            results.append(result)
    return results


def delete_topics(wire: Wire, requests: Sequence[DeleteTopicRequest]) -> list[RequestResult]:
    """Delete topics by id alone: a topic that was re-created under the same name survives."""
    results: list[RequestResult] = []
    for batch in split_batches(requests, weight=lambda _: 1, key=lambda request: request.topic_id):
        response = wire.send(
            DeleteTopicsRequest(
                topics=[
                    DeleteTopicsRequest.DeleteTopicState(
                        name=None, topic_id=uuid_from_text(request.topic_id)
                    )
                    for request in batch
                ],
                timeout_ms=TIMEOUT_MS,
                min_version=_BY_ID,
            ),
            timeout_ms=SEND_MS,
        )
        rows = {uuid_to_text(row.topic_id): row for row in response.responses}
        results += [answer(rows.get(request.topic_id), response) for request in batch]
    return results


def _records(request: CreateTopicRequest) -> int:
    state = request.requested_state
    return 2 + state.num_partitions + len(state.configs)


def _creatable(request: CreateTopicRequest) -> Message:
    state = request.requested_state
    topic = CreateTopicsRequest.CreatableTopic
    return topic(
        name=request.topic,
        num_partitions=_DERIVED,
        replication_factor=_DERIVED,
        assignments=[
            topic.CreatableReplicaAssignment(partition_index=partition, broker_ids=list(replicas))
            for partition, replicas in enumerate(state.assignment)
        ],
        configs=[
            topic.CreatableTopicConfig(name=key, value=value)
            for key, value in state.configs.items()
        ],
    )


def alter_configs(
    wire: Wire, requests: Sequence[AlterTopicRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Set and delete the given configs; all of a topic's or none (A4-75)."""

    def send(
        batch: Sequence[AlterTopicRequest], found: Sequence[PlannedTopic]
    ) -> Sequence[RequestResult]:
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
            may_repeat=validate_only,
        )
        rows = {row.resource_name: row for row in response.responses}
        return [answer(rows.get(request.topic), response) for request in batch]

    return send_if_topic_ids_match(
        wire, requests, lambda request: len(request.requested_state.requested_configs), send
    )


def create_partitions(
    wire: Wire, requests: Sequence[AlterTopicRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Add partitions, placed as planned (A4-71, A4-72)."""

    def send(
        batch: Sequence[AlterTopicRequest], found: Sequence[PlannedTopic]
    ) -> Sequence[RequestResult]:
        # Kafka 4 answers UNKNOWN_SERVER_ERROR to more records than it accepts at once, and still
        # creates the first 10,000 partitions: such a request must not reach it.
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
            may_repeat=validate_only,
        )
        rows = {row.name: row for row in response.results}
        return [
            answer(rows.get(request.topic), response) if request.topic in topics else TOO_LARGE
            for request in batch
        ]

    return send_if_topic_ids_match(
        wire, requests, lambda request: request.requested_state.num_partitions, send
    )


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
