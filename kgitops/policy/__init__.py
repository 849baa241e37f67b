"""Policy as code: KIP-201's interfaces for policies in Python, and what judges requests by them.

What users import is here; ``kgitops.policy.testing`` builds states and requests for their tests.
"""

from kgitops.policy.cluster_state import ClusterState
from kgitops.policy.interfaces import (
    AclManagementPolicy,
    BaseTopicPolicy,
    BrokerManagementPolicy,
    ClientQuotaManagementPolicy,
    TopicManagementPolicy,
)
from kgitops.policy.principal import Principal
from kgitops.policy.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
)
from kgitops.policy.states import (
    BrokerState,
    QuotaState,
    RequestedBrokerState,
    RequestedQuotaState,
)
from kgitops.policy.violation import PolicyViolation

__all__ = [
    "AclManagementPolicy",
    "AlterBrokerRequest",
    "AlterClientQuotaRequest",
    "AlterTopicRequest",
    "BaseTopicPolicy",
    "BrokerManagementPolicy",
    "BrokerState",
    "ClientQuotaManagementPolicy",
    "ClusterState",
    "CreateAclRequest",
    "CreateTopicRequest",
    "DeleteAclRequest",
    "DeleteRecordsRequest",
    "DeleteTopicRequest",
    "PolicyViolation",
    "Principal",
    "QuotaState",
    "RequestedBrokerState",
    "RequestedQuotaState",
    "TopicManagementPolicy",
]
