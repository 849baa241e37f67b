"""Batches of requests that a controller accepts, sent to the topics that were planned."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from kafka.protocol.metadata import MetadataRequest
from msgspec import Struct

from kgitops.cluster.kafka.answers import LOOK_MS, UNKNOWN_ID, result_of
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.requests import AlterTopicRequest
from kgitops.model.results import NO_SUCH_TOPIC, ErrorCode, RequestResult

T = TypeVar("T")

# QuorumController.MAX_RECORDS_PER_USER_OP and ReplicationControlManager.MAX_PARTITIONS_PER_BATCH:
# one more, and the whole request is refused (A4-03).
MOST_RECORDS = 10_000

TOO_LARGE = RequestResult(
    code=ErrorCode.POLICY_VIOLATION,
    message="Unable to perform excessively large batch operation.",
)
"""The answer of a controller to an oversized request."""


def split_batches(
    items: Sequence[T], *, weight: Callable[[T], int], key: Callable[[T], Hashable]
) -> Iterator[Sequence[T]]:
    """Split ``items``, in order, into batches of at most MOST_RECORDS, no key twice in a batch.

    An item that is too large by itself gets its own batch, so that only it is refused.
    """
    batch: list[T] = []
    keys: set[Hashable] = set()
    size = 0
    for item in items:
        if batch and (size + weight(item) > MOST_RECORDS or key(item) in keys):
            yield batch
            batch, keys, size = [], set(), 0
        batch.append(item)
        keys.add(key(item))
        size += weight(item)
    if batch:
        yield batch


_WITH_IDS = 10


class PlannedTopic(Struct, frozen=True, kw_only=True):
    """A topic that has the planned id; ``leaders`` maps partition to broker id, -1 for none.

    ``replicas`` are all that a partition has, during a reassignment those that come and go too.
    """

    leaders: Mapping[int, int]
    replicas: Mapping[int, tuple[int, ...]]

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.leaders)


Send = Callable[[Sequence[AlterTopicRequest], Sequence[PlannedTopic]], Sequence[RequestResult]]
"""Sends requests for topics that have the planned id, and returns one result each."""


def find_topics(
    wire: Wire, wanted: Sequence[tuple[str, str]]
) -> Sequence[PlannedTopic | RequestResult]:
    """Find each (name, topic id); return the topic or its error.

    All are found in one request. A re-created topic of the same name and a deleted topic both give
    UNKNOWN_TOPIC_ID.
    """
    names = sorted({name for name, _ in wanted})
    response = wire.send(
        MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(topic_id=None, name=n) for n in names],
            allow_auto_topic_creation=False,
            min_version=_WITH_IDS,
        ),
        timeout_ms=LOOK_MS,
    )
    rows = {row.name: row for row in response.topics}
    topics: list[PlannedTopic | RequestResult] = []
    for name, topic_id in wanted:
        row = rows.get(name)
        if row is None or row.error_code in NO_SUCH_TOPIC:
            topics.append(UNKNOWN_ID)
        elif row.error_code:
            topics.append(result_of(row.error_code, None))
        elif uuid_to_text(row.topic_id) != topic_id:
            topics.append(UNKNOWN_ID)
        else:
            leaders = {item.partition_index: item.leader_id for item in row.partitions}
            replicas = {item.partition_index: tuple(item.replica_nodes) for item in row.partitions}
            topics.append(PlannedTopic(leaders=leaders, replicas=replicas))
    return topics


def send_if_topic_ids_match(
    wire: Wire,
    requests: Sequence[AlterTopicRequest],
    weight: Callable[[AlterTopicRequest], int],
    send: Send,
) -> list[RequestResult]:
    """Send the requests of topics that are still the planned ones; the others get an error.

    Kafka's requests go by name. The id is checked right before, which leaves a window of
    milliseconds in which a topic could be deleted and re-created.
    """
    results: list[RequestResult] = []
    for batch in split_batches(requests, weight=weight, key=lambda request: request.topic):
        topics = find_topics(wire, [(request.topic, request.topic_id) for request in batch])
        same = [
            (request, topic)
            for request, topic in zip(batch, topics, strict=True)
            if isinstance(topic, PlannedTopic)
        ]
        if not same:
            results += [topic for topic in topics if isinstance(topic, RequestResult)]
            continue
        sent = iter(send([request for request, _ in same], [topic for _, topic in same]))
        results += [next(sent) if isinstance(topic, PlannedTopic) else topic for topic in topics]
    return results
