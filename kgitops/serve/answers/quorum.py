"""DescribeQuorum: the controllers that keep the metadata log, and the brokers that follow it."""

from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.call import ApiCall
from kgitops.serve.nodes import Node
from kgitops.wire import messages
from kgitops.wire.messages import Message

_METADATA_TOPIC = "__cluster_metadata"
_DENIED = "Cluster authorization failed."
_NO_SUCH_LOG = "This server does not host this topic-partition."
_WITH_NODES = 2
"""The version that has the controllers' addresses and, at last, messages."""


def describe_quorum(call: ApiCall, request: Message) -> Message:
    """The quorum of the metadata log; there is no other log with one."""
    response = messages.DescribeQuorumResponse
    if not call.allows(Operation.DESCRIBE, ResourceType.CLUSTER):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return response(error_code=code, error_message=_DENIED)
    asked = [
        (topic.topic_name, row.partition_index)
        for topic in request.topics
        for row in topic.partitions
    ]
    if asked != [(_METADATA_TOPIC, 0)]:
        return _no_such_logs(request)
    answer = response(
        topics=[response.TopicData(topic_name=_METADATA_TOPIC, partitions=[_partition(call)])]
    )
    if call.version >= _WITH_NODES:
        answer.nodes = [_node(node) for node in call.cluster.quorum]
    return answer


def _partition(call: ApiCall) -> Message:
    response = messages.DescribeQuorumResponse
    end = call.cluster.controller.end_offset
    now_ms = call.cluster.controller.clock_and_ids.now_ms()

    def replica(node_id: int) -> Message:
        return response.ReplicaState(
            replica_id=node_id,
            log_end_offset=end,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )

    return response.PartitionData(
        partition_index=0,
        leader_id=call.cluster.active_controller.id,
        leader_epoch=call.cluster.controllers.epoch,
        high_watermark=end,
        current_voters=[replica(node.id) for node in call.cluster.quorum],
        observers=[replica(broker.id) for broker, _ in call.cluster.living_brokers(call.image())],
    )


def _node(node: Node) -> Message:
    response = messages.DescribeQuorumResponse
    listener = response.Listener(
        name=node.listener, host=node.endpoint.host, port=node.endpoint.port
    )
    return response.Node(node_id=node.id, listeners=[listener])


def _no_such_logs(request: Message) -> Message:
    response = messages.DescribeQuorumResponse
    return response(
        topics=[
            response.TopicData(
                topic_name=topic.topic_name,
                partitions=[
                    response.PartitionData(
                        partition_index=row.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message=_NO_SUCH_LOG,
                    )
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
