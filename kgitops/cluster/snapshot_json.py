"""The shape of a snapshot file: a ClusterState as a document and back, every part of it required.

64-bit integers and quotas are text.
"""

from collections.abc import Mapping, Sequence

from msgspec import convert, field

from kgitops.cluster.snapshot_virtual_clusters import (
    LoweredDocument,
    OffsetDocument,
    VirtualClusterPart,
    by_key,
    entity_order,
    lowered_document,
    lowered_of,
    offset_documents,
    offsets_of,
    virtual_cluster_document,
    virtual_cluster_of,
)
from kgitops.model.cluster_state import Broker, ClusterState, NotChecked, TopicUsage
from kgitops.model.json.codec import JsonObject, WholeNumberText
from kgitops.model.json.declared import check_declaration
from kgitops.model.json.objects import (
    BindingDocument,
    Entity,
    ShortestDecimals,
    binding_document,
    binding_of,
    like,
)
from kgitops.model.json.records import is_known_version
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import (
    SCHEMA_VERSION,
    Json,
    Owner,
    RecordedRun,
    RegistryState,
    TakeoverRecord,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import ClientQuotaState, make_entity
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import ScramIterations, ScramMechanism, found_users

KIND = "kgitops.snapshot"
FORMAT_VERSION = "1.0"

_Numbers = tuple[WholeNumberText | None, ...]


class UsageDocument(JsonObject, frozen=True, kw_only=True):
    """One of ``usage``."""

    log_start_offsets: _Numbers
    high_watermarks: _Numbers
    size_bytes: _Numbers
    active_groups: tuple[str, ...] | None


class QuotasDocument(JsonObject, frozen=True, kw_only=True):
    """One of ``quotas``."""

    entity: Entity
    quotas: Mapping[str, ShortestDecimals]


class RegistryPart(JsonObject, frozen=True, kw_only=True):
    """The ``registry``."""

    topic_id: str
    offset: WholeNumberText
    projects: Mapping[str, str]
    owners: Mapping[str, Owner]
    formerly: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    virtual_clusters: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    schema_version: int = 1
    """Left out by those versions of kgitops that know only the first."""

    def __post_init__(self) -> None:
        if not is_known_version(self.schema_version):
            raise ValueError(
                f"has schema_version {self.schema_version}, this kgitops knows {SCHEMA_VERSION} "
                "and older; use a newer kgitops"
            )

    releases: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, RecordedRun] = field(default_factory=dict)
    takeovers: Mapping[str, TakeoverRecord] = field(default_factory=dict)


class SnapshotDocument(JsonObject, frozen=True, kw_only=True):
    """A snapshot: what virtual clusters need, and users, are there only where there are any."""

    kind: str
    format_version: Json
    cluster_id: str
    backend: str
    captured_at: str
    controller_id: int
    brokers: tuple[Broker, ...]
    topics: tuple[TopicState, ...]
    usage: Mapping[str, UsageDocument]
    acls: tuple[BindingDocument, ...]
    quotas: tuple[QuotasDocument, ...]
    broker_defaults: Mapping[str, str]
    has_authorizer: bool
    registry: RegistryPart | None
    not_checked: tuple[NotChecked, ...]
    virtual_clusters: tuple[VirtualClusterPart, ...] = ()
    lowered: LoweredDocument | None = None
    group_offsets: Mapping[str, tuple[OffsetDocument, ...]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, Mapping[str, int]] | None = None


