"""DescribeCluster."""

from kgitops.model.resources.acls import OPERATIONS, ResourceType
from kgitops.serve.answers.values import NOT_ASKED_FOR, operation_bits
from kgitops.serve.call import ApiCall
from kgitops.serve.nodes import NodeKind
from kgitops.wire import messages
from kgitops.wire.messages import Message

_BROKERS, _CONTROLLERS = 1, 2
"""Types of endpoints (KIP-919)."""


def describe_cluster(call: ApiCall, request: Message) -> Message:
    """The brokers, or from version 1 on the controllers, with their addresses."""
    response = messages.DescribeClusterResponse
    if request.endpoint_type == _CONTROLLERS or call.node.kind is NodeKind.CONTROLLER:
        nodes = [
            response.DescribeClusterBroker(
                broker_id=node.id, host=node.endpoint.host, port=node.endpoint.port
            )
            for node in call.cluster.quorum
        ]
        controller = call.cluster.active_controller.id
        kind = _CONTROLLERS
    else:
        image = call.image()
        nodes = [
            response.DescribeClusterBroker(
                broker_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack
            )
            for broker, endpoint in call.cluster.living_brokers(image)
        ]
        controller = call.cluster.announced_controller(image)
        kind = _BROKERS
    return response(
        endpoint_type=kind if call.version >= 1 else _BROKERS,
        cluster_id=call.cluster.controller.cluster_id,
        controller_id=controller,
        brokers=nodes,
        cluster_authorized_operations=cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_ASKED_FOR,
    )


def cluster_operations(call: ApiCall) -> int:
    """The operations on the cluster that the client may do, as bits (KIP-430)."""
    operations = OPERATIONS[ResourceType.CLUSTER]
    return operation_bits(item for item in operations if call.allows(item, ResourceType.CLUSTER))
