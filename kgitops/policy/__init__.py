"""Policy as code: KIP-201's interfaces for policies in Python, and what judges requests by them.

What users import is here; ``kgitops.policy.settings`` reads a policy's configs, and
``kgitops.policy.testing`` builds states and requests for its tests.
"""

from kgitops.model.acls import (
    AclBinding,
)
from kgitops.model.cluster_state import (
    Broker,
)
from kgitops.model.topics import (
    RequestedTopicState,
    TopicState,
)
from kgitops.model.virtual_clusters import (
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
)
from kgitops.policy.cluster_state import (
    ClusterState,
)
from kgitops.policy.composing import (
    AllOf,
    InternalTopicsPass,
)
from kgitops.policy.interfaces import (
    AclManagementPolicy,
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    Configurable,
    TopicManagementPolicy,
    VirtualClusterManagementPolicy,
)
from kgitops.policy.principal import (
    Principal,
)
from kgitops.policy.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CreateAclRequest,
    CreateTopicLinkRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    DeleteTopicLinkRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
)
from kgitops.policy.states import (
    BrokerState,
    QuotaState,
    RequestedBrokerState,
    RequestedQuotaState,
    VirtualClusterChange,
    VirtualClusterState,
)
from kgitops.policy.violation import (
    PolicyViolation,
)

__all__ = [
    "AclBinding",
    "AclManagementPolicy",
    "AllOf",
    "AlterBrokerRequest",
    "AlterClientQuotaRequest",
    "AlterTopicRequest",
    "AlterVirtualClusterRequest",
    "BaseTopicPolicy",
    "Broker",
    "BrokerManagementPolicy",
    "BrokerState",
    "ClientQuotaManagementPolicy",
    "ClusterState",
    "Configurable",
    "CreateAclRequest",
    "CreateTopicLinkRequest",
    "CreateTopicRequest",
    "CreateVirtualClusterRequest",
    "DeleteAclRequest",
    "DeleteRecordsRequest",
    "DeleteTopicLinkRequest",
    "DeleteTopicRequest",
    "DeleteVirtualClusterRequest",
    "EntityType",
    "InternalTopicsPass",
    "LocalName",
    "LoweringOptions",
    "PolicyViolation",
    "Principal",
    "QuotaState",
    "RequestedBrokerState",
    "RequestedQuotaState",
    "RequestedTopicState",
    "TopicLink",
    "TopicManagementPolicy",
    "TopicState",
    "VirtualClusterChange",
    "VirtualClusterManagementPolicy",
    "VirtualClusterState",
]
