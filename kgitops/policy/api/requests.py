"""Requests as policies see them: KIP-201's request metadata, and the same for other kinds.

These are no wire classes (P108-08): fields may be added, always by keyword. The request of
``kgitops.model.requests`` of the same name is sent to a cluster; this one also has the principal,
and the state that it leads to.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct, field

from kgitops.model import requests as req
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
)


class BrokerState(Struct, frozen=True, kw_only=True):
    """A broker's configs (P201-82)."""

    configs: Mapping[str, str] = field(default_factory=dict)


class RequestedBrokerState(BrokerState, frozen=True, kw_only=True):
    """A broker as it would be after a request (P201-83).

    ``configs`` is the true state afterwards; ``requested_configs`` only what the request names,
    None for a key that it removes.
    """

    requested_configs: Mapping[str, str | None] = field(default_factory=dict)


class QuotaState(Struct, frozen=True, kw_only=True):
    """The quotas of one entity, by Kafka's key."""

    quotas: Mapping[str, float] = field(default_factory=dict)


class RequestedQuotaState(QuotaState, frozen=True, kw_only=True):
    """The quotas as they would be; ``requested_quotas`` has None for a key that is removed."""

    requested_quotas: Mapping[str, float | None] = field(default_factory=dict)


class VirtualClusterState(Struct, frozen=True, kw_only=True):
    """A virtual cluster with its members and links.

    ``users`` are principals; ``links`` are by link name, and each knows its physical topic; the
    rest are names within the virtual cluster.
    """

    name: str
    users: frozenset[str] = frozenset()
    client_ids: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    transactional_ids: frozenset[str] = frozenset()
    links: Mapping[str, TopicLink] = field(default_factory=dict)
    options: LoweringOptions = field(default_factory=LoweringOptions)


class VirtualClusterChange(StrEnum):
    """The change of a member of a virtual cluster, or of the virtual cluster itself."""

    ADD = "add"
    REMOVE = "remove"
    COPY_OFFSETS = "copyOffsets"
    DELETE_GROUP = "deleteGroup"
    OPTIONS = "options"


def virtual_cluster_state(virtual_cluster: VirtualCluster) -> VirtualClusterState:
    """A read-only view of the virtual cluster."""
    return VirtualClusterState(
        name=virtual_cluster.name,
        users=virtual_cluster.users,
        client_ids=virtual_cluster.client_ids,
        groups=frozenset(virtual_cluster.groups),
        transactional_ids=virtual_cluster.transactional_ids,
        links=MappingProxyType(virtual_cluster.links),
        options=virtual_cluster.options,
    )


class Principal(Struct, frozen=True, order=True):
    """An authenticated principal (P201-50): ``User:kgitops`` is type and name."""

    type: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """``User:kgitops`` as a principal; only the first colon separates.

        Raises:
            ValueError: there is no colon.
        """
        type_, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"{text!r} is not a principal; write for example User:{text}")
        return cls(type_, name)

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
"""The principal of a request without an authenticated one (P201-51)."""


class TopicRequest(req.TopicRequest, frozen=True, kw_only=True):
    """``topic`` is the physical name, ``local`` the one by which a virtual cluster knows it.

    ``links`` are all the names by which virtual clusters see the topic: a change of it is one for
    all of them (VC-036).
    """

    principal: Principal
    links: frozenset[LocalName] = frozenset()

    @property
    def virtual_cluster(self) -> str | None:
        """The virtual cluster on whose behalf it is asked; None for a topic of the cluster."""
        return None if self.local is None else self.local.virtual_cluster


class CreateTopicRequest(TopicRequest, frozen=True, kw_only=True):
    """A topic is to be created (P201-52)."""

    requested_state: RequestedTopicState


class AlterTopicRequest(TopicRequest, frozen=True, kw_only=True):
    """Configs, partitions or replicas of a topic are to be changed (P201-54).

    ``requested_state`` is the whole topic afterwards; before it is
    ``cluster_state.topic_state(request.topic)``.
    """

    requested_state: RequestedTopicState


class DeleteTopicRequest(TopicRequest, frozen=True, kw_only=True):
    """A topic is to be deleted (P201-56)."""


class DeleteRecordsRequest(TopicRequest, frozen=True, kw_only=True):
    """Records of a topic are to be deleted (P201-58).

    ``deleted_message_offsets`` maps a partition to the first offset that is kept: everything
    below is removed (P201-59). A partition with nothing to delete is absent (P201-60).
    """

    deleted_message_offsets: Mapping[int, int]


ALL_BROKERS_ID = -1
"""The id of the broker where a plan changes the configs of all brokers."""


class AlterBrokerRequest(req.LabelledRequest, frozen=True, kw_only=True):
    """Configs of a broker are to be changed, or the broker starts with them (P201-84…88).

    ``broker_id`` is ``ALL_BROKERS_ID`` where a plan changes the configs of all brokers at once;
    brokers ask for each of them then (P201-89).
    """

    broker_id: int
    principal: Principal
    requested_state: RequestedBrokerState


