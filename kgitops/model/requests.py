"""The closed set of logical requests that kgitops can send to a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
)


class AlterStep(StrEnum):
    """The parts of a topic that Kafka changes with separate requests (P201-11)."""

    CONFIGS = "configs"
    PARTITIONS = "partitions"
    REPLICAS = "replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labelled:
    """Base of all requests: ``labels`` are the ``metadata.labels`` of the document behind it.

    Policies and reports read them. They are never sent to Kafka, so two requests that differ in
    nothing else are equal. They are empty where there is no document, as for a command.
    """

    labels: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest(_Labelled):
    """CreateTopics: one topic; ``requested_state.topic_id`` is None until a broker mints it.

    With ``local`` it is created in a virtual cluster (VC-062): ``topic`` and the state's name then
    begin with :data:`NEW_UUID`, which the cluster replaces, and a link is created too.
    """

    topic: str
    requested_state: RequestedTopicState
    local: LocalName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTopicRequest(_Labelled):
    """One step of an alteration: IncrementalAlterConfigs, CreatePartitions or a reassignment.

    ``requested_state`` is the whole topic after this step and no further one. ``local`` is the
    name under which a topic of a virtual cluster is declared; ``topic`` is always the physical one.
    """

    topic: str
    topic_id: str
    step: AlterStep
    requested_state: RequestedTopicState
    local: LocalName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicRequest(_Labelled):
    """DeleteTopics, by topic id only: a topic that was re-created under the name survives."""

    topic: str
    topic_id: str
    local: LocalName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsRequest(_Labelled):
    """DeleteRecords: partition id to the first offset that is kept (P201-58, P201-59)."""

    topic: str
    topic_id: str
    deleted_message_offsets: Mapping[int, int]
    local: LocalName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAclRequest(_Labelled):
    """CreateAcls: one binding; one that exists already is a success."""

    binding: AclBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclRequest(_Labelled):
    """DeleteAcls with a filter that matches this binding and no other.

    ``migrated_to`` is the address of the member whose ``removeOldAclsFrom`` asks for it: the only
    reason to delete a binding that no project manages (VC-191).
    """

    binding: AclBinding
    migrated_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClientQuotaRequest(_Labelled):
    """AlterClientQuotas: key to the new value, None for a key that is removed."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterBrokerRequest(_Labelled):
    """IncrementalAlterConfigs of one broker's replication throttle: key to value, None removes it.

    No other config of a broker is ever changed: :data:`kgitops.model.resources.topics.RATES`.
    """

    broker: int
    configs: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateVirtualClusterRequest(_Labelled):
    """CreateVirtualClusters: one, empty (VC-231). ``options`` apply where it is lowered."""

    virtual_cluster: str
    options: LoweringOptions = field(default_factory=LoweringOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterVirtualClusterRequest(_Labelled):
    """AlterVirtualClusters: one entity is added or removed (VC-233), or ``options`` are set.

    For a topic link, ``entity_name`` is the link's name, and it leads to ``topic`` or to the topic
    that the link ``target`` then leads to. ``replaces`` is the physical topic that the link leads
    to now (VC-028); ``moved_from`` the virtual cluster that loses the entity at the same moment
    (VC-086); ``adopts`` the global group that a group takes over (VC-114). ``entity_type`` and
    ``entity_name`` are None where only ``options`` are set.
    """

    virtual_cluster: str
    change: ChangeType = ChangeType.ADD
    entity_type: EntityType | None = None
    entity_name: str | None = None
    topic: str | None = None
    target: LocalName | None = None
    replaces: str | None = None
    moved_from: str | None = None
    adopts: str | None = None
    options: LoweringOptions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteVirtualClusterRequest(_Labelled):
    """DeleteVirtualClusters: one, which must be empty (VC-245)."""

    virtual_cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyGroupOffsetsRequest(_Labelled):
    """Copy the committed offsets of the global group ``source`` to one that has none (VC-114)."""

    virtual_cluster: str
    group: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupRequest(_Labelled):
    """DeleteGroups: a virtual cluster's group, which must be empty of members (VC-119)."""

    virtual_cluster: str
    group: str


NEW_UUID = "<uuid:new>"
"""Placeholder in a topic's name for the uuid that it gets when it is created (VC-057)."""

Request = (
    CreateTopicRequest
    | AlterTopicRequest
    | DeleteTopicRequest
    | DeleteRecordsRequest
    | CreateAclRequest
    | DeleteAclRequest
    | AlterClientQuotaRequest
    | AlterBrokerRequest
    | CreateVirtualClusterRequest
    | AlterVirtualClusterRequest
    | DeleteVirtualClusterRequest
    | CopyGroupOffsetsRequest
    | DeleteGroupRequest
)


def with_labels(request: Request, labels: Mapping[str, str]) -> Request:
    """The request with these labels; itself where there are none."""
    return replace(request, labels=labels) if labels else request


def api_name(request: Request) -> str:
    """The request's ``api`` in a plan: ``CreateTopic``, ``AlterTopic``, ``DeleteAcl``, …."""
    return type(request).__name__.removesuffix("Request")
