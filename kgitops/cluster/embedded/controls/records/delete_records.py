"""Decides DeleteRecords, and records what simulated producers wrote (A4-81)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.controls.reassignments import TopicPartition
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import NO_LEADER, TopicImage, leader
from kgitops.cluster.embedded.image.records import OffsetsRecord
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.requests import DeleteRecordsRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.names import is_internal
from kgitops.model.results import OK, ErrorCode, RequestResult

HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1


class DeletedRecords(Struct, frozen=True, kw_only=True):
    """The outcome for one partition; the low watermark is -1 if it is not known."""

    result: RequestResult
    low_watermark: int = NO_LOW_WATERMARK


def delete_records(
    draft: Draft,
    offsets: Mapping[TopicPartition, int],
    *,
    broker: int | None = None,
    as_one: bool = False,
) -> dict[TopicPartition, DeletedRecords]:
    """One outcome for each partition. ``broker`` received the request; None: each leader its part.

    A topic's policies judge the part that a leader receives (P201-63); ``as_one``: all of it.
    """
    outcomes: dict[TopicPartition, DeletedRecords] = {}
    parts: dict[tuple[str, int], list[_Deletion]] = {}
    for (name, partition), offset in offsets.items():
        try:
            deletion = _deletion(draft, name, partition, offset, broker=broker)
        except Refusal as refusal:
            outcomes[name, partition] = DeletedRecords(result=refusal.result)
        else:
            outcomes[name, partition] = DeletedRecords(result=OK, low_watermark=deletion.first)
            parts.setdefault((name, -1 if as_one else deletion.leader), []).append(deletion)
    for (name, _), deletions in parts.items():
        result = attempt(_delete, draft, name, deletions)
        if not result.ok:
            denied = DeletedRecords(result=result)
            outcomes |= {(name, deletion.partition): denied for deletion in deletions}
    return outcomes


class _Deletion(Struct, frozen=True, kw_only=True):
    """A deletion in one partition: ``first`` is the first offset that is kept."""

    partition: int
    leader: int
    first: int
    deletes: bool


def _deletion(
    draft: Draft, name: str, partition: int, offset: int, *, broker: int | None
) -> _Deletion:
    """The deletion of records before ``offset``; refused if it is not possible."""
    if not draft.authorizer.allows_topic(Operation.DELETE, name):
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
    start, high_watermark, _ = topic.offsets_of(partition)
    if offset == HIGH_WATERMARK:
        offset = high_watermark  # policies see the offset itself (P201-61)
    if not 0 <= offset <= high_watermark:
        raise Refusal(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Partition {partition} has no offset {offset}.",
        )
    return _Deletion(
        partition=partition, leader=leading, first=max(start, offset), deletes=offset > start
    )


def _delete(draft: Draft, name: str, deletions: Sequence[_Deletion]) -> None:
    """Delete from partitions of one topic, without those that have nothing to delete (P201-60)."""
    topic = draft.delta.topics.get(name)
    offsets = {deletion.partition: deletion.first for deletion in deletions if deletion.deletes}
    if topic is None or not offsets:
        return
    request = DeleteRecordsRequest(
        topic=name, topic_id=topic.topic_id, deleted_message_offsets=offsets
    )
    draft.judge(request, node=deletions[0].leader)
    for partition, first in offsets.items():
        start, high_watermark, size = topic.offsets_of(partition)
        left = size * (high_watermark - first) // (high_watermark - start)
        _write(draft, topic, partition, (first, high_watermark, left))
    draft.accept(request)


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
