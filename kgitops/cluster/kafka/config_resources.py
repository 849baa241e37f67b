"""What has configs: topics and brokers, as Kafka's requests name them."""

from collections.abc import Mapping

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from kgitops.cluster.kafka.transport.wire import Message

TOPIC, BROKER = 2, 4  # org.apache.kafka.common.config.ConfigResource.Type
_SET, _DELETE = 0, 1  # org.apache.kafka.clients.admin.AlterConfigOp.OpType


def alteration(kind: int, name: str, configs: Mapping[str, str | None]) -> Message:
    """One resource of IncrementalAlterConfigs: these keys are set, or removed where None."""
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
