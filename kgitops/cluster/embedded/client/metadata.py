"""Metadata and DescribeCluster (spec §3.3)."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.controls.reassignments import replicas_with_adding
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import NO_LEADER, Image, TopicImage
from kgitops.cluster.embedded.image.state import controller_id
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.cluster.embedded.options import Faults
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
    """One partition; while it moves, ``replicas`` are the old and the new ones (P201-16).

    ``offline`` are those on brokers that are not alive.
    """

    id: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
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


class LookedUpTopic(Struct, frozen=True, gc=False):
    """A topic that was asked for, by the caller's name of it, or the error in its place."""

    name: str | None
    topic: TopicImage | None
    error: ErrorCode = ErrorCode.NONE
    topic_id: str | None = None
    """None if it was asked for by name."""


class TopicLookup(Struct, frozen=True):
    """Topics in the cluster that they were found in."""

    image: Image
    topics: Sequence[LookedUpTopic]


def find_topics(draft: Draft, names: Sequence[str] | None) -> TopicLookup:
    """The topics of these names; None: all that the caller may describe.

    A bound caller's names are those of its links (VC-038).
    """
    here = namespace(draft)
    if names is None:
        names = here.topics()
        if not draft.authorizer.allows_everything:
            names = [n for n in names if here.may(Operation.DESCRIBE, ResourceType.TOPIC, n)]
        return TopicLookup(
            draft.image, [LookedUpTopic(name, here.find_topic(name)) for name in names]
        )
    return TopicLookup(draft.image, [_find(here, name) for name in dict.fromkeys(names)])


def find_topic_ids(draft: Draft, topic_ids: Sequence[str]) -> TopicLookup:
    """The topics with these ids, by the caller's names."""
    # To Kafka ids are no secret; one of another namespace is unknown here (VC-150).
    tells = not draft.options.seed and namespace(draft).virtual_cluster is None
    found = []
    for topic_id in dict.fromkeys(topic_ids):
        name = name_of_id(draft, topic_id)
        topic = draft.delta.topics.by_id(topic_id)
        error = ErrorCode.NONE
        if name is None:
            hidden = tells and topic is not None
            error = ErrorCode.TOPIC_AUTHORIZATION_FAILED if hidden else ErrorCode.UNKNOWN_TOPIC_ID
        found.append(LookedUpTopic(name, topic if name else None, error, topic_id))
    return TopicLookup(draft.image, found)


def describe_topics(
    draft: Draft, names: Sequence[str] | None, *, version: int
) -> tuple[TopicDescription, ...]:
    """The topics of these names; None: all, and in version 0 an empty list too (A4-18, A4-19)."""
    if version == 0 and not names:
        names = None
    found = find_topics(draft, names)
    living = LiveBrokers(draft.delta.brokers.all(), draft.faults, version)
    return tuple(_describe(item, living) for item in found.topics)


def name_of_id(draft: Draft, topic_id: str) -> str | None:
    """The caller's name of the topic with an id; None if it has none, or may not know it."""
    topic = draft.delta.topics.by_id(topic_id)
    if topic is None:
        return None
    here = namespace(draft)
    names = here.local_topics(topic.name)
    visible = (n for n in names if here.may(Operation.DESCRIBE, ResourceType.TOPIC, n))
    return next(visible, None)


def _find(here: GlobalNamespace, name: str) -> LookedUpTopic:
    if not here.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
        return LookedUpTopic(name, None, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = here.find_topic(name)
    if topic is not None:
        return LookedUpTopic(name, topic)
    if topic_name_problem(name):
        return LookedUpTopic(name, None, ErrorCode.INVALID_TOPIC_EXCEPTION)
    return LookedUpTopic(name, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _describe(found: LookedUpTopic, living: "LiveBrokers") -> TopicDescription:
    if found.topic is None:
        return TopicDescription(name=found.name or "", error=found.error)
    return TopicDescription(
        name=found.name or "",
        topic_id=found.topic.topic_id,
        is_internal=is_internal(found.topic.name),
        marked_for_deletion=found.topic.marked_for_deletion,
        partitions=living.partitions(found.topic),
    )


class LiveBrokers:
    """The brokers that are not fenced, and what they mean for partitions.

    Two are equal if they describe partitions alike.
    """

    def __init__(self, brokers: Iterable[Broker], faults: Faults, version: int) -> None:
        """Describe partitions as a version of Metadata does."""
        self._alive = frozenset(broker.id for broker in brokers if not broker.fenced)
        self._leaderless = faults.leaderless_topics
        # Version 0 hides dead brokers and says so; later ones list them (A4-23, A4-24).
        self._hides_dead = version == 0
        self._key = self._alive, self._leaderless, self._hides_dead
        # Many partitions are alike: with few brokers there are few lists of replicas.
        self._alike: dict[tuple[int, tuple[int, ...]], PartitionMetadata] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiveBrokers) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def partitions(self, topic: TopicImage) -> tuple[PartitionMetadata, ...]:
        if topic.targets or topic.name in self._leaderless:
            ids = range(len(topic.assignment))
            return tuple(self._partition(topic, partition) for partition in ids)
        alike = self._alike
        return tuple(
            alike.get(key) or alike.setdefault(key, self._partition(topic, key[0]))
            for key in enumerate(topic.assignment)
        )

    def _partition(self, topic: TopicImage, partition: int) -> PartitionMetadata:
        held = topic.assignment[partition]
        replicas = replicas_with_adding(topic, partition)
        alive = self._living(replicas)
        isr = self._living(held)
        first = isr[0] if isr and topic.name not in self._leaderless else NO_LEADER
        error = ErrorCode.LEADER_NOT_AVAILABLE if first == NO_LEADER else ErrorCode.NONE
        offline = tuple(replica for replica in replicas if replica not in self._alive)
        if self._hides_dead and len(alive) < len(replicas):
            replicas = alive
            error = ErrorCode.REPLICA_NOT_AVAILABLE if error is ErrorCode.NONE else error
        return PartitionMetadata(
            id=partition,
            leader=first,
            replicas=replicas,
            isr=isr,
            offline=offline,
            error=error,
        )

    def _living(self, replicas: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(replica for replica in replicas if replica in self._alive)
