"""Metadata and DescribeCluster (spec §3.3)."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import NO_LEADER, TopicImage, in_sync, leader
from kgitops.cluster.embedded.image.state import controller_id
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.results import ErrorCode

_HOST = "localhost"
_FIRST_PORT = 9092


class BrokerNode(Struct, frozen=True, kw_only=True):
    """A living broker; nothing listens at its host and port (A4-20)."""

    node_id: int
    host: str
    port: int
    rack: str | None


class PartitionMetadata(Struct, frozen=True, kw_only=True):
    """One partition; while it moves, ``replicas`` are the old and the new ones (P201-16)."""

    id: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    error: ErrorCode = ErrorCode.NONE


class TopicDescription(Struct, frozen=True, kw_only=True):
    """One topic; the mark of deletion is an extra that KIP-4 announced and left out (A4-25)."""

    name: str
    error: ErrorCode = ErrorCode.NONE
    topic_id: str | None = None
    is_internal: bool = False
    marked_for_deletion: bool = False
    partitions: tuple[PartitionMetadata, ...] = ()


class ClusterDescription(Struct, frozen=True, kw_only=True):
    """The cluster's id, its controller and its living brokers."""

    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerNode, ...]


def describe_cluster(draft: Draft, cluster_id: str) -> ClusterDescription:
    """The living brokers and the controller."""
    return ClusterDescription(
        cluster_id=cluster_id,
        controller_id=controller_id(draft.image),
        brokers=tuple(
            BrokerNode(node_id=item.id, host=_HOST, port=_FIRST_PORT + item.id, rack=item.rack)
            for item in draft.delta.brokers.all()
            if not item.fenced
        ),
    )


def describe_topics(
    draft: Draft, names: Sequence[str] | None, *, version: int
) -> tuple[TopicDescription, ...]:
    """The topics of these names; None: all, and in version 0 an empty list too (A4-18, A4-19).

    A bound caller's names are those of its links (VC-038).
    """
    here = namespace(draft)
    if names is None or (version == 0 and not names):
        names = [n for n in here.topics() if here.may(Operation.DESCRIBE, ResourceType.TOPIC, n)]
    return tuple(_by_name(here, name, version) for name in dict.fromkeys(names))


def name_of_id(draft: Draft, topic_id: str) -> str | None:
    """The caller's name of the topic with an id; None if it has none, or may not know it."""
    topic = draft.delta.topics.by_id(topic_id)
    if topic is None:
        return None
    here = namespace(draft)
    names = here.local_topics(topic.name)
    visible = (n for n in names if here.may(Operation.DESCRIBE, ResourceType.TOPIC, n))
    return next(visible, None)


def _by_name(here: GlobalNamespace, name: str, version: int) -> TopicDescription:
    if not here.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
        return TopicDescription(name=name, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if topic_name_problem(name):
        return TopicDescription(name=name, error=ErrorCode.INVALID_TOPIC_EXCEPTION)
    topic = here.find_topic(name)
    if topic is None:
        return TopicDescription(name=name, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return replace(_describe(here.draft, topic, version), name=name)


def _describe(draft: Draft, topic: TopicImage, version: int) -> TopicDescription:
    brokers = draft.delta.brokers.all()
    return TopicDescription(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        marked_for_deletion=topic.marked_for_deletion,
        partitions=tuple(
            _partition(draft, brokers, topic, partition, version)
            for partition in range(len(topic.assignment))
        ),
    )


def _partition(
    draft: Draft, brokers: Sequence[Broker], topic: TopicImage, partition: int, version: int
) -> PartitionMetadata:
    held = topic.assignment[partition]
    adding = [b for b in topic.targets.get(partition, ()) if b not in held]
    replicas = (*held, *adding)
    alive = in_sync(brokers, replicas)
    first = leader(brokers, topic, partition)
    if topic.name in draft.faults.leaderless_topics:
        first = NO_LEADER
    error = ErrorCode.LEADER_NOT_AVAILABLE if first == NO_LEADER else ErrorCode.NONE
    if version == 0 and len(alive) < len(replicas):
        # Version 0 hides dead brokers and says so; later ones list them (A4-23, A4-24).
        replicas = alive
        error = ErrorCode.REPLICA_NOT_AVAILABLE if error is ErrorCode.NONE else error
    return PartitionMetadata(
        id=partition,
        leader=first,
        replicas=replicas,
        isr=in_sync(brokers, held),
        error=error,
    )
