"""DescribeLogDirs: what the broker's replicas take; each broker has one directory."""

from kgitops.cluster.embedded.refusal import Refusal
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message

_DIRECTORY = "/kgitops/broker-{id}"
"""A name alone: there is no such directory."""


def describe_log_dirs(call: ApiCall, request: Message) -> Message:
    """The replicas of this broker, all or those of these partitions (KIP-113)."""
    response = messages.DescribeLogDirsResponse
    partitions = None
    if request.topics is not None:
        partitions = [
            (topic.topic, partition) for topic in request.topics for partition in topic.partitions
        ]
    try:
        sizes = call.admin.describe_log_dir(call.node.id, partitions)
    except Refusal as refusal:
        return response(error_code=refusal.result.code)
    topics: dict[str, list[Message]] = {}
    for (name, partition), size in sizes.items():
        topics.setdefault(name, []).append(
            response.DescribeLogDirsPartition(partition_index=partition, partition_size=size)
        )
    directory = response.DescribeLogDirsResult(
        log_dir=_DIRECTORY.format(id=call.node.id),
        topics=[
            response.DescribeLogDirsTopic(name=name, partitions=rows)
            for name, rows in topics.items()
        ],
    )
    return response(results=[directory])
