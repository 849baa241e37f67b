"""The state of a cluster before any request takes effect: one immutable snapshot (KIP-201)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.model.acls import AclBinding
from kgitops.model.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.registry import RegistryState
from kgitops.model.topics import TopicState


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
class ClusterState:
    """Everything that planning reads of a cluster.

    ``broker_defaults`` gives the value of a topic config where the topic sets none, with its
    source, as DescribeConfigs reports it: only what differs from Kafka's own default need be there.
    ``moving`` names the partitions of each topic whose replicas are being reassigned; it is of
    the moment, so that snapshots leave it out.
    ``registry`` is None when the cluster has none yet; one that can't be read is an error instead.
    """

    cluster_id: str
    backend: str
    brokers: tuple[Broker, ...] = ()
    controller_id: int = -1
    topics: Mapping[str, TopicState] = field(default_factory=dict)
    acls: frozenset[AclBinding] = frozenset()
    quotas: Mapping[ClientQuotaEntity, ClientQuotaState] = field(default_factory=dict)
    usage: Mapping[str, TopicUsage] = field(default_factory=dict)
    moving: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    broker_defaults: Mapping[str, str] = field(default_factory=dict)
    registry: RegistryState | None = None
    captured_at: str = ""
