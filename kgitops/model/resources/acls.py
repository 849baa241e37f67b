"""ACL bindings, with Kafka's enumerations in Kafka's spelling."""

import ipaddress
from enum import StrEnum

from msgspec import Struct

CLUSTER_NAME = "kafka-cluster"
EVERYONE = "User:*"
"""The principal of an ACL that applies to every user."""


class ResourceType(StrEnum):
    """The type of resource that an ACL protects (org.apache.kafka.common.resource.ResourceType)."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    TRANSACTIONAL_ID = "transactionalId"
    DELEGATION_TOKEN = "delegationToken"  # noqa: S105 (a resource type, not a secret)
    USER = "user"


class PatternType(StrEnum):
    """The meaning of a resource name (org.apache.kafka.common.resource.PatternType)."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class Operation(StrEnum):
    """The operation that is allowed or denied (org.apache.kafka.common.acl.AclOperation)."""

    ALL = "All"
    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    CLUSTER_ACTION = "ClusterAction"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"
    IDEMPOTENT_WRITE = "IdempotentWrite"
    CREATE_TOKENS = "CreateTokens"
    DESCRIBE_TOKENS = "DescribeTokens"
    TWO_PHASE_COMMIT = "TwoPhaseCommit"
    CREATE_VIRTUAL_CLUSTER = "CreateVirtualCluster"
    ALTER_VIRTUAL_CLUSTER = "AlterVirtualCluster"
    DELETE_VIRTUAL_CLUSTER = "DeleteVirtualCluster"
    DESCRIBE_VIRTUAL_CLUSTER = "DescribeVirtualCluster"
    LIST_VIRTUAL_CLUSTERS = "ListVirtualClusters"


class PermissionType(StrEnum):
    """Allow or Deny; a Deny wins over every Allow."""

    ALLOW = "Allow"
    DENY = "Deny"


# As in org.apache.kafka.security.authorizer.AclEntry, per resource type; All is legal anywhere.
OPERATIONS: dict[ResourceType, frozenset[Operation]] = {
    ResourceType.TOPIC: frozenset(
        {
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DESCRIBE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset(
        {
            Operation.READ,
            Operation.DESCRIBE,
            Operation.DELETE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.CLUSTER: frozenset(
        {
            Operation.CREATE,
            Operation.CLUSTER_ACTION,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
            Operation.IDEMPOTENT_WRITE,
            Operation.ALTER,
            Operation.DESCRIBE,
        }
    ),
    ResourceType.TRANSACTIONAL_ID: frozenset(
        {Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT}
    ),
    ResourceType.DELEGATION_TOKEN: frozenset({Operation.DESCRIBE}),
    ResourceType.USER: frozenset({Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS}),
}

# KIP-1134's rights on the CLUSTER resource, whose name is a virtual cluster (VC-141).
VIRTUAL_CLUSTER_OPERATIONS = frozenset(
    {
        Operation.CREATE_VIRTUAL_CLUSTER,
        Operation.ALTER_VIRTUAL_CLUSTER,
        Operation.DELETE_VIRTUAL_CLUSTER,
        Operation.DESCRIBE_VIRTUAL_CLUSTER,
        Operation.LIST_VIRTUAL_CLUSTERS,
    }
)

# Operations that an Allow of the key also allows (org.apache.kafka.server.authorizer).
IMPLIED: dict[Operation, frozenset[Operation]] = {
    Operation.READ: frozenset({Operation.DESCRIBE}),
    Operation.WRITE: frozenset({Operation.DESCRIBE}),
    Operation.DELETE: frozenset({Operation.DESCRIBE}),
    Operation.ALTER: frozenset({Operation.DESCRIBE}),
    Operation.ALTER_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS}),
    # VC-142
    Operation.CREATE_VIRTUAL_CLUSTER: frozenset({Operation.DESCRIBE_VIRTUAL_CLUSTER}),
    Operation.ALTER_VIRTUAL_CLUSTER: frozenset({Operation.DESCRIBE_VIRTUAL_CLUSTER}),
    Operation.DELETE_VIRTUAL_CLUSTER: frozenset({Operation.DESCRIBE_VIRTUAL_CLUSTER}),
}


class AclBinding(Struct, frozen=True, kw_only=True, order=True):
    """A rule that allows or denies a principal on a host one operation on some resources.

    ``virtual_cluster`` is the scope in which ``resource_name`` is a local name (VC-143): a name, a
    prefix, or ``*`` for every virtual cluster; ``kafka-cluster`` means none (VC-100). A binding on
    the resource CLUSTER has no scope: its resource name is the virtual cluster (VC-140).
    """

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission_type: PermissionType
    virtual_cluster: str = CLUSTER_NAME
    virtual_cluster_pattern_type: PatternType = PatternType.LITERAL

    @property
    def scoped(self) -> bool:
        """True if the binding belongs to virtual clusters, false if it is global."""
        return self.virtual_cluster != CLUSTER_NAME


HostRange = ipaddress.IPv4Network | ipaddress.IPv6Network


def host_range(host: str) -> HostRange | None:
    """Return the addresses that a host such as ``10.0.0.0/8`` stands for; None if it is no range.

    Brokers match ranges since metadata.version 4.4-IV1 (KIP-1276). They refuse one of IPv4
    addresses that is written as IPv6.
    """
    address, slash, bits = host.partition("/")
    if not slash or "%" in address or not (bits.isascii() and bits.isdigit()):
        return None
    try:
        found = ipaddress.ip_network((address, int(bits)), strict=False)
    except ValueError:
        return None
    mapped = isinstance(found, ipaddress.IPv6Network) and ipaddress.IPv6Address(address).ipv4_mapped
    return None if mapped else found


def host_covers(rule: str, other: str, *, ranges: bool) -> bool:
    """Return whether the host of a rule matches all that the other does; ``ranges``: as a range."""
    if rule in ("*", other):
        return True
    covering = host_range(rule) if ranges else None
    if covering is None or other == "*":
        return False
    try:
        inner = host_range(other) or ipaddress.ip_network(other)
    except ValueError:
        return False
    return inner.version == covering.version and inner.subnet_of(covering)  # type: ignore[arg-type]
