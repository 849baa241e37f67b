"""The state of a cluster before any request takes effect: one immutable snapshot (KIP-201)."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kgitops.model.lowered import Lowered
from kgitops.model.registry import RegistryState
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import LocalName, TopicLink, VirtualCluster

GroupOffsets = Mapping[tuple[str, int], int]
"""(topic, partition) to the offset that a group has committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A registered broker; ``rack`` is None where none is configured.

    ``throttles`` holds its own replication throttle by config key, None where it can't be told.
    """

    id: int
    rack: str | None = None
    fenced: bool = False
    throttles: Mapping[str, str] | None = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicUsage:
    """What a topic holds, where it could be read; one item a partition, None where unknown."""

    log_start_offsets: tuple[int | None, ...] = ()
    high_watermarks: tuple[int | None, ...] = ()
    size_bytes: tuple[int | None, ...] = ()
    active_groups: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """Something that no diff needs and that could not be read: what and why, and what to do."""

    problem: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What some topics hold and who reads them, and what of it could not be read."""

    topics: Mapping[str, TopicUsage] = field(default_factory=dict)
    not_checked: tuple[NotChecked, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """Everything that planning reads of a cluster.

    ``broker_defaults`` gives the value of a topic config where the topic sets none, with its
    source, as DescribeConfigs reports it: only what differs from Kafka's own default need be there.
    ``controller_id`` is -1 where the cluster does not tell (KRaft never tells clients).
    ``usage`` holds only what was asked for with ``read_usage``: it is no part of a reading.
    ``has_authorizer`` is False where brokers keep no ACLs: none can be made there (A4-95).
    ``moving`` names the partitions of each topic whose replicas are being reassigned; it is of
    the moment, so that snapshots leave it out.
    ``virtual_clusters`` are by name, ``acls`` and ``quotas`` hold those of virtual clusters too;
    ``lowered`` is None where brokers know virtual clusters, or nobody asked for any yet.
    ``group_offsets`` holds only what was asked for with ``read_group_offsets``: physical group id
    to (physical topic, partition) to committed offset.
    ``settings`` are the broker configs that isolation depends on (VC-391), where they can be told.
    ``registry`` is None when the cluster has none yet; one that can't be read is an error instead.
    """

    cluster_id: str
    backend: str
    brokers: tuple[Broker, ...] = ()
    controller_id: int = -1
    topics: Mapping[str, TopicState] = field(default_factory=dict)
    acls: Set[AclBinding] = frozenset()
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState] = field(default_factory=dict)
    usage: Mapping[str, TopicUsage] = field(default_factory=dict)
    moving: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    broker_defaults: Mapping[str, str] = field(default_factory=dict)
    has_authorizer: bool = True
    virtual_clusters: Mapping[str, VirtualCluster] = field(default_factory=dict)
    lowered: Lowered | None = None
    group_offsets: Mapping[str, GroupOffsets] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    registry: RegistryState | None = None
    not_checked: tuple[NotChecked, ...] = ()
    captured_at: str = ""

    @property
    def partial_acls(self) -> frozenset[AclBinding]:
        """Bindings of virtual clusters that are not there, but part of them may be (VC-327)."""
        if self.lowered is None:
            return frozenset()
        return self.lowered.missing_acls | self.lowered.begun_acls

    @property
    def partial_quotas(self) -> frozenset[tuple[ClientQuotaEntity, str]]:
        """Quotas, by entity and key, likewise."""
        if self.lowered is None:
            return frozenset()
        return self.lowered.begun_quotas.union(self.lowered.missing_quotas)

    def link(self, local: LocalName) -> TopicLink | None:
        """The link of that name; None where there is none."""
        found = self.virtual_clusters.get(local.virtual_cluster)
        return found.links.get(local.name) if found else None

    def with_usage(self, usage: Usage) -> "ClusterState":
        """The same cluster, and what is known of how these topics are used."""
        return replace(
            self,
            usage={**self.usage, **usage.topics},
            not_checked=tuple(dict.fromkeys((*self.not_checked, *usage.not_checked))),
        )


class Validation(StrEnum):
    """Who checked a planned request before it is sent."""

    BROKER = "broker"
    CLIENT = "client"
    NOT_SUPPORTED = "not-supported"


class VirtualClusterSupport(StrEnum):
    """Whether brokers know virtual clusters, kgitops stands in for them, or there are none."""

    NATIVE = "native"
    LOWERED = "lowered"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """By what brokers know kgitops where they hold its clients to quotas.

    ``user`` is the name it logs in with, without its type; None where it can't be told, as of a
    certificate or a token.
    """

    client_id: str
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Which APIs a cluster carries out, by their name in a plan, and who can check each.

    ``virtual_clusters`` says how it has them (VC-351). ``client`` is None where quotas don't
    throttle kgitops.
    """

    backend: str
    validation: Mapping[str, Validation]
    virtual_clusters: VirtualClusterSupport = VirtualClusterSupport.NONE
    client: Client | None = None

    def supports(self, api: str) -> bool:
        """Whether the cluster can carry out requests of this api."""
        return api in self.validation
