"""One ACL binding, with Kafka's enumerations in Kafka's spelling."""

from dataclasses import dataclass
from enum import StrEnum

CLUSTER_NAME = "kafka-cluster"


class ResourceType(StrEnum):
    """What an ACL protects (org.apache.kafka.common.resource.ResourceType)."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    TRANSACTIONAL_ID = "transactionalId"
    DELEGATION_TOKEN = "delegationToken"  # noqa: S105 (a resource type, not a secret)
    USER = "user"


class PatternType(StrEnum):
    """How a resource name is read (org.apache.kafka.common.resource.PatternType)."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class Operation(StrEnum):
    """What is allowed or denied (org.apache.kafka.common.acl.AclOperation)."""

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


class PermissionType(StrEnum):
    """Allow or Deny; a Deny wins over every Allow."""

    ALLOW = "Allow"
    DENY = "Deny"


# What org.apache.kafka.security.authorizer.AclEntry lists per resource type; All is legal anywhere.
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

# An Allow of the key also allows these (org.apache.kafka.server.authorizer: implied operations).
IMPLIED: dict[Operation, frozenset[Operation]] = {
    Operation.READ: frozenset({Operation.DESCRIBE}),
    Operation.WRITE: frozenset({Operation.DESCRIBE}),
    Operation.DELETE: frozenset({Operation.DESCRIBE}),
    Operation.ALTER: frozenset({Operation.DESCRIBE}),
    Operation.ALTER_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS}),
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class AclBinding:
    """Who may, or may not, do what to which resources, from where."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission_type: PermissionType
