"""Policy as code: KIP-201's interfaces for policies in Python, and what judges requests by them.

What users import is here; ``kgitops.policy.settings`` reads a policy's configs, and
``kgitops.policy.testing`` builds states and requests for its tests.
"""

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    LoweringOptions,
    TopicLink,
)
from kgitops.policy.api.interfaces import (
    AclManagementPolicy,
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    ClusterState,
    ConfigResourceManagementPolicy,
    Configurable,
    ConsumerGroupManagementPolicy,
    PolicyViolation,
    TopicManagementPolicy,
    UserManagementPolicy,
    VirtualClusterManagementPolicy,
)
from kgitops.policy.api.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterTopicRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
    BrokerState,
    CreateAclRequest,
    CreateTopicLinkRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteConsumerGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicLinkRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Principal,
    QuotaState,
    RequestedBrokerState,
    RequestedQuotaState,
    VirtualClusterChange,
    VirtualClusterState,
)
from kgitops.policy.python_rule import AllOf, InternalTopicsPass

__all__ = [
    "AclBinding",
    "AclManagementPolicy",
    "AllOf",
    "AlterBrokerRequest",
    "AlterClientQuotaRequest",
    "AlterConfigResourceRequest",
    "AlterConsumerGroupOffsetsRequest",
    "AlterTopicRequest",
    "AlterUserScramCredentialsRequest",
    "AlterVirtualClusterRequest",
    "BaseTopicPolicy",
    "Broker",
    "BrokerManagementPolicy",
    "BrokerState",
    "ClientQuotaManagementPolicy",
    "ClusterState",
    "ConfigResourceManagementPolicy",
    "ConfigResourceType",
    "Configurable",
    "ConsumerGroupManagementPolicy",
    "CreateAclRequest",
    "CreateTopicLinkRequest",
    "CreateTopicRequest",
    "CreateVirtualClusterRequest",
    "DeleteAclRequest",
    "DeleteConsumerGroupRequest",
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
    "ScramMechanism",
    "TopicLink",
    "TopicManagementPolicy",
    "TopicOffsets",
    "TopicState",
    "UserManagementPolicy",
    "VirtualClusterChange",
    "VirtualClusterManagementPolicy",
    "VirtualClusterState",
]
