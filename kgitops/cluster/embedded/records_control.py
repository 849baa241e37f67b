"""Decides DeleteRecords, and keeps what simulated producers wrote (A4-81)."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image import TopicImage
from kgitops.cluster.embedded.leaders import NO_LEADER, leader
from kgitops.cluster.embedded.reassignment_control import TopicPartition
from kgitops.cluster.embedded.records import OffsetsRecord
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.acls import Operation
from kgitops.model.names import is_internal
from kgitops.model.results import OK, ErrorCode, RequestResult

HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecords:
    """The outcome for one partition; the low watermark is -1 where nothing can be said."""

    result: RequestResult
    low_watermark: int = NO_LOW_WATERMARK


def delete_records(
    draft: Draft, offsets: Mapping[TopicPartition, int], *, broker: int | None = None
) -> dict[TopicPartition, DeletedRecords]:
    """One outcome for each partition. ``broker`` is who was asked, None the right one each time."""
    outcomes = {}
    for (name, partition), offset in offsets.items():
        try:
            low_watermark = delete_before(draft, name, partition, offset, broker=broker)
        except Refusal as refusal:
            outcomes[name, partition] = DeletedRecords(result=refusal.result)
        else:
            outcomes[name, partition] = DeletedRecords(result=OK, low_watermark=low_watermark)
    return outcomes


def delete_before(
    draft: Draft, name: str, partition: int, offset: int, *, broker: int | None = None
) -> int:
    """Delete what is before ``offset``; the first offset that is left.

    Raises:
        Refusal: it can't be done.
    """
    if not draft.authorizer.topic(Operation.DELETE, name):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = draft.delta.topics.get(name)
    if topic is None or not 0 <= partition < len(topic.assignment):
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {partition}.")
    if is_internal(name):
        raise Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION, "Records of an internal topic can not be deleted."
        )
    leading = leader(draft.delta.brokers.all(), topic, partition)
    if leading == NO_LEADER:
        raise Refusal(ErrorCode.LEADER_NOT_AVAILABLE, f"Partition {partition} has no leader.")
    if broker is not None and leading != broker:
        raise Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if topic.configs.get("cleanup.policy", "delete").strip() == "compact":
        raise Refusal(
            ErrorCode.POLICY_VIOLATION,
            "The topic's cleanup.policy does not let records be deleted.",
        )
    start, high_watermark, size = topic.offsets_of(partition)
    if offset == HIGH_WATERMARK:
        offset = high_watermark
    if not 0 <= offset <= high_watermark:
        raise Refusal(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Partition {partition} has no offset {offset}.",
        )
    if offset <= start:
        return start
    left = size * (high_watermark - offset) // (high_watermark - start)
    _write(draft, topic, partition, (offset, high_watermark, left))
    return offset


def produce(draft: Draft, name: str, partition: int, *, records: int, bytes_each: int) -> None:
    """Stand in for producers: ``records`` more, each of ``bytes_each``.

    Raises:
        Refusal: there is no such partition.
    """
    topic = draft.delta.topics.get(name)
    if topic is None or not 0 <= partition < len(topic.assignment):
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    start, high_watermark, size = topic.offsets_of(partition)
    after = start, high_watermark + records, size + records * bytes_each
    _write(draft, topic, partition, after)


def _write(draft: Draft, topic: TopicImage, partition: int, offsets: tuple[int, int, int]) -> None:
    draft.write(OffsetsRecord(topic_id=topic.topic_id, offsets={partition: offsets}))