class AlterConfigResourceRequest(req.LabelledRequest, frozen=True, kw_only=True):
    """Configs of a group or of a subscription to clients' metrics are to be changed.

    ``configs`` are what the request names, None for a key that it removes.
    """

    resource_type: ConfigResourceType
    resource_name: str
    configs: Mapping[str, str | None]
    principal: Principal


class AlterConsumerGroupOffsetsRequest(req.ConsumerGroupRequest, frozen=True, kw_only=True):
    """Offsets of a consumer group outside of virtual clusters are to be set, to exactly these."""

    topics: tuple[TopicOffsets, ...]
    principal: Principal


class DeleteConsumerGroupRequest(req.ConsumerGroupRequest, frozen=True, kw_only=True):
    """A consumer group outside of virtual clusters is to be deleted, with its offsets."""

    principal: Principal


class CreateAclRequest(req.AclRequest, frozen=True, kw_only=True):
    """An ACL binding is to be added. ``principal`` asks; ``binding.principal`` gets the right."""

    principal: Principal


class DeleteAclRequest(req.AclRequest, frozen=True, kw_only=True):
    """An ACL binding is to be removed."""

    principal: Principal


class AlterClientQuotaRequest(req.LabelledRequest, frozen=True, kw_only=True):
    """Quotas of an entity are to be set or removed."""

    entity: ClientQuotaEntity
    principal: Principal
    requested_state: RequestedQuotaState


class AlterUserScramCredentialsRequest(req.LabelledRequest, frozen=True, kw_only=True):
    """A mechanism by which a user logs in is to be set, with a new password, or removed.

    ``iterations`` are None where it is removed. ``virtual_cluster`` is the one that the user is a
    member of; None for none. A policy never sees the password, nor where it comes from. The
    mechanisms that the user has are ``cluster_state.user_credentials(request.user)``.
    """

    user: str
    mechanism: ScramMechanism
    iterations: int | None = None
    virtual_cluster: str | None = None
    principal: Principal


class CreateVirtualClusterRequest(req.VirtualClusterRequest, frozen=True, kw_only=True):
    """A virtual cluster is to be created, empty; its members come by requests of their own."""

    principal: Principal
    requested_state: VirtualClusterState


class AlterVirtualClusterRequest(req.VirtualClusterRequest, frozen=True, kw_only=True):
    """One member of a virtual cluster is to be added, removed or moved, or its options set.

    Also offsets that are copied to a group, and a group that is deleted. ``principal`` asks; the
    member is ``entity_type`` and ``entity_name``, None where only options are set: of a user, the
    name is its principal. A member that is ``moved_from`` another virtual cluster leaves that at
    the same moment. ``adopts`` is the global group that a group takes over, or whose offsets it
    gets. Unlike a topic's, the state before comes with the request.
    """

    principal: Principal
    current_state: VirtualClusterState
    requested_state: VirtualClusterState
    change: VirtualClusterChange
    entity_type: EntityType | None = None
    entity_name: str | None = None
    moved_from: str | None = None
    adopts: str | None = None

    @property
    def affected(self) -> frozenset[str]:
        """The other virtual clusters that the request changes (VC-408)."""
        return frozenset() if self.moved_from is None else frozenset({self.moved_from})


class DeleteVirtualClusterRequest(req.VirtualClusterRequest, frozen=True, kw_only=True):
    """A virtual cluster is to be deleted; the cluster refuses one that is not empty."""

    principal: Principal


class TopicLinkRequest(req.VirtualClusterRequest, frozen=True, kw_only=True):
    """``link`` is a name in ``virtual_cluster``, ``topic`` the physical one (VC-408).

    ``links`` are the other names by which virtual clusters see the topic before the request.
    """

    link: str
    topic: str
    principal: Principal
    links: frozenset[LocalName] = frozenset()

    @property
    def affected(self) -> frozenset[str]:
        """The other virtual clusters that see the topic."""
        return frozenset(local.virtual_cluster for local in self.links) - {self.virtual_cluster}


class CreateTopicLinkRequest(TopicLinkRequest, frozen=True, kw_only=True):
    """A virtual cluster is to see the physical ``topic`` under the name ``link``.

    ``replaces`` is the topic that the link leads to so far (VC-028). The link that comes with a new
    topic is part of that topic's request.
    """

    replaces: str | None = None


class DeleteTopicLinkRequest(TopicLinkRequest, frozen=True, kw_only=True):
    """A virtual cluster is no longer to see a topic; the topic itself stays."""


PolicyRequest = (
    CreateTopicRequest
    | AlterTopicRequest
    | DeleteTopicRequest
    | DeleteRecordsRequest
    | AlterBrokerRequest
    | AlterConfigResourceRequest
    | AlterConsumerGroupOffsetsRequest
    | DeleteConsumerGroupRequest
    | CreateAclRequest
    | DeleteAclRequest
    | AlterClientQuotaRequest
    | AlterUserScramCredentialsRequest
    | CreateVirtualClusterRequest
    | AlterVirtualClusterRequest
    | DeleteVirtualClusterRequest
    | CreateTopicLinkRequest
    | DeleteTopicLinkRequest
)


def api_of(request: PolicyRequest) -> str:
    """The api of a request: ``CreateTopic``."""
    return type(request).__name__.removesuffix("Request")
