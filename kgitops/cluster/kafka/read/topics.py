"""Metadata: which topics there are, and on which brokers their partitions lie."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from kgitops.cluster.kafka.read.answers import unreadable
from kgitops.cluster.kafka.transport.decoded import DecodedRequest, with_body
from kgitops.cluster.kafka.transport.wire import Message
from kgitops.cluster.kafka.uuids import to_text
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.topics import Assignment
from kgitops.model.results import NO_SUCH_TOPIC, ErrorCode

_VERSION = 12
GONE = NO_SUCH_TOPIC | {ErrorCode.INVALID_TOPIC_EXCEPTION}
_LEADERLESS = ErrorCode.LEADER_NOT_AVAILABLE
_CONTROLLER_BYTES = 4


@dataclass(frozen=True, slots=True)
class Listed:
    """A topic; ``assignment`` holds all replicas, while they move those that come and go too.

    ``leaders`` has the broker that leads each partition, -1 for none.
    """

    topic_id: str
    assignment: Assignment
    leaders: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The living brokers and the topics of one moment, but for those that brokers keep."""

    cluster_id: str
    brokers: tuple[int, ...]
    topics: Mapping[str, Listed]
    content: bytes
    """What was said of the topics, as it was said: equal for two listings that say the same."""


def listing_request(names: Iterable[str] | None) -> DecodedRequest[bytes]:
    """The request for these topics, or for all that the principal may see; creates none."""
    topic = MetadataRequest.MetadataRequestTopic
    request = MetadataRequest(
        topics=None if names is None else [topic(topic_id=None, name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    return with_body(request, _VERSION, bytes)


def content_of(data: bytes, cluster_id: str) -> bytes:
    """The part that is about topics.

    It follows the cluster's id and the controller's, and the latter is any broker's, a new one each
    time: clients of KRaft are not told who the controller is.
    """
    _, _, rest = data.partition(cluster_id.encode())
    return rest[_CONTROLLER_BYTES:]


def listing_of(data: bytes) -> Listing:
    """What was answered; a topic that does not exist is left out.

    Raises:
        UnreachableError: the principal may not see a topic that was asked for by name.
    """
    response = MetadataResponse[_VERSION].decode(data)
    shared: dict[tuple[int, ...], tuple[int, ...]] = {}
    same: dict[tuple[object, ...], tuple[Assignment, tuple[int, ...]]] = {}
    topics: dict[str, Listed] = {}
    for row in response.topics:
        if row.error_code in GONE or is_internal(row.name) or row.is_internal:
            continue
        if row.error_code and not (row.error_code == _LEADERLESS and row.partitions):
            what = f"whether there is a topic {row.name!r}"
            raise unreadable(row.error_code, what, "Describe on the topic")
        assignment, leaders = _partitions(row.partitions, shared)
        assignment, leaders = same.setdefault((assignment, leaders), (assignment, leaders))
        topics[row.name] = Listed(to_text(row.topic_id), assignment, leaders)
    return Listing(
        cluster_id=response.cluster_id,
        brokers=tuple(sorted(broker.node_id for broker in response.brokers)),
        topics={name: topics[name] for name in sorted(topics)},
        content=content_of(data, response.cluster_id),
    )


def _partitions(
    rows: Iterable[Message], shared: dict[tuple[int, ...], tuple[int, ...]]
) -> tuple[Assignment, tuple[int, ...]]:
    ordered = sorted(rows, key=lambda row: int(row.partition_index))
    replicas = (tuple(row.replica_nodes) for row in ordered)
    return (
        tuple(shared.setdefault(brokers, brokers) for brokers in replicas),
        tuple(row.leader_id for row in ordered),
    )
