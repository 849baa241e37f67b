"""The cluster at one offset of the log: one immutable image per kind of resource."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

from msgspec import Struct, field

from kgitops.cluster.embedded.image.records import OffsetsDetails, TransactionContents
from kgitops.model.cluster_state import Broker, GroupOffsets
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import Assignment
from kgitops.virtual_clusters.image import VirtualClustersImage


class TopicImage(Struct, frozen=True, kw_only=True):
    """One topic. ``targets`` holds partitions that are moving, ``offsets`` non-empty ones."""

    name: str
    topic_id: str
    assignment: Assignment
    configs: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    offsets: Mapping[int, tuple[int, int, int]] = field(default_factory=dict)
    marked_for_deletion: bool = False

    @property
    def target_assignment(self) -> Assignment:
        """The replicas that partitions have, or are moving to (P201-16)."""
        if not self.targets:
            return self.assignment
        return tuple(self.targets.get(i, here) for i, here in enumerate(self.assignment))

    def offsets_of(self, partition: int) -> tuple[int, int, int]:
        """Log start offset, high watermark and size in bytes."""
        return self.offsets.get(partition, (0, 0, 0))


class TopicsImage(Struct, frozen=True, kw_only=True):
    """All topics by name, the names by id, and those whose metric names could collide (A4-11)."""

    by_name: Mapping[str, TopicImage] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    collisions: Mapping[str, str] = field(default_factory=dict)


class BrokersImage(Struct, frozen=True, kw_only=True):
    """The registered brokers by id."""

    brokers: Mapping[int, Broker] = field(default_factory=dict)


class ConfigsImage(Struct, frozen=True, kw_only=True):
    """Dynamic configs by broker id as text, or by ``""`` for the default of all brokers.

    Those of groups are by their physical ids, those of client metrics by their subscription.
    """

    brokers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    client_metrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of_type(self, resource_type: str) -> Mapping[str, Mapping[str, str]]:
        """The configs of each resource of a type but topics."""
        held = {
            "broker": self.brokers,
            "group": self.groups,
            "client_metrics": self.client_metrics,
        }
        return held[resource_type]

    def named(self, kind: ConfigResourceType) -> Mapping[str, Mapping[str, str]]:
        """The configs of each resource of this type that has any, by the names in requests."""
        held = self.of_type(kind.lower())
        return {name or ALL_BROKERS: configs for name, configs in held.items() if configs}


class AclsImage(Struct, frozen=True, kw_only=True):
    """All ACL bindings."""

    bindings: frozenset[AclBinding] = frozenset()


class QuotasImage(Struct, frozen=True, kw_only=True):
    """The quotas of each entity that has any."""

    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] = field(default_factory=dict)


class GroupImage(Struct, frozen=True, kw_only=True):
    """A group; ``virtual_cluster`` is the one of its first use, None for the global namespace."""

    virtual_cluster: str | None = None
    committed: GroupOffsets = field(default_factory=dict)
    details: OffsetsDetails = field(default_factory=dict)


class GroupsImage(Struct, frozen=True, kw_only=True):
    """All groups by physical id."""

    groups: Mapping[str, GroupImage] = field(default_factory=dict)


class TransactionImage(Struct, frozen=True, kw_only=True):
    """The producer that may write under a transactional id; ``open``: it has a transaction."""

    producer_id: int
    epoch: int
    open: bool = False
    contents: TransactionContents = TransactionContents()


class TransactionsImage(Struct, frozen=True, kw_only=True):
    """All transactional ids, by physical id, and the next producer id to assign."""

    next_producer_id: int = 0
    by_id: Mapping[str, TransactionImage] = field(default_factory=dict)


class ScramCredential(Struct, frozen=True, kw_only=True):
    """Keys that a user's SCRAM login is checked with; they and ``salt`` are bytes in base64."""

    salt: str
    stored_key: str
    server_key: str
    iterations: int


class ScramImage(Struct, frozen=True, kw_only=True):
    """The credentials of each user who can log in by SCRAM, by mechanism."""

    users: Mapping[str, Mapping[str, ScramCredential]] = field(default_factory=dict)


class Image(Struct, frozen=True, kw_only=True):
    """The whole cluster."""

    EMPTY: ClassVar[Self]

    brokers: BrokersImage = BrokersImage()
    topics: TopicsImage = TopicsImage()
    configs: ConfigsImage = ConfigsImage()
    acls: AclsImage = AclsImage()
    quotas: QuotasImage = QuotasImage()
    groups: GroupsImage = GroupsImage()
    transactions: TransactionsImage = TransactionsImage()
    scram: ScramImage = ScramImage()
    virtual_clusters: VirtualClustersImage = field(default_factory=VirtualClustersImage)


Image.EMPTY = Image()


def can_collide(name: str) -> bool:
    """Return whether another topic's metric names could be the same as this one's (A4-11)."""
    return "." in name or "_" in name


NO_LEADER = -1


def in_sync(brokers: Iterable[Broker], replicas: tuple[int, ...]) -> tuple[int, ...]:
    """The replicas on brokers that are alive."""
    alive = {broker.id for broker in brokers if not broker.fenced}
    return tuple(replica for replica in replicas if replica in alive)


def leader(brokers: Iterable[Broker], topic: TopicImage, partition: int) -> int:
    """The first living replica: the preferred leader when it is alive (A4-44)."""
    replicas = in_sync(brokers, topic.assignment[partition])
    return replicas[0] if replicas else NO_LEADER
