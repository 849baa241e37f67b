"""Rights on virtual clusters: scopes, and KIP-1134's operation lists as data (VC-151…160b)."""

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Self

from msgspec import Struct

from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    IMPLIED,
    AclBinding,
    Operation,
    PatternType,
    ResourceType,
)

EVERY = "*"


class VirtualClusterScope(Struct, frozen=True):
    """A set of virtual clusters, including future ones, or the physical cluster (VC-100, VC-144).

    It is given by a name, a prefix, or ``*``. A prefix or ``*`` never means ``kafka-cluster``
    (VC-108).
    """

    name: str
    pattern_type: PatternType = PatternType.LITERAL

    @classmethod
    def of(cls, binding: AclBinding) -> Self:
        """The scope of a binding; one on CLUSTER has it in its resource name (VC-140)."""
        if binding.resource_type is ResourceType.CLUSTER:
            return cls(binding.resource_name, binding.pattern_type)
        return cls(binding.virtual_cluster, binding.virtual_cluster_pattern_type)

    @property
    def physical(self) -> bool:
        """True if it is the physical cluster."""
        return self._literal and self.name == CLUSTER_NAME

    def covers(self, other: "VirtualClusterScope") -> bool:
        """True if it includes everything in ``other``."""
        if self.physical or other.physical:
            return self == other
        if self.every:
            return True
        if self._literal:
            return self == other
        return other.name.startswith(self.name)

    def meets(self, other: "VirtualClusterScope") -> bool:
        """True if a virtual cluster can be in both: one covers the other."""
        return self.covers(other) or other.covers(self)

    @property
    def _literal(self) -> bool:
        return self.pattern_type is PatternType.LITERAL

    @property
    def every(self) -> bool:
        """True if it is all virtual clusters."""
        return (self._literal and self.name == EVERY) or (not self._literal and not self.name)


class ApiKey(IntEnum):
    """The requests that rights on a virtual cluster allow, with the KIP's api keys.

    The KIP's own five, 91 to 95, are other requests on today's brokers and never sent (VC-230).
    """

    METADATA = 3
    LIST_GROUPS = 16
    CREATE_TOPICS = 19
    WRITE_TXN_MARKERS = 27
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    INCREMENTAL_ALTER_CONFIGS = 44
    LIST_PARTITION_REASSIGNMENTS = 46
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    ALTER_PARTITION = 56
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    CREATE_VIRTUAL_CLUSTERS = 91
    ALTER_VIRTUAL_CLUSTERS = 92
    DELETE_VIRTUAL_CLUSTERS = 93
    LIST_VIRTUAL_CLUSTERS = 94
    DESCRIBE_VIRTUAL_CLUSTERS = 95


ALLOWED_APIS: Mapping[Operation, frozenset[ApiKey]] = {
    # VC-151. Of SCRAM credentials only those of users that are bound to it (VC-160c).
    Operation.ALTER: frozenset(
        {
            ApiKey.WRITE_TXN_MARKERS,
            ApiKey.CREATE_ACLS,
            ApiKey.DELETE_ACLS,
            ApiKey.ALTER_REPLICA_LOG_DIRS,
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
            ApiKey.ALTER_VIRTUAL_CLUSTERS,
        }
    ),
    # VC-154. Configs of its topics and groups, never of brokers; its quotas, never its cap.
    Operation.ALTER_CONFIGS: frozenset(
        {ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS}
    ),
    # VC-155, the first three limited as with AlterConfigs.
    Operation.CLUSTER_ACTION: frozenset(
        {
            ApiKey.ALTER_CONFIGS,
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            ApiKey.ALTER_CLIENT_QUOTAS,
            ApiKey.ALTER_PARTITION,
            ApiKey.WRITE_TXN_MARKERS,
            ApiKey.READ_SHARE_GROUP_STATE,
            ApiKey.WRITE_SHARE_GROUP_STATE,
            ApiKey.DELETE_SHARE_GROUP_STATE,
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        }
    ),
    # VC-158. Metadata is for the topics that it creates.
    Operation.CREATE: frozenset(
        {ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.CREATE_VIRTUAL_CLUSTERS}
    ),
    # VC-159 without DescribeQuorum (55), which is about the physical cluster alone. LIST_… belongs
    # to List, and is also allowed by Describe (VC-160a).
    Operation.DESCRIBE: frozenset(
        {
            ApiKey.LIST_GROUPS,
            ApiKey.DESCRIBE_ACLS,
            ApiKey.DESCRIBE_LOG_DIRS,
            ApiKey.LIST_PARTITION_REASSIGNMENTS,
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
            ApiKey.DESCRIBE_VIRTUAL_CLUSTERS,
            ApiKey.LIST_VIRTUAL_CLUSTERS,
        }
    ),
    # VC-160a
    Operation.DELETE: frozenset({ApiKey.DELETE_VIRTUAL_CLUSTERS}),
    # VC-160b: missing in the KIP.
    Operation.DESCRIBE_CONFIGS: frozenset({ApiKey.DESCRIBE_CONFIGS, ApiKey.DESCRIBE_CLIENT_QUOTAS}),
    # VC-141: each allows its own request and no other.
    Operation.CREATE_VIRTUAL_CLUSTER: frozenset({ApiKey.CREATE_VIRTUAL_CLUSTERS}),
    Operation.ALTER_VIRTUAL_CLUSTER: frozenset({ApiKey.ALTER_VIRTUAL_CLUSTERS}),
    Operation.DELETE_VIRTUAL_CLUSTER: frozenset({ApiKey.DELETE_VIRTUAL_CLUSTERS}),
    Operation.DESCRIBE_VIRTUAL_CLUSTER: frozenset({ApiKey.DESCRIBE_VIRTUAL_CLUSTERS}),
    Operation.LIST_VIRTUAL_CLUSTERS: frozenset({ApiKey.LIST_VIRTUAL_CLUSTERS}),
}
"""The requests that a right on a virtual cluster allows, by operation.

All others need rights on kafka-cluster (VC-152, VC-153, VC-156, VC-157, VC-160b), except
DescribeCluster, which needs none.
"""

_CLASSIC: Mapping[Operation, Operation] = {
    Operation.CREATE_VIRTUAL_CLUSTER: Operation.CREATE,
    Operation.ALTER_VIRTUAL_CLUSTER: Operation.ALTER,
    Operation.DELETE_VIRTUAL_CLUSTER: Operation.DELETE,
    Operation.DESCRIBE_VIRTUAL_CLUSTER: Operation.DESCRIBE,
    Operation.LIST_VIRTUAL_CLUSTERS: Operation.DESCRIBE,
}
# Operations without a meaning on virtual clusters, which therefore imply nothing (VC-160a).
_MEANINGLESS = frozenset({Operation.READ, Operation.WRITE})


@cache
def sufficient_operations(api_key: int) -> frozenset[Operation]:
    """The operations that each allow the request; empty if only kafka-cluster does (VC-160b)."""
    return frozenset(operation for operation, keys in ALLOWED_APIS.items() if api_key in keys)


@cache
def operations_that_deny(operation: Operation) -> frozenset[Operation]:
    """The operations whose Deny forbids this operation on a virtual cluster."""
    classic = _CLASSIC.get(operation, operation)
    return frozenset({operation, classic, Operation.ALL})


@cache
def operations_that_allow(operation: Operation) -> frozenset[Operation]:
    """The operations whose Allow allows this one on a virtual cluster (VC-141, VC-142)."""
    named = operations_that_deny(operation)
    implied = {other for other, implied in IMPLIED.items() if implied & named}
    return named | implied - _MEANINGLESS
