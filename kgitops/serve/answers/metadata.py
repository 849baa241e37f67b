"""Metadata: the brokers and where the partitions of topics are."""

from kgitops.cluster.embedded.client.metadata import PartitionMetadata, TopicDescription
from kgitops.model.resources.acls import OPERATIONS, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.cluster import cluster_operations
from kgitops.serve.answers.values import (
    NOT_ASKED_FOR,
    operation_bits,
    topic_id_bytes,
    topic_id_text,
)
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import NIL_UUID, Message

_CLUSTER_OPERATIONS = range(8, 11)
"""The versions that tell the operations on the cluster; DescribeCluster does since."""


def metadata(call: ApiCall, request: Message) -> Message:
    """The topics that were asked for, by name or id, or all that the client may see."""
    response = messages.MetadataResponse
    image = call.image()
    described = _described(call, request)
    answer = response(
        brokers=[
            response.MetadataResponseBroker(
                node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack
            )
            for broker, endpoint in call.cluster.living_brokers(image)
        ],
        cluster_id=call.cluster.controller.cluster_id,
        controller_id=call.cluster.announced_controller(image),
        topics=[_topic(call, request, topic) for topic in described],
    )
    if call.version in _CLUSTER_OPERATIONS and request.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = cluster_operations(call)
    return answer


def _described(call: ApiCall, request: Message) -> list[Message]:
    """The topics of a request, as rows without authorized operations."""
    if request.topics is None or (call.version == 0 and not request.topics):
        return list(map(_row, call.admin.metadata(None, version=call.version)))
    names = [topic.name for topic in request.topics if topic.name is not None]
    ids = [topic.topic_id for topic in request.topics if topic.name is None]
    known = call.admin.topic_names(map(topic_id_text, ids)) if ids else {}
    names += [name for name in known.values() if name not in names]
    described = call.admin.metadata(
        names, version=call.version, allow_auto_create=request.allow_auto_topic_creation
    )
    row = messages.MetadataResponse.MetadataResponseTopic
    unknown = [
        row(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
        for topic_id in ids
        if topic_id_text(topic_id) not in known
    ]
    return [*map(_row, described), *unknown]


def _row(topic: TopicDescription) -> Message:
    return messages.MetadataResponse.MetadataResponseTopic(
        error_code=topic.error,
        name=topic.name,
        topic_id=topic_id_bytes(topic.topic_id) if topic.topic_id else NIL_UUID,
        is_internal=topic.is_internal,
        partitions=[_partition(partition) for partition in topic.partitions],
    )


def _partition(partition: PartitionMetadata) -> Message:
    return messages.MetadataResponse.MetadataResponsePartition(
        error_code=partition.error,
        partition_index=partition.id,
        leader_id=partition.leader,
        leader_epoch=0,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=[node for node in partition.replicas if node not in partition.isr],
    )


def _topic(call: ApiCall, request: Message, row: Message) -> Message:
    row.topic_authorized_operations = NOT_ASKED_FOR
    if request.include_topic_authorized_operations and not row.error_code:
        operations = OPERATIONS[ResourceType.TOPIC]
        row.topic_authorized_operations = operation_bits(
            item for item in operations if call.allows(item, ResourceType.TOPIC, row.name)
        )
    if row.name is None and call.version < 12:
        row.name = ""
    return row
