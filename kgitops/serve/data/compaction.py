"""Compaction: keeps the last record of each key.

A batch keeps its offsets. Its records are written without gaps when some of them go. Tombstones
stay, and so does what can't be read here. One batch is in memory at a time, and so many keys.
"""

from collections.abc import Collection, Iterable, Iterator
from hashlib import blake2b

from msgspec import Struct, field

from kgitops.serve.data.partition_log import AbortedTransaction
from kgitops.wire.batch_records import BatchRecord, batch_records, with_records
from kgitops.wire.batches import BatchHeader, read_header
from kgitops.wire.decompression import UnknownCodecError
from kgitops.wire.errors import MalformedError

MOST_KEYS = 1_000_000
"""The keys that are looked at in one go; what comes after them is left for the next time."""
_DIGEST_BYTES = 16


class ChangedBatch(Struct, frozen=True):
    """A batch, by its base offset, and what is in its place after compaction: None for nothing."""

    base_offset: int
    data: bytes | None


class _Last(Struct, kw_only=True):
    """The last offset of each key, by the key's digest, up to the ``end``; the last batch of all.

    Only batches from before ``end`` are compacted.
    """

    of_keys: dict[bytes, int] = field(default_factory=dict)
    of_producers: dict[tuple[int, bool], int] = field(default_factory=dict)
    end: int | None = None


def compact(
    batches: Iterable[bytes],
    aborted: Collection[AbortedTransaction],
    *,
    most_keys: int = MOST_KEYS,
) -> Iterator[ChangedBatch]:
    """Compact the batches of a partition up to its last stable offset.

    They are gone through twice.
    """
    last = _find_last(batches, aborted, most_keys)
    left: dict[int, bool] = {}
    for data in batches:
        header = read_header(data)
        if last.end is not None and header.base_offset >= last.end:
            return
        after = _written(data, header, last, left, aborted)
        if after != data:
            yield ChangedBatch(header.base_offset, after)


def _find_last(
    batches: Iterable[bytes], aborted: Collection[AbortedTransaction], most_keys: int
) -> _Last:
    last = _Last()
    for data in batches:
        header = read_header(data)
        last.of_producers[header.producer_id, header.control] = header.base_offset
        if last.end is None and len(last.of_keys) >= most_keys:
            last.end = header.base_offset
        if last.end is None and not header.control and not _is_aborted(header, aborted):
            try:
                last.of_keys |= {
                    _digest(record.key): record.offset
                    for record in batch_records(data)
                    if record.key is not None
                }
            except (MalformedError, UnknownCodecError):
                continue
    return last


def _written(
    data: bytes,
    header: BatchHeader,
    last: _Last,
    left: dict[int, bool],
    aborted: Collection[AbortedTransaction],
) -> bytes | None:
    """The batch as it is after compaction; None if nothing is left of it.

    Some stay even without records: a producer's last one has its sequence numbers, its last marker
    its epoch, and markers end transactions that have records, which ``left`` knows by producer.
    """
    producer_id = header.producer_id
    newest = last.of_producers[producer_id, header.control]
    needed = header.idempotent and newest == header.base_offset
    if header.control:
        return data if needed | left.pop(producer_id, False) else None
    kept = _kept(data, header, last, aborted)
    stays = needed or kept is None or bool(kept)
    left[producer_id] = left.get(producer_id, False) or stays
    if not stays:
        return None
    unchanged = kept is None or len(kept) == header.records
    return data if unchanged else with_records(data, kept or ())


def _kept(
    data: bytes, header: BatchHeader, last: _Last, aborted: Collection[AbortedTransaction]
) -> list[BatchRecord] | None:
    """The records that stay; None if they can't be read."""
    gone = _is_aborted(header, aborted)
    try:
        return [record for record in batch_records(data) if not gone and _is_newest(record, last)]
    except (MalformedError, UnknownCodecError):
        return None


def _is_newest(record: BatchRecord, last: _Last) -> bool:
    return record.key is None or last.of_keys.get(_digest(record.key)) == record.offset


def _is_aborted(batch: BatchHeader, aborted: Collection[AbortedTransaction]) -> bool:
    return batch.transactional and any(
        batch.producer_id == one.producer_id
        and one.first_offset <= batch.base_offset < one.last_offset
        for one in aborted
    )


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()
