"""Metadata and ListPartitionReassignments: topics, their replicas, and running moves."""

from collections.abc import Collection, Iterable, Mapping

from kafka.protocol.admin import ListPartitionReassignmentsRequest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from msgspec import Struct

from kgitops.cluster.kafka.answers import TIMEOUT_MS, readable, unreadable_error
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.transport.decoded import DecodedRequest, with_body
from kgitops.cluster.kafka.transport.odd_answers import OddAnswerError, decoded
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.names import is_internal
from kgitops.model.resources.topics import Assignment
from kgitops.model.results import NO_SUCH_TOPIC, ErrorCode

_VERSION = 12
GONE = NO_SUCH_TOPIC | {ErrorCode.INVALID_TOPIC_EXCEPTION}
_LEADERLESS = ErrorCode.LEADER_NOT_AVAILABLE
_CONTROLLER_BYTES = 4


class ListedTopic(Struct, frozen=True):
    """A topic; during a reassignment ``assignment`` also holds the replicas that come and go.

    ``leaders`` has the leader of each partition, -1 for none.
    """

    topic_id: str
    assignment: Assignment
    leaders: tuple[int, ...]


class TopicListing(Struct, frozen=True, kw_only=True):
    """The live brokers and the topics of one moment, without internal topics."""

    cluster_id: str
    brokers: tuple[int, ...]
    topics: Mapping[str, ListedTopic]
    content: bytes
    """The bytes about the topics: equal for two listings of the same topics."""


def listing_request(names: Iterable[str] | None) -> DecodedRequest[bytes]:
    """Build the request for these topics, or for all that the principal may see."""
    topic = MetadataRequest.MetadataRequestTopic
    request = MetadataRequest(
        topics=None if names is None else [topic(topic_id=None, name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    return with_body(request, _VERSION, bytes)


def content_of(data: bytes, cluster_id: str) -> bytes:
    """Return the part about topics.

    It follows the ids of the cluster and of the controller. The latter is a random broker in each
    answer: KRaft does not tell clients the controller.
    """
    _, _, rest = data.partition(cluster_id.encode())
    return rest[_CONTROLLER_BYTES:]


def listing_of(wire: Wire, data: bytes, names: Collection[str] | None) -> TopicListing:
    """Decode the answer to a request for these topics; one that does not exist is left out.

    Raises:
        OddAnswerError: no broker of Kafka gives it.
        UnreachableError: the principal may not see a topic that was asked for by name, or the
            brokers report no cluster id.
    """
    response = decoded(MetadataResponse, _VERSION, data)
    if names is not None and not {*names} <= {row.name for row in response.topics}:
        raise OddAnswerError("it lacks a topic that was asked for")
    if not response.cluster_id:
        raise UnreachableError(
            "the brokers report no cluster id, so it is unknown which cluster this is; see that "
            "the address leads to brokers of Kafka"
        )
    shared: dict[tuple[int, ...], tuple[int, ...]] = {}
    same: dict[tuple[object, ...], tuple[Assignment, tuple[int, ...]]] = {}
    topics: dict[str, ListedTopic] = {}
    for row in response.topics:
        if not row.name:
            raise OddAnswerError("a topic has no name")
        if row.error_code in GONE or is_internal(row.name) or row.is_internal:
            continue
        if row.error_code and not (row.error_code == _LEADERLESS and row.partitions):
            what = f"whether there is a topic {row.name!r}"
            raise unreadable_error(wire, "Metadata", what, row.error_code)
        assignment, leaders = _partitions(row.partitions, shared)
        assignment, leaders = same.setdefault((assignment, leaders), (assignment, leaders))
        topics[row.name] = ListedTopic(uuid_to_text(row.topic_id), assignment, leaders)
    return TopicListing(
        cluster_id=response.cluster_id,
        brokers=tuple(sorted(broker.node_id for broker in response.brokers)),
        topics={name: topics[name] for name in sorted(topics)},
        content=content_of(data, response.cluster_id),
    )


def _partitions(
    rows: Iterable[Message], shared: dict[tuple[int, ...], tuple[int, ...]]
) -> tuple[Assignment, tuple[int, ...]]:
    ordered = sorted(rows, key=lambda row: int(row.partition_index))
    if any(row.partition_index != place for place, row in enumerate(ordered)):
        raise OddAnswerError("the partitions of a topic are not numbered from 0 on")
    replicas = (tuple(row.replica_nodes) for row in ordered)
    return (
        tuple(shared.setdefault(brokers, brokers) for brokers in replicas),
        tuple(row.leader_id for row in ordered),
    )


class Reassignment(Struct, frozen=True, kw_only=True):
    """A partition that is being reassigned; ``replicas`` are all it has now, the target's first."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment (P201-16), in the requested order."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)


Reassignments = Mapping[str, Mapping[int, Reassignment]]
"""Running reassignments by topic and partition."""


def read_reassignments(wire: Wire) -> Reassignments:
    """Read all running reassignments in one request.

    Raises:
        UnreachableError: the cluster does not return them.
    """
    request = reassignments_request()
    return reassignments_of(wire, request, wire.send(request))


def reassignments_request() -> Message:
    """Build the request for all running reassignments."""
    return ListPartitionReassignmentsRequest(timeout_ms=TIMEOUT_MS, topics=None)


def reassignments_of(wire: Wire, request: Message, answer: Message) -> Reassignments:
    """Read the reassignments from the answer.

    Raises:
        UnreachableError: the cluster does not return them.
    """
    response = readable(wire, request, answer, what="the running reassignments")
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
