"""Values as Kafka's protocol writes them: codes of ACLs and mechanisms, configs, UUIDs."""

import base64
import uuid
from collections.abc import Mapping

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from kgitops.cluster.kafka.transport.wire import Message
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.resources.config_resources import ConfigResourceType
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


TOPIC, BROKER = 2, 4  # org.apache.kafka.common.config.ConfigResource.Type
CONFIG_RESOURCES: Mapping[ConfigResourceType, int] = {
    ConfigResourceType.CLIENT_METRICS: 16,
    ConfigResourceType.GROUP: 32,
}
_SET, _DELETE = 0, 1  # org.apache.kafka.clients.admin.AlterConfigOp.OpType


def alteration(kind: int, name: str, configs: Mapping[str, str | None]) -> Message:
    """Build one resource of IncrementalAlterConfigs; a key whose value is None is removed."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    return resource(
        resource_type=kind,
        resource_name=name,
        configs=[
            resource.AlterableConfig(
                name=key, config_operation=_DELETE if value is None else _SET, value=value
            )
            for key, value in configs.items()
        ],
    )


def uuid_to_text(value: uuid.UUID) -> str:
    """Format a UUID as kafka-topics prints it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def uuid_from_text(text: str) -> uuid.UUID:
    """Parse Kafka's spelling of a UUID."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