def snapshot_document(state: ClusterState) -> SnapshotDocument:
    """The document of a state, without its running reassignments, its groups and client metrics.

    Those are read for the plans that are about them.
    """
    registry = state.registry
    return like(
        SnapshotDocument,
        state,
        kind=KIND,
        format_version=FORMAT_VERSION,
        topics=tuple(state.topics[name] for name in sorted(state.topics)),
        usage={name: usage_document(usage) for name, usage in state.usage.items()},
        acls=tuple(map(binding_document, sorted(state.acls))),
        quotas=tuple(
            quotas_document(state.quotas[entity])
            for entity in sorted(state.quotas, key=entity_order)
        ),
        registry=registry and like(RegistryPart, registry, offset=str(registry.offset)),
        virtual_clusters=tuple(
            virtual_cluster_document(state.virtual_clusters[name])
            for name in sorted(state.virtual_clusters)
        ),
        lowered=state.lowered and lowered_document(state.lowered),
        group_offsets={name: offset_documents(each) for name, each in state.group_offsets.items()},
        users=None if state.users is None else users_document(state.users),
    )


def state_of(document: SnapshotDocument) -> ClusterState:
    """The state in a document.

    Raises:
        ShapeError: something is there twice, or a record's declaration is of another shape.
    """
    registry = document.registry
    for address, owner in registry.owners.items() if registry else ():
        check_declaration(address, owner)
    clusters = map(virtual_cluster_of, document.virtual_clusters)
    state = like(
        ClusterState,
        document,
        moving={},
        objects={},
        asked=frozenset(),
        offsets_since={},
        topics=by_key("topics", ((topic.name, topic) for topic in document.topics)),
        usage={name: usage_of(usage) for name, usage in document.usage.items()},
        acls=frozenset(map(binding_of, document.acls)),
        quotas={quota.entity: quota for quota in map(quotas_of, document.quotas)},
        registry=registry and like(RegistryState, registry, offset=int(registry.offset)),
        virtual_clusters=by_key("virtual_clusters", ((each.name, each) for each in clusters)),
        lowered=document.lowered and lowered_of(document.lowered),
        group_offsets={name: offsets_of(each) for name, each in document.group_offsets.items()},
    )
    if document.users is None:
        return state
    return state.with_objects(found_users(users_of(document.users)), Kind.USER)


def users_document(users: Mapping[str, ScramIterations]) -> dict[str, dict[str, int]]:
    """The iterations of users' mechanisms, by user and mechanism."""
    return {
        name: {str(mechanism): users[name][mechanism] for mechanism in sorted(users[name])}
        for name in sorted(users)
    }


def users_of(users: Mapping[str, Mapping[str, int]]) -> dict[str, ScramIterations]:
    """The users of such a document.

    Raises:
        ShapeError: a user has no mechanism, or one that kgitops does not know.
    """
    known = {str(mechanism) for mechanism in ScramMechanism}
    for name, held in users.items():
        if not held or not known.issuperset(held):
            raise ShapeError(f"users.{name} has no mechanism, or one that kgitops does not know")
    return {
        name: {ScramMechanism(mechanism): held[mechanism] for mechanism in held}
        for name, held in users.items()
    }


def usage_document(usage: TopicUsage) -> UsageDocument:
    """The document of a topic's usage."""
    return UsageDocument(
        log_start_offsets=_texts(usage.log_start_offsets),
        high_watermarks=_texts(usage.high_watermarks),
        size_bytes=_texts(usage.size_bytes),
        active_groups=usage.active_groups,
    )


def _texts(numbers: Sequence[int | None]) -> _Numbers:
    return tuple([None if number is None else str(number) for number in numbers])


def usage_of(document: UsageDocument) -> TopicUsage:
    return convert(document, TopicUsage, from_attributes=True, strict=False)  # numbers of text


def quotas_document(quota: ClientQuotaState) -> QuotasDocument:
    """The document of an entity's quotas."""
    quotas = {key: ShortestDecimals.of(value) for key, value in quota.quotas.items()}
    return QuotasDocument(entity=dict(quota.entity), quotas=quotas)


def quotas_of(document: QuotasDocument) -> ClientQuotaState:
    """The entity's quotas in a document."""
    quotas = {key: float(value) for key, value in document.quotas.items()}
    return ClientQuotaState(entity=make_entity(document.entity), quotas=quotas)
