"""The closed family of metadata records: the log's contents, and the only way to change state.

They are named as in Kafka's metadata module. A record states the new facts and not the request, so
that replaying it needs no rules.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import Assignment
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)


class RegisterBrokerRecord(Struct, frozen=True, kw_only=True):
    """A broker joined, or came back with another rack."""

    id: int
    rack: str | None = None


class BrokerRegistrationChangeRecord(Struct, frozen=True, kw_only=True):
    """A broker was fenced (it is dead to clients) or unfenced."""

    id: int
    fenced: bool


class TopicRecord(Struct, frozen=True, kw_only=True):
    """A topic was created, with its partitions and configs (Kafka writes one record for each)."""

    name: str
    topic_id: str
    assignment: Assignment
    configs: Mapping[str, str] = field(default_factory=dict)


class PartitionsRecord(Struct, frozen=True, kw_only=True):
    """Partitions were added after the existing ones."""

    topic_id: str
    assignment: Assignment


class ReassignmentRecord(Struct, frozen=True, kw_only=True):
    """A partition began to move to ``target``; None: the move was cancelled."""

    topic_id: str
    partition: int
    target: tuple[int, ...] | None


class PartitionChangeRecord(Struct, frozen=True, kw_only=True):
    """A partition now is on ``replicas``, and no longer moves."""

    topic_id: str
    partition: int
    replicas: tuple[int, ...]


class MarkTopicRecord(Struct, frozen=True, kw_only=True):
    """A topic's deletion was accepted and is not finished (A4-63)."""

    topic_id: str


class RemoveTopicRecord(Struct, frozen=True, kw_only=True):
    """A topic was removed, with its configs and records."""

    topic_id: str


class OffsetsRecord(Struct, frozen=True, kw_only=True):
    """Contents of partitions: partition to (log start offset, high watermark, size in bytes).

    Kafka keeps this in the partitions' own logs; here it stands in for their data.
    """

    topic_id: str
    offsets: Mapping[int, tuple[int, int, int]]


class ConfigRecord(Struct, frozen=True, kw_only=True):
    """A config of a topic (by id) or of a broker (``""``: of all brokers); None removes it.

    Or of a group (by its physical id), or of a subscription to clients' metrics.
    """

    resource_type: str
    resource: str
    key: str
    value: str | None


class AccessControlEntryRecord(Struct, frozen=True, kw_only=True):
    """An ACL binding was added."""

    binding: AclBinding


class RemoveAccessControlEntryRecord(Struct, frozen=True, kw_only=True):
    """An ACL binding was removed."""

    binding: AclBinding


class ClientQuotaRecord(Struct, frozen=True, kw_only=True):
    """A quota of an entity; None removes it."""

    entity: ClientQuotaEntity
    key: str
    value: float | None


class OffsetDetails(Struct, frozen=True, kw_only=True):
    """A consumer's remarks on an offset that it committed, and the time of the commit."""

    leader_epoch: int = -1
    metadata: str = ""
    timestamp_ms: int = -1


OffsetsDetails = Mapping[tuple[str, int], OffsetDetails]
"""By topic and partition; not of every offset."""


class GroupRecord(Struct, frozen=True, kw_only=True):
    """A group was created, or committed offsets, by physical topic and partition (VC-045).

    ``group`` is the physical id; ``virtual_cluster`` is the one that the group was first used in,
    None for the global namespace. Kafka keeps this in ``__consumer_offsets``.
    """

    group: str
    virtual_cluster: str | None = None
    committed: GroupOffsets = field(default_factory=dict)
    details: OffsetsDetails = field(default_factory=dict)


class RemoveGroupRecord(Struct, frozen=True, kw_only=True):
    """A group was removed, with its offsets."""

    group: str


class ProducerIdsRecord(Struct, frozen=True, kw_only=True):
    """Producer ids below this one are assigned."""

    next_producer_id: int


class TransactionRecord(Struct, frozen=True, kw_only=True):
    """The producer that may write under a physical transactional id; ``open``: in a transaction.

    Kafka keeps this in ``__transaction_state``.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    open: bool = False


class UserScramCredentialRecord(Struct, frozen=True, kw_only=True):
    """Keys that a user's SCRAM login is checked with (RFC 5802), and that nobody can log in with.

    ``salt`` and both keys are bytes in base64.
    """

    user: str
    mechanism: str
    salt: str
    stored_key: str
    server_key: str
    iterations: int


class RemoveUserScramCredentialRecord(Struct, frozen=True, kw_only=True):
    """A user can no longer log in by this mechanism of SCRAM."""

    user: str
    mechanism: str


class PendingOffset(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An offset that a group commits together with a transaction."""

    group: str
    virtual_cluster: str | None
    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class TransactionContents(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The contents of a transactional id's last transaction, and how that one ended.

    ``partitions`` are named by topic ids, ``groups`` and ``offsets`` by physical names; an offset
    is a group's, with the virtual cluster of its user.
    """

    timeout_ms: int = 60_000
    started_ms: int = -1
    committed: bool | None = None
    """None while it is open, and before the first one."""
    partitions: tuple[tuple[str, int], ...] = ()
    groups: tuple[str, ...] = ()
    offsets: tuple[PendingOffset, ...] = ()


class TransactionContentsRecord(Struct, frozen=True, kw_only=True):
    """A transaction grew, began or ended. Kafka keeps this in ``__transaction_state``, too."""

    transactional_id: str
    contents: TransactionContents


Record = (
    RegisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | TopicRecord
    | PartitionsRecord
    | ReassignmentRecord
    | PartitionChangeRecord
    | MarkTopicRecord
    | RemoveTopicRecord
    | OffsetsRecord
    | ConfigRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | ClientQuotaRecord
    | GroupRecord
    | RemoveGroupRecord
    | ProducerIdsRecord
    | TransactionRecord
    | UserScramCredentialRecord
    | RemoveUserScramCredentialRecord
    | TransactionContentsRecord
    | VirtualClusterRecord
    | RemoveVirtualClusterRecord
    | VirtualClusterTopicLinkRecord
    | VirtualClusterEntityRecord
)

TOPIC = "topic"
BROKER = "broker"
GROUP = "group"
CLIENT_METRICS = "client_metrics"
BROKER_LOGGER = "broker_logger"
"""A logger's level is never in a record: it lasts as long as its process."""


def wire_records(record: Record) -> int:
    """The number of records that Kafka would write for this one; batches are limited (A4-03)."""
    match record:
        case TopicRecord():
            return 1 + len(record.assignment) + len(record.configs)
        case PartitionsRecord():
            return len(record.assignment)
        case OffsetsRecord() | GroupRecord() | RemoveGroupRecord():
            return 0
        case TransactionRecord() | TransactionContentsRecord():
            return 0
        case _:
            return 1
