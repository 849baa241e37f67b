"""Requests as policies see them: KIP-201's request metadata, and the same for other kinds.

These are no wire classes (P108-08): fields may be added, always by keyword. The request of
``kgitops.model.requests`` of the same name is sent to a cluster; this one also has the principal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.policy.api.states import (
    RequestedBrokerState,
    RequestedQuotaState,
    VirtualClusterChange,
    VirtualClusterState,
)


@dataclass(frozen=True, slots=True, order=True)
class Principal:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labelled:
    """Every request: ``labels`` are the ``metadata.labels`` of the document that asks for it.

    They are empty where none does: a command, another client, a document that is gone.
    """

    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TopicRequest(_Labelled):
    """``topic`` is the physical name, ``local`` the one by which a virtual cluster knows it.

    ``links`` are all the names by which virtual clusters see the topic: a change of it is one for
    all of them (VC-036).
    """

    topic: str
    principal: Principal
    local: LocalName | None = None
    links: frozenset[LocalName] = frozenset()

    @property
    def name(self) -> str:
        """The topic's name for its users, by which policies judge names (VC-065)."""
        return self.topic if self.local is None else self.local.name

    @property
    def virtual_cluster(self) -> str | None:
        """The virtual cluster on whose behalf it is asked; None for a topic of the cluster."""
        return None if self.local is None else self.local.virtual_cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest(_TopicRequest):
    """A topic is to be created (P201-52)."""

    requested_state: RequestedTopicState


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTopicRequest(_TopicRequest):
    """Configs, partitions or replicas of a topic are to be changed (P201-54).

    ``requested_state`` is the whole topic afterwards; before it is
    ``cluster_state.topic_state(request.topic)``.
    """

    requested_state: RequestedTopicState


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicRequest(_TopicRequest):
    """A topic is to be deleted (P201-56)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsRequest(_TopicRequest):
    """Records of a topic are to be deleted (P201-58).

    ``deleted_message_offsets`` maps a partition to the first offset that is kept: everything
    below is removed (P201-59). A partition with nothing to delete is absent (P201-60).
    """

    deleted_message_offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterBrokerRequest(_Labelled):
    """Configs of a broker are to be changed, or the broker starts with them (P201-84…88)."""

    broker_id: int
    principal: Principal
    requested_state: RequestedBrokerState


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAclRequest(_Labelled):
    """An ACL binding is to be added. ``principal`` asks; ``binding.principal`` gets the right."""

    principal: Principal
    binding: AclBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclRequest(_Labelled):
    """An ACL binding is to be removed."""

    principal: Principal
    binding: AclBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClientQuotaRequest(_Labelled):
    """Quotas of an entity are to be set or removed."""

    entity: ClientQuotaEntity
    principal: Principal
    requested_state: RequestedQuotaState


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateVirtualClusterRequest(_Labelled):
    """A virtual cluster is to be created, empty; its members come by requests of their own."""

    virtual_cluster: str
    principal: Principal
    requested_state: VirtualClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterVirtualClusterRequest(_Labelled):
    """One member of a virtual cluster is to be added, removed or moved, or its options set.

    Also offsets that are copied to a group, and a group that is deleted. ``principal`` asks; the
    member is ``entity_type`` and ``entity_name``, None where only options are set: of a user, the
    name is its principal. A member that is ``moved_from`` another virtual cluster leaves that at
    the same moment. ``adopts`` is the global group that a group takes over, or whose offsets it
    gets. Unlike a topic's, the state before comes with the request.
    """

    virtual_cluster: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteVirtualClusterRequest(_Labelled):
    """A virtual cluster is to be deleted; the cluster refuses one that is not empty."""

    virtual_cluster: str
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class _TopicLinkRequest(_Labelled):
    """``link`` is a name in ``virtual_cluster``, ``topic`` the physical one (VC-408).

    ``links`` are the other names by which virtual clusters see the topic before the request.
    """

    virtual_cluster: str
    link: str
    topic: str
    principal: Principal
    links: frozenset[LocalName] = frozenset()

    @property
    def affected(self) -> frozenset[str]:
        """The other virtual clusters that see the topic."""
        return frozenset(local.virtual_cluster for local in self.links) - {self.virtual_cluster}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicLinkRequest(_TopicLinkRequest):
    """A virtual cluster is to see the physical ``topic`` under the name ``link``.

    ``replaces`` is the topic that the link leads to so far (VC-028). The link that comes with a new
    topic is part of that topic's request.
    """

    replaces: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicLinkRequest(_TopicLinkRequest):
    """A virtual cluster is no longer to see a topic; the topic itself stays."""


TopicRequest = CreateTopicRequest | AlterTopicRequest | DeleteTopicRequest | DeleteRecordsRequest
TopicLinkRequest = CreateTopicLinkRequest | DeleteTopicLinkRequest
VirtualClusterRequest = (
    CreateVirtualClusterRequest
    | AlterVirtualClusterRequest
    | DeleteVirtualClusterRequest
    | TopicLinkRequest
)
PolicyRequest = (
    TopicRequest
    | AlterBrokerRequest
    | CreateAclRequest
    | DeleteAclRequest
    | AlterClientQuotaRequest
    | VirtualClusterRequest
)


def api_of(request: PolicyRequest) -> str:
    """The api of a request: ``CreateTopic``."""
    return type(request).__name__.removesuffix("Request")
