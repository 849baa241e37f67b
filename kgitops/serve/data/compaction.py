"""Compaction: keeps the last record of each key.

A batch keeps its offsets. Its records are written uncompressed when some of them go. Tombstones
stay, and so does what can't be read here.
"""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from kgitops.serve.data.partition_log import AbortedTransaction
from kgitops.wire.batch_records import BatchRecord, UnknownCodecError, batch_records, with_records
from kgitops.wire.batches import NO_PRODUCER, BatchHeader, read_header
from kgitops.wire.errors import MalformedError


class CompactedLog(Struct, frozen=True):
    """The difference that compaction makes: base offsets of batches, and those in their place."""

    removed: tuple[int, ...]
    added: tuple[bytes, ...]


class _Batch:
    """A batch, its records if they can be read, and those that stay."""

    def __init__(self, data: bytes, aborted: Collection[AbortedTransaction]) -> None:
        self.data = data
        self.header = header = read_header(data)
        self.aborted = any(_is_in(header, one) for one in aborted)
        self.records = None if header.control else _records(data)
        self.kept = self.records or ()
        self.needed = True

    @property
    def written(self) -> bytes | None:
        """The batch as it is after compaction; None if nothing is left of it."""
        if self.records is None or len(self.kept) == len(self.records):
            return self.data if self.needed or self.kept else None
        return with_records(self.data, self.kept) if self.needed or self.kept else None


def compact(batches: Sequence[bytes], aborted: Collection[AbortedTransaction]) -> CompactedLog:
    """Compact the batches of a partition up to its last stable offset."""
    log = [_Batch(data, aborted) for data in batches]
    last: dict[bytes, int] = {}
    for batch in log:
        if not batch.aborted:
            last |= {one.key: one.offset for one in batch.kept if one.key is not None}
    for batch in log:
        if batch.records is not None:
            batch.kept = tuple(_kept(batch, last))
    _find_needed(log)
    changed = [(batch, after) for batch in log if (after := batch.written) != batch.data]
    return CompactedLog(
        tuple(batch.header.base_offset for batch, _ in changed),
        tuple(after for _, after in changed if after is not None),
    )


def _kept(batch: _Batch, last: dict[bytes, int]) -> Iterator[BatchRecord]:
    for record in batch.records or ():
        newest = record.key is None or last.get(record.key) == record.offset
        if newest and not batch.aborted:
            yield record


def _find_needed(log: Sequence[_Batch]) -> None:
    """Find the batches that stay even without records.

    A producer's last one has its sequence numbers, its last marker its epoch, and markers end
    transactions that have records.
    """
    last = {(batch.header.producer_id, batch.header.control): batch for batch in log}
    left: dict[int, bool] = {}
    for batch in log:
        producer_id = batch.header.producer_id
        key = producer_id, batch.header.control
        is_last = producer_id != NO_PRODUCER and last[key] is batch
        if batch.header.control:
            batch.needed = is_last or left.pop(producer_id, False)
        else:
            batch.needed = is_last or batch.records is None
            stays = batch.needed or bool(batch.kept)
            left[producer_id] = left.get(producer_id, False) or stays


def _is_in(batch: BatchHeader, one: AbortedTransaction) -> bool:
    within = one.first_offset <= batch.base_offset < one.last_offset
    return batch.transactional and batch.producer_id == one.producer_id and within


def _records(data: bytes) -> tuple[BatchRecord, ...] | None:
    try:
        return tuple(batch_records(data))
    except (MalformedError, UnknownCodecError):
        return None
