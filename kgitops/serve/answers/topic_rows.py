"""Metadata's rows of topics."""

from collections.abc import Callable

from kgitops.cluster.embedded.client.metadata import (
    FoundTopic,
    FoundTopics,
    LivingBrokers,
    PartitionMetadata,
)
from kgitops.model.resources.names import is_internal
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.values import topic_id_bytes
from kgitops.serve.written_rows import WrittenRows
from kgitops.wire import messages
from kgitops.wire.codec import write_part
from kgitops.wire.messages import Message
from kgitops.wire.writing import Written


def topic_rows(
    found: FoundTopics, living: LivingBrokers, version: int, written: WrittenRows
) -> list[Message]:
    """The rows of these topics without authorized operations, as far as possible written before."""
    kept = written.of((version, living), len(found.image.topics.by_name))
    partitions: dict[PartitionMetadata, Written] = {}

    def partition_row(partition: PartitionMetadata) -> Message:
        row = partitions.get(partition)
        if row is None:
            made = _partition_row(partition)
            row = partitions[partition] = write_part(made, "MetadataResponse", version)
        return row

    rows: list[Message] = []
    for item in found.topics:
        topic = item.topic
        if topic is None or item.name is None:
            rows.append(topic_row(item, living, version))
            continue
        held = kept.get(item.name)
        if held is None or held[0] is not topic:
            row = topic_row(item, living, version, partition_row)
            held = kept[item.name] = topic, write_part(row, "MetadataResponse", version)
        rows.append(held[1])
    return rows


def _partition_row(partition: PartitionMetadata) -> Message:
    return messages.MetadataResponse.MetadataResponsePartition(
        error_code=partition.error,
        partition_index=partition.id,
        leader_id=partition.leader,
        leader_epoch=0,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        offline_replicas=partition.offline,
    )


def topic_row(
    found: FoundTopic,
    living: LivingBrokers,
    version: int,
    partition_row: Callable[[PartitionMetadata], Message] = _partition_row,
) -> Message:
    """Metadata's row of a topic, or of the error in its place."""
    row = messages.MetadataResponse.MetadataResponseTopic
    topic = found.topic
    if topic is None:
        hidden = found.error in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_ID)
        return row(
            error_code=found.error,
            # No version before had a place for a topic without a name.
            name=found.name if found.name is not None or version >= 12 else "",
            topic_id=topic_id_bytes(found.topic_id),
            is_internal=not hidden and is_internal(found.name or ""),
        )
    return row(
        name=found.name,
        topic_id=topic_id_bytes(topic.topic_id),
        is_internal=is_internal(topic.name),
        partitions=list(map(partition_row, living.partitions(topic))),
    )
