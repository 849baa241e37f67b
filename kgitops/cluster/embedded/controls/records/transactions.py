"""Decides about producers and their transactions, by physical transactional ids.

What Kafka's coordinator does in steps, with a log of its own, is one decision here: the state, the
markers in the partitions and the offsets of groups are written together.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kgitops.cluster.embedded.controls import groups as group_control
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import TransactionImage
from kgitops.cluster.embedded.image.records import (
    OffsetDetails,
    PendingOffset,
    ProducerIdsRecord,
    TransactionContents,
    TransactionContentsRecord,
    TransactionRecord,
)
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.results import ErrorCode
from kgitops.wire.batches import end_marker

DEFAULT_TIMEOUT_MS = 60_000
_MAX_TIMEOUT_MS = "900000"
_LAST_EPOCH = 32_766
"""Of a producer id; the one after it is for brokers that fence the producer."""

Producer = tuple[int, int]
"""A producer's id and epoch."""


def new_producer_id(draft: Draft) -> int:
    """A producer id that nobody has had."""
    producer_id = draft.delta.transactions.next_producer_id
    draft.write(ProducerIdsRecord(next_producer_id=producer_id + 1))
    return producer_id


def begin_producer(
    draft: Draft,
    transactional_id: str,
    *,
    timeout_ms: int,
    current: Producer | None,
    now_ms: int,
) -> TransactionImage:
    """Give the transactional id to a producer; the one before is fenced, its transaction aborted.

    ``current`` is what a producer has that only asks for the next epoch (KIP-360).

    Raises:
        Refusal: the timeout is not allowed, or the producer has been fenced.
    """
    most = int(draft.options.static_configs.get("transaction.max.timeout.ms", _MAX_TIMEOUT_MS))
    if not 0 < timeout_ms <= most:
        raise Refusal(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            "The transaction timeout is larger than the maximum value allowed by the broker (as "
            "configured by transaction.max.timeout.ms).",
        )
    held = draft.delta.transactions.get(transactional_id)
    if held is None:
        now = TransactionImage(producer_id=new_producer_id(draft), epoch=0)
    else:
        if current is not None and current != (held.producer_id, held.epoch):
            if current == (held.producer_id, held.epoch - 1) and not held.open:
                return held  # it asks again
            raise _fenced()
        now = _next_epoch(draft, held)
        if held.open:
            now = _next_epoch(draft, _end(draft, transactional_id, now, False, now_ms))
    now = replace(now, open=False, contents=replace(now.contents, timeout_ms=timeout_ms))
    _write(draft, transactional_id, now)
    return now


def add_partitions(
    draft: Draft,
    transactional_id: str,
    producer: Producer,
    partitions: Iterable[tuple[str, int]],
    now_ms: int,
) -> None:
    """Add partitions, by topic ids, to the producer's transaction; the first ones begin it.

    Raises:
        Refusal: the producer has been fenced.
    """
    held = _opened(held_by(draft, transactional_id, producer), now_ms)
    known = held.contents.partitions
    added = tuple(key for key in dict.fromkeys(partitions) if key not in known)
    contents = replace(held.contents, partitions=known + added)
    _write(draft, transactional_id, replace(held, contents=contents))


def add_group(
    draft: Draft, transactional_id: str, producer: Producer, group: str, now_ms: int
) -> None:
    """Add the offsets of a group to the producer's transaction, or begin one with them.

    Raises:
        Refusal: the producer has been fenced.
    """
    held = _opened(held_by(draft, transactional_id, producer), now_ms)
    groups = dict.fromkeys((*held.contents.groups, group))
    contents = replace(held.contents, groups=tuple(groups))
    _write(draft, transactional_id, replace(held, contents=contents))


def commit_offsets(
    draft: Draft,
    transactional_id: str,
    producer: Producer,
    group: str,
    offsets: Iterable[PendingOffset],
) -> None:
    """Keep offsets of a group until the producer's transaction is committed.

    Raises:
        Refusal: the producer has been fenced, or the group is not in its transaction.
    """
    held = held_by(draft, transactional_id, producer)
    if not held.open or group not in held.contents.groups:
        raise _not_open()
    kept = {
        (one.group, one.topic, one.partition): one for one in (*held.contents.offsets, *offsets)
    }
    contents = replace(held.contents, offsets=tuple(kept.values()))
    _write(draft, transactional_id, replace(held, contents=contents))


