"""CreateTopics and DeleteTopics."""

from collections.abc import Sequence
from dataclasses import replace

from kafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest

from kgitops.cluster.kafka.answers import SEND_MS, TIMEOUT_MS, answer
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.uuids import from_text, to_text
from kgitops.cluster.kafka.write.batches import cut
from kgitops.model.requests import CreateTopicRequest, DeleteTopicRequest
from kgitops.model.results import RequestResult

_DERIVED = -1
_WITH_IDS = 7
_BY_ID = 6


def create_topics(
    wire: Wire, requests: Sequence[CreateTopicRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Create topics with exactly the replicas of the plan, also where kgitops placed them.

    Left to the brokers they would come to stand elsewhere than the plan said (P201-34).
    """
    results: list[RequestResult] = []
    for batch in cut(requests, weight=_records, key=lambda request: request.topic):
        response = wire.send(
            CreateTopicsRequest(
                topics=[_creatable(request) for request in batch],
                timeout_ms=TIMEOUT_MS,
                validate_only=validate_only,
                min_version=_WITH_IDS,
            ),
            timeout_ms=SEND_MS,
            again=validate_only,
        )
        rows = {row.name: row for row in response.topics}
        for request in batch:
            row = rows.get(request.topic)
            result = answer(row, response)
            if row is not None and result.ok and not validate_only:
                result = replace(result, topic_id=to_text(row.topic_id))
            results.append(result)
    return results


def delete_topics(wire: Wire, requests: Sequence[DeleteTopicRequest]) -> list[RequestResult]:
    """Delete topics by their ids and by nothing else: one made anew under a name survives."""
    results: list[RequestResult] = []
    for batch in cut(requests, weight=lambda _: 1, key=lambda request: request.topic_id):
        response = wire.send(
            DeleteTopicsRequest(
                topics=[
                    DeleteTopicsRequest.DeleteTopicState(
                        name=None, topic_id=from_text(request.topic_id)
                    )
                    for request in batch
                ],
                timeout_ms=TIMEOUT_MS,
                min_version=_BY_ID,
            ),
            timeout_ms=SEND_MS,
        )
        rows = {to_text(row.topic_id): row for row in response.responses}
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
