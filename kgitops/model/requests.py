"""The closed set of logical requests that kgitops can send to a cluster.

Pages that need many of them import this module as ``req``: their variables are called ``requests``.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, assert_never

from msgspec import field
from msgspec.structs import replace

from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    config_resource_address,
    group_address,
    local_topic_address,
    member_address,
    quota_address,
    topic_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.secrets import SaltedPassword
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.users import PasswordSource, ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
)
from kgitops.model.values import PartlyCompared


class AlterStep(StrEnum):
    """The parts of a topic that Kafka changes with separate requests (P201-11)."""

    CONFIGS = "configs"
    PARTITIONS = "partitions"
    REPLICAS = "replicas"


class LabelledRequest(PartlyCompared, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all requests: ``labels`` are the ``metadata.labels`` of the document behind it.

    Policies and reports read them. They are never sent to Kafka, so two requests that differ in
    nothing else are equal. They are empty where there is no document, as for a command.
    """

    not_compared: ClassVar = "labels"
    labels: Mapping[str, str] = field(default_factory=dict)


class TopicRequest(LabelledRequest, frozen=True, kw_only=True):
    """Base of requests about a topic; ``topic`` is its physical name.

    ``local`` is the name by which a virtual cluster knows the topic, if the request is about it.
    """

    topic: str
    local: LocalName | None = None

    @property
    def name(self) -> str:
        """The topic's name for its users, by which policies judge names (VC-065)."""
        return self.topic if self.local is None else self.local.name


class ExistingTopicRequest(TopicRequest, frozen=True, kw_only=True):
    """Base of requests about a topic that exists: not about another one of its name."""

    topic_id: str


class AclRequest(LabelledRequest, frozen=True, kw_only=True):
    """Base of requests about one ACL binding."""

    binding: AclBinding


class VirtualClusterRequest(LabelledRequest, frozen=True, kw_only=True):
    """Base of requests about a virtual cluster, its members or its links."""

    virtual_cluster: str


class GroupRequest(VirtualClusterRequest, frozen=True, kw_only=True):
    """Base of requests about the offsets of a virtual cluster's group."""

    group: str


class ConsumerGroupRequest(LabelledRequest, frozen=True, kw_only=True):
    """Base of requests about a consumer group outside of virtual clusters, by its id."""

    group: str


class CreateTopicRequest(TopicRequest, frozen=True, kw_only=True):
    """CreateTopics: one topic; ``requested_state.topic_id`` is None until a broker mints it.

    With ``local`` it is created in a virtual cluster (VC-062): ``topic`` and the state's name then
    begin with :data:`NEW_UUID`, which the cluster replaces, and a link is created too.
    """

    requested_state: RequestedTopicState


class AlterTopicRequest(ExistingTopicRequest, frozen=True, kw_only=True):
    """One step of an alteration: IncrementalAlterConfigs, CreatePartitions or a reassignment.

    ``requested_state`` is the whole topic after this step and no further one.
    """

    step: AlterStep
    requested_state: RequestedTopicState


class DeleteTopicRequest(ExistingTopicRequest, frozen=True, kw_only=True):
    """DeleteTopics, by topic id only: a topic that was re-created under the name survives."""


class DeleteRecordsRequest(ExistingTopicRequest, frozen=True, kw_only=True):
    """DeleteRecords: partition id to the first offset that is kept (P201-58, P201-59)."""

    deleted_message_offsets: Mapping[int, int]


class CreateAclRequest(AclRequest, frozen=True, kw_only=True):
    """CreateAcls: one binding; one that exists already is a success."""


class DeleteAclRequest(AclRequest, frozen=True, kw_only=True):
    """DeleteAcls with a filter that matches this binding and no other.

    ``migrated_to`` is the address of the member whose ``removeOldAclsFrom`` asks for it: the only
    reason to delete a binding that no project manages (VC-191).
    """

    migrated_to: str | None = None


