"""Cutting what is asked at once into requests that a controller takes."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kafka.protocol.metadata import MetadataRequest

from kgitops.cluster.kafka.answers import LOOK_MS, UNKNOWN_ID, result_of
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.requests import AlterTopicRequest
from kgitops.model.results import NO_SUCH_TOPIC, ErrorCode, RequestResult

T = TypeVar("T")

# QuorumController.MAX_RECORDS_PER_USER_OP and ReplicationControlManager.MAX_PARTITIONS_PER_BATCH:
# one more, and all of the request is refused (A4-03).
MOST_RECORDS = 10_000

TOO_LARGE = RequestResult(
    code=ErrorCode.POLICY_VIOLATION,
    message="Unable to perform excessively large batch operation.",
)
"""What a controller answers to that, where it does answer so."""


def cut(
    items: Sequence[T], *, weight: Callable[[T], int], key: Callable[[T], Hashable]
) -> Iterator[Sequence[T]]:
    """``items`` in order, in pieces of at most MOST_RECORDS, no key twice in a piece.

    One that is too large by itself goes alone, so that it is the only one to be refused.
    """
    piece: list[T] = []
    keys: set[Hashable] = set()
    size = 0
    for item in items:
        if piece and (size + weight(item) > MOST_RECORDS or key(item) in keys):
            yield piece
            piece, keys, size = [], set(), 0
        piece.append(item)
        keys.add(key(item))
        size += weight(item)
    if piece:
        yield piece


_WITH_IDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A topic that has the planned id: partition id to its leader's broker id, -1 for none.

    ``replicas`` are all that a partition has: while it moves, those that come and go as well.
    """

    leaders: Mapping[int, int]
    replicas: Mapping[int, tuple[int, ...]]

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.leaders)


Send = Callable[[Sequence[AlterTopicRequest], Sequence[Found]], Sequence[RequestResult]]
"""Sends requests for topics that were found, and gives one result each."""


def find_topics(wire: Wire, wanted: Sequence[tuple[str, str]]) -> Sequence[Found | RequestResult]:
    """For each (name, topic id) the topic, or what is answered in its place.

    One request for all. That a topic made anew has taken the name, and that there is none any more,
    is answered alike: UNKNOWN_TOPIC_ID.
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
    found: list[Found | RequestResult] = []
    for name, topic_id in wanted:
        row = rows.get(name)
        if row is None or row.error_code in NO_SUCH_TOPIC:
            found.append(UNKNOWN_ID)
        elif row.error_code:
            found.append(result_of(row.error_code, None))
        elif uuid_to_text(row.topic_id) != topic_id:
            found.append(UNKNOWN_ID)
        else:
            leaders = {item.partition_index: item.leader_id for item in row.partitions}
            replicas = {item.partition_index: tuple(item.replica_nodes) for item in row.partitions}
            found.append(Found(leaders=leaders, replicas=replicas))
    return found


def each_same(
    wire: Wire,
    requests: Sequence[AlterTopicRequest],
    weight: Callable[[AlterTopicRequest], int],
    send: Send,
) -> list[RequestResult]:
    """What ``send`` makes of each topic that is still the planned one; the others are told so.

    Kafka's requests go by name. The id is looked at right before, which leaves a window of
    milliseconds in which a topic could be deleted and made anew.
    """
    results: list[RequestResult] = []
    for batch in cut(requests, weight=weight, key=lambda request: request.topic):
        topics = find_topics(wire, [(request.topic, request.topic_id) for request in batch])
        same = [
            (request, topic)
            for request, topic in zip(batch, topics, strict=True)
            if isinstance(topic, Found)
        ]
        if not same:
            results += [topic for topic in topics if isinstance(topic, RequestResult)]
            continue
        sent = iter(send([request for request, _ in same], [topic for _, topic in same]))
        results += [next(sent) if isinstance(topic, Found) else topic for topic in topics]
    return results
