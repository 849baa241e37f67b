"""DescribeTopicPartitions, page by page, and log directories: a broker has one."""

from collections.abc import Mapping

from kgitops.cluster.embedded.client.metadata import LiveBrokers, LookedUpTopic, PartitionMetadata
from kgitops.cluster.embedded.controls.reassignments import TopicPartition, replicas_with_adding
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.cluster.embedded.namespaces import namespace
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.names import is_internal
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.values import operation_bits, topic_id_bytes
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message

_MOST_PARTITIONS = 2000
"""``max.request.partition.size.limit`` of a broker."""
_LATEST = 1
"""Of Metadata's versions: dead brokers are listed."""
_DIRECTORY = "/kgitops/broker-{id}"
"""A name alone: there is no such directory."""
_LONGEST_FILE_NAME, _UNIQUE_ID = 255, 32
"""Of a file system, and the digits in the name of a directory that is being moved to."""


def describe_topic_partitions(call: ApiCall, request: Message) -> Message:
    """The topics of these names, or all, from the cursor on (KIP-966)."""
    response = messages.DescribeTopicPartitionsResponse
    cursor = request.cursor
    first = cursor.topic_name if cursor is not None else ""
    names = sorted({topic.name for topic in request.topics if topic.name >= first})
    wrong = cursor is not None and (
        (request.topics and first not in names) or cursor.partition_index < 0
    )
    if wrong:
        return response(
            topics=[
                response.DescribeTopicPartitionsResponseTopic(
                    name=topic.name, error_code=ErrorCode.INVALID_REQUEST
                )
                for topic in request.topics
            ]
        )
    found = call.admin.find_topics(names if request.topics else None)
    living = LiveBrokers(
        found.image.brokers.brokers.values(), call.cluster.controller.faults, _LATEST
    )
    page = _Page(max(min(request.response_partition_limit, _MOST_PARTITIONS), 1), living)
    denied = []
    for item in found.topics:
        if item.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            denied.append(_error(item))
        elif item.name is not None and item.name >= first and page.cursor is None:
            page.add(item, cursor.partition_index if cursor and item.name == first else 0)
    shown = [row.name for row in page.rows]
    operations = call.admin.allowed_operations(ResourceType.TOPIC, shown)
    for row in page.rows:
        row.topic_authorized_operations = operation_bits(operations[row.name])
    return response(topics=[*page.rows, *denied], next_cursor=page.cursor)


class _Page:
    """Rows of topics until there is no room for another partition."""

    def __init__(self, room: int, living: LiveBrokers) -> None:
        self._room = room
        self._living = living
        self.rows: list[Message] = []
        self.cursor: Message = None
        """The beginning of the next page; None if there is none."""

    def add(self, item: LookedUpTopic, first: int) -> None:
        """Add a topic from a partition on, or as much of it as there is room for."""
        if self._room == 0:
            self._end(item.name, 0)
            return
        if item.topic is None:
            self.rows.append(_error(item))
            return
        partitions = self._living.partitions(item.topic)
        shown = partitions[first : first + self._room]
        self.rows.append(
            messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
                name=item.name,
                topic_id=topic_id_bytes(item.topic.topic_id),
                is_internal=is_internal(item.topic.name),
                partitions=[_partition(partition) for partition in shown],
            )
        )
        self._room -= len(shown)
        if first + len(shown) < len(partitions):
            self._end(item.name, first + len(shown))

    def _end(self, name: str | None, partition: int) -> None:
        self.cursor = messages.DescribeTopicPartitionsResponse.Cursor(
            topic_name=name, partition_index=partition
        )


def _error(item: LookedUpTopic) -> Message:
    hidden = item.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
        name=item.name,
        error_code=item.error,
        is_internal=not hidden and is_internal(item.name or ""),
    )


def _partition(partition: PartitionMetadata) -> Message:
    row = messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition
    return row(
        error_code=partition.error,
        partition_index=partition.id,
        leader_id=partition.leader,
        leader_epoch=0,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=list(partition.offline),
    )


def alter_replica_log_dirs(call: ApiCall, request: Message) -> Message:
    """Move replicas of this broker to its only directory, where they are (KIP-113)."""
    response = messages.AlterReplicaLogDirsResponse
    row = response.AlterReplicaLogDirPartitionResult
    paths = {
        (topic.name, partition): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for partition in topic.partitions
    }
    errors = call.read(lambda draft: _move_all(draft, call.node.id, paths))
    topics: dict[str, list[Message]] = {}
    for (name, partition), error in errors.items():
        topics.setdefault(name, []).append(row(partition_index=partition, error_code=error))
    return response(
        results=[
            response.AlterReplicaLogDirTopicResult(topic_name=name, partitions=rows)
            for name, rows in topics.items()
        ]
    )


def _move_all(
    draft: Draft, broker: int, paths: Mapping[TopicPartition, str]
) -> Mapping[TopicPartition, ErrorCode]:
    if not draft.authorizer.allows_cluster(Operation.ALTER):
        return dict.fromkeys(paths, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return {
        (name, partition): _move(namespace(draft).find_topic(name), broker, name, partition, path)
        for (name, partition), path in paths.items()
    }


def _move(topic: TopicImage | None, broker: int, name: str, partition: int, path: str) -> ErrorCode:
    """The outcome of a move, in the order of Kafka's checks (ReplicaManager)."""
    if len(f"{name}-{partition}.-future") + _UNIQUE_ID > _LONGEST_FILE_NAME:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if path != _DIRECTORY.format(id=broker):
        return ErrorCode.LOG_DIR_NOT_FOUND
    if topic is None or not 0 <= partition < len(topic.assignment):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker not in replicas_with_adding(topic, partition):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


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
