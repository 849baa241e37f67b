"""What policies are asked about: KIP-201's request metadata, and the same for the other kinds.

These are no wire classes (P108-08): fields may be added, always by keyword. The request of
``kgitops.model.requests`` of the same name is what a cluster carries out; this one also knows who
asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.model.acls import AclBinding
from kgitops.model.quotas import ClientQuotaEntity
from kgitops.model.topics import RequestedTopicState
from kgitops.policy.principal import Principal
from kgitops.policy.states import (
    RequestedBrokerState,
    RequestedQuotaState,
    VirtualClusterState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest:
    """A topic is to be created (P201-52)."""

    topic: str
    principal: Principal
    requested_state: RequestedTopicState


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTopicRequest:
    """Configs, partitions or replicas of a topic are to be changed (P201-54).

    ``requested_state`` is the whole topic afterwards; before it is
    ``cluster_state.topic_state(request.topic)``.
    """

    topic: str
    principal: Principal
    requested_state: RequestedTopicState


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicRequest:
    """A topic is to be deleted (P201-56)."""

    topic: str
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsRequest:
    """Records of a topic are to be deleted (P201-58).

    ``deleted_message_offsets`` maps a partition to the first offset that is kept: everything
    below is removed (P201-59). A partition with nothing to delete is absent (P201-60).
    """

    topic: str
    principal: Principal
    deleted_message_offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterBrokerRequest:
    """Configs of a broker are to be changed, or the broker starts with them (P201-84…88)."""

    broker_id: int
    principal: Principal
    requested_state: RequestedBrokerState


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAclRequest:
    """An ACL binding is to be added. ``principal`` asks; ``binding.principal`` gets the right."""

    principal: Principal
    binding: AclBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclRequest:
    """An ACL binding is to be removed."""

    principal: Principal
    binding: AclBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClientQuotaRequest:
    """Quotas of an entity are to be set or removed."""

    entity: ClientQuotaEntity
    principal: Principal
    requested_state: RequestedQuotaState


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateVirtualClusterRequest:
    """A virtual cluster is to be created, with its first members."""

    virtual_cluster: str
    principal: Principal
    requested_state: VirtualClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterVirtualClusterRequest:
    """Members of a virtual cluster are to be added or removed.

    Unlike a topic's, the state before comes with the request.
    """

    virtual_cluster: str
    principal: Principal
    current_state: VirtualClusterState
    requested_state: VirtualClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteVirtualClusterRequest:
    """A virtual cluster is to be deleted."""

    virtual_cluster: str
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicLinkRequest:
    """A virtual cluster is to see the physical ``topic`` under the name ``link``."""

    virtual_cluster: str
    link: str
    topic: str
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicLinkRequest:
    """A virtual cluster is no longer to see a topic; the topic itself stays."""

    virtual_cluster: str
    link: str
    topic: str
    principal: Principal


PolicyRequest = (
    CreateTopicRequest
    | AlterTopicRequest
    | DeleteTopicRequest
    | DeleteRecordsRequest
    | AlterBrokerRequest
    | CreateAclRequest
    | DeleteAclRequest
    | AlterClientQuotaRequest
)

VirtualClusterRequest = (
    CreateVirtualClusterRequest
    | AlterVirtualClusterRequest
    | DeleteVirtualClusterRequest
    | CreateTopicLinkRequest
    | DeleteTopicLinkRequest
)
