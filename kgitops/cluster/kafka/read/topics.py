"""Metadata: which topics there are, and on which brokers their partitions lie."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka.protocol.admin import ListPartitionReassignmentsRequest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from kgitops.cluster.kafka.answers import TIMEOUT_MS, readable, unreadable
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.transport.decoded import DecodedRequest, with_body
from kgitops.cluster.kafka.transport.wire import Message, Wire
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
        topics[row.name] = Listed(uuid_to_text(row.topic_id), assignment, leaders)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """One partition on its way; ``replicas`` are all that it has now, the target's first."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """Where the partition will be (P201-16), in the order that was asked for."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)


Reassignments = Mapping[str, Mapping[int, Reassignment]]
"""By topic, then partition."""


def read_reassignments(wire: Wire) -> Reassignments:
    """Every reassignment that is running, in one request.

    Raises:
        UnreachableError: the cluster does not say.
    """
    request = reassignments_request()
    return reassignments_of(wire, request, wire.send(request))


def reassignments_request() -> Message:
    """The request for all of them."""
    return ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=None)


def reassignments_of(wire: Wire, request: Message, answer: Message) -> Reassignments:
    """What was answered.

    Raises:
        UnreachableError: the cluster does not say.
    """
    response = readable(
        wire,
        request,
        answer,
        what="which replicas are being reassigned",
        right="Describe on the cluster",
    )
    return {
        topic.name: {
            row.partition_index: Reassignment(
                replicas=tuple(row.replicas),
                adding=tuple(row.adding_replicas),
                removing=tuple(row.removing_replicas),
            )
            for row in topic.partitions
        }
        for topic in response.topics
    }
