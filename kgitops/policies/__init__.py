"""The pack: policies that most teams want; a project file names them ``kgitops.policies:Class``."""

from kgitops.policies.acls import NoAllOnCluster, NoWildcardHosts, NoWildcardPrincipals
from kgitops.policies.configs import BrokerConfigBounds, FrozenConfigs, ImmutableConfigs
from kgitops.policies.create_policy import NeverLeaveCreatePolicy
from kgitops.policies.deletion import (
    DeleteOnlyIfUnused,
    MassDeleteGuard,
    ProtectFromDeletion,
    RecordDeletionLimit,
)
from kgitops.policies.naming import NamingByPrincipal, RequiredLabels, TopicNaming
from kgitops.policies.partitions import (
    NoPartitionGrowthOfKeyedTopics,
    PartitionBudget,
    PartitionRange,
)
from kgitops.policies.quotas import QuotaCeilings
from kgitops.policies.replicas import (
    MinInsyncReplicasRange,
    NoManualAssignment,
    RackSpread,
    ReplicationFactorRange,
    ReservedBrokers,
)
from kgitops.policies.retention import RetentionRange, ShortRetentionOfBigTopics, TopicSizeCap
from kgitops.policies.users import RequiredUserLabels, ScramStrength, UserNaming
from kgitops.policies.virtual_clusters import LinkConsent, MembersAreUsers, VirtualClusterNaming

__all__ = [
    "BrokerConfigBounds",
    "DeleteOnlyIfUnused",
    "FrozenConfigs",
    "ImmutableConfigs",
    "LinkConsent",
    "MassDeleteGuard",
    "MembersAreUsers",
    "MinInsyncReplicasRange",
    "NamingByPrincipal",
    "NeverLeaveCreatePolicy",
    "NoAllOnCluster",
    "NoManualAssignment",
    "NoPartitionGrowthOfKeyedTopics",
    "NoWildcardHosts",
    "NoWildcardPrincipals",
    "PartitionBudget",
    "PartitionRange",
    "ProtectFromDeletion",
    "QuotaCeilings",
    "RackSpread",
    "RecordDeletionLimit",
    "ReplicationFactorRange",
    "RequiredLabels",
    "RequiredUserLabels",
    "ReservedBrokers",
    "RetentionRange",
    "ScramStrength",
    "ShortRetentionOfBigTopics",
    "TopicNaming",
    "TopicSizeCap",
    "UserNaming",
    "VirtualClusterNaming",
]
