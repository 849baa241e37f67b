"""The numbers that Kafka's protocol has for ACLs and for what users log in by."""

from collections.abc import Mapping

from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.resources.users import ScramMechanism

# The codes of org.apache.kafka.common.resource and org.apache.kafka.common.acl.
RESOURCE_TYPES: Mapping[ResourceType, int] = {
    ResourceType.TOPIC: 2,
    ResourceType.GROUP: 3,
    ResourceType.CLUSTER: 4,
    ResourceType.TRANSACTIONAL_ID: 5,
    ResourceType.DELEGATION_TOKEN: 6,
    ResourceType.USER: 7,
}
PATTERN_TYPES: Mapping[PatternType, int] = {PatternType.LITERAL: 3, PatternType.PREFIXED: 4}
OPERATIONS: Mapping[Operation, int] = {
    Operation.ALL: 2,
    Operation.READ: 3,
    Operation.WRITE: 4,
    Operation.CREATE: 5,
    Operation.DELETE: 6,
    Operation.ALTER: 7,
    Operation.DESCRIBE: 8,
    Operation.CLUSTER_ACTION: 9,
    Operation.DESCRIBE_CONFIGS: 10,
    Operation.ALTER_CONFIGS: 11,
    Operation.IDEMPOTENT_WRITE: 12,
    Operation.CREATE_TOKENS: 13,
    Operation.DESCRIBE_TOKENS: 14,
    Operation.TWO_PHASE_COMMIT: 15,
}
PERMISSION_TYPES: Mapping[PermissionType, int] = {PermissionType.DENY: 2, PermissionType.ALLOW: 3}

# org.apache.kafka.clients.admin.ScramMechanism.
SCRAM_TYPES: Mapping[ScramMechanism, int] = {ScramMechanism.SHA_256: 1, ScramMechanism.SHA_512: 2}
SCRAM_MECHANISMS: Mapping[int, ScramMechanism] = {
    code: mechanism for mechanism, code in SCRAM_TYPES.items()
}