def end_transaction(
    draft: Draft, transactional_id: str, producer: Producer, *, committed: bool, now_ms: int
) -> None:
    """Commit or abort the producer's transaction; saying so again changes nothing.

    Raises:
        Refusal: the producer has been fenced, or has no such transaction.
    """
    held = held_by(draft, transactional_id, producer)
    if held.open:
        _end(draft, transactional_id, held, committed, now_ms)
    elif held.contents.committed is not committed:
        raise _not_open()


def expired(transactions: Mapping[str, TransactionImage], now_ms: int) -> list[str]:
    """The transactional ids whose transactions are open for longer than they may be."""
    return [
        name
        for name, held in transactions.items()
        if held.open
        and held.contents.started_ms >= 0  # some were only said to be open
        and held.contents.started_ms + held.contents.timeout_ms < now_ms
    ]


def abort_expired(draft: Draft, now_ms: int) -> None:
    """Abort the transactions that are open for too long, and fence their producers."""
    for name in expired(draft.image.transactions.by_id, now_ms):
        held = draft.delta.transactions.get(name)
        if held is not None:
            _end(draft, name, _next_epoch(draft, held), False, now_ms)


def held_by(draft: Draft, transactional_id: str, producer: Producer) -> TransactionImage:
    """The transactional id, which must be this producer's.

    Raises:
        Refusal: it is another's.
    """
    held = draft.delta.transactions.get(transactional_id)
    producer_id, epoch = producer
    if held is None or held.producer_id != producer_id:
        raise Refusal(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            "The producer attempted to use a producer id which is not currently assigned to its "
            "transactional id.",
        )
    if held.epoch != epoch:
        raise _fenced()
    return held


def _opened(held: TransactionImage, now_ms: int) -> TransactionImage:
    if held.open:
        return held
    contents = TransactionContents(timeout_ms=held.contents.timeout_ms, started_ms=now_ms)
    return replace(held, open=True, contents=contents)


def _end(
    draft: Draft, transactional_id: str, held: TransactionImage, committed: bool, now_ms: int
) -> TransactionImage:
    """The state after the end, which is written to all partitions and groups."""
    contents = held.contents
    marker = end_marker(held.producer_id, held.epoch, now_ms, commit=committed)
    for topic_id, partition in contents.partitions:
        if draft.delta.topics.by_id(topic_id) is not None:
            draft.append_batch(topic_id, partition, marker)
    if committed:
        for one in contents.offsets:
            key = one.topic, one.partition
            details = OffsetDetails(
                leader_epoch=one.leader_epoch, metadata=one.metadata, timestamp_ms=now_ms
            )
            # A topic may have been deleted meanwhile.
            attempt(
                group_control.commit,
                draft,
                one.group,
                {key: one.offset},
                virtual_cluster=one.virtual_cluster,
                details={key: details},
            )
    ended = TransactionContents(
        timeout_ms=contents.timeout_ms, started_ms=contents.started_ms, committed=committed
    )
    after = replace(held, open=False, contents=ended)
    _write(draft, transactional_id, after)
    return after


def _next_epoch(draft: Draft, held: TransactionImage) -> TransactionImage:
    if held.epoch >= _LAST_EPOCH and not held.open:
        return replace(held, producer_id=new_producer_id(draft), epoch=0)
    return replace(held, epoch=held.epoch + 1)


def _write(draft: Draft, transactional_id: str, after: TransactionImage) -> None:
    before = draft.delta.transactions.get(transactional_id)
    if before is None or before != replace(after, contents=before.contents):
        draft.write(
            TransactionRecord(
                transactional_id=transactional_id,
                producer_id=after.producer_id,
                epoch=after.epoch,
                open=after.open,
            )
        )
    contents = before.contents if before else TransactionContents()
    if contents != after.contents:
        draft.write(
            TransactionContentsRecord(transactional_id=transactional_id, contents=after.contents)
        )


def _fenced() -> Refusal:
    return Refusal(
        ErrorCode.PRODUCER_FENCED,
        "There is a newer producer with the same transactionalId which fences the current one.",
    )


def _not_open() -> Refusal:
    return Refusal(
        ErrorCode.INVALID_TXN_STATE,
        "The producer attempted a transactional operation in an invalid state.",
    )
