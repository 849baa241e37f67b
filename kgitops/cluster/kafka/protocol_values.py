"""Values as kafka-python's messages have them: config resources and UUIDs."""

import base64
import uuid
from collections.abc import Mapping

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from kgitops.cluster.kafka.transport.wire import Message
from kgitops.model.resources.config_resources import ConfigResourceType

TOPIC, BROKER = 2, 4  # org.apache.kafka.common.config.ConfigResource.Type
CONFIG_RESOURCES: Mapping[ConfigResourceType, int] = {
    ConfigResourceType.BROKER: BROKER,
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