class AlterClientQuotaRequest(LabelledRequest, frozen=True, kw_only=True):
    """AlterClientQuotas: key to the new value, None for a key that is removed."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float | None]


class AlterBrokerRequest(LabelledRequest, frozen=True, kw_only=True):
    """IncrementalAlterConfigs of one broker's replication throttle: key to value, None removes it.

    The keys are :data:`kgitops.model.resources.topics.RATES`. What documents declare of a broker is
    an :class:`AlterConfigResourceRequest`.
    """

    broker: int
    configs: Mapping[str, str | None]


class AlterConfigResourceRequest(LabelledRequest, frozen=True, kw_only=True):
    """IncrementalAlterConfigs of a group, of a subscription to clients' metrics or of brokers.

    Key to the new value, None for a key that is removed. Groups and subscriptions need not exist
    before. A broker's name is its id, or ``ALL_BROKERS``.
    """

    resource_type: ConfigResourceType
    resource_name: str
    configs: Mapping[str, str | None]


class AlterConsumerGroupOffsetsRequest(ConsumerGroupRequest, frozen=True, kw_only=True):
    """OffsetCommit for a group without members; other partitions keep what was committed."""

    topics: tuple[TopicOffsets, ...]


class DeleteConsumerGroupRequest(ConsumerGroupRequest, frozen=True, kw_only=True):
    """DeleteGroups: one, with its offsets; it must have no members."""


class CreateVirtualClusterRequest(VirtualClusterRequest, frozen=True, kw_only=True):
    """CreateVirtualClusters: one, empty (VC-231). ``options`` apply where it is lowered."""

    options: LoweringOptions = field(default_factory=LoweringOptions)


class AlterVirtualClusterRequest(VirtualClusterRequest, frozen=True, kw_only=True):
    """AlterVirtualClusters: one entity is added or removed (VC-233), or ``options`` are set.

    For a topic link, ``entity_name`` is the link's name, and it leads to ``topic`` or to the topic
    that the link ``target`` then leads to. ``replaces`` is the physical topic that the link leads
    to now (VC-028); ``moved_from`` the virtual cluster that loses the entity at the same moment
    (VC-086); ``adopts`` the global group that a group takes over (VC-114). ``entity_type`` and
    ``entity_name`` are None where only ``options`` are set.
    """

    change: ChangeType = ChangeType.ADD
    entity_type: EntityType | None = None
    entity_name: str | None = None
    topic: str | None = None
    target: LocalName | None = None
    replaces: str | None = None
    moved_from: str | None = None
    adopts: str | None = None
    options: LoweringOptions | None = None


class DeleteVirtualClusterRequest(VirtualClusterRequest, frozen=True, kw_only=True):
    """DeleteVirtualClusters: one, which must be empty (VC-245)."""


class CopyGroupOffsetsRequest(GroupRequest, frozen=True, kw_only=True):
    """Copy the committed offsets of the global group ``source`` to one that has none (VC-114)."""

    source: str


class DeleteGroupRequest(GroupRequest, frozen=True, kw_only=True):
    """DeleteGroups: a virtual cluster's group, which must be empty of members (VC-119)."""


class AlterUserScramCredentialsRequest(LabelledRequest, frozen=True, kw_only=True):
    """AlterUserScramCredentials: one mechanism of one user is set, or removed.

    ``iterations`` and ``password`` are None where it is removed. ``password`` tells where it comes
    from: an apply reads it just before it sends. ``virtual_cluster`` is the one that the document
    is in, of which the user must be a member (VC-160c).
    """

    user: str
    mechanism: ScramMechanism
    iterations: int | None = None
    password: PasswordSource | None = None
    virtual_cluster: str | None = None

    @property
    def removes(self) -> bool:
        """True if the mechanism is taken away."""
        return self.iterations is None


class SaltedCredentialsRequest(AlterUserScramCredentialsRequest, frozen=True, kw_only=True):
    """The same with the salted password: what is sent, and never written anywhere."""

    salted: SaltedPassword


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
    | AlterUserScramCredentialsRequest
    | AlterConfigResourceRequest
    | AlterConsumerGroupOffsetsRequest
    | DeleteConsumerGroupRequest
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


def request_address(request: Request) -> str:
    """The address of the object that the request changes."""
    match request:
        case TopicRequest(local=local):
            return local_topic_address(local) if local else topic_address(request.topic)
        case AclRequest():
            return acl_address(request.binding)
        case AlterClientQuotaRequest():
            return quota_address(request.entity)
        case AlterBrokerRequest():
            return broker_address(request.broker)
        case AlterUserScramCredentialsRequest():
            return user_address(request.user)
        case AlterConfigResourceRequest():
            return config_resource_address(request.resource_type, request.resource_name)
        case ConsumerGroupRequest():
            return group_address(request.group)
        case AlterVirtualClusterRequest(entity_type=EntityType() as kind, entity_name=str(name)):
            return member_address(request.virtual_cluster, kind, name)
        case GroupRequest():
            return member_address(request.virtual_cluster, EntityType.GROUP, request.group)
        case VirtualClusterRequest():
            return virtual_cluster_address(request.virtual_cluster)
        case _:
            assert_never(request)
