"""The log of one partition as its leader knows it: batches, producers, transactions."""

from bisect import bisect_left, bisect_right

from msgspec import Struct

from kgitops.serve.data.producers import ProducerState, after_batch
from kgitops.wire.batches import BatchHeader, is_commit, read_header


class AbortedTransaction(Struct, frozen=True):
    """A producer's aborted transaction: its first offset, and that of the marker of its end."""

    producer_id: int
    first_offset: int
    last_offset: int


class _Index:
    """Offsets, sizes and timestamps of batches, in the order of the log; it only grows."""

    def __init__(self) -> None:
        self.base_offsets: list[int] = []
        self.last_offsets: list[int] = []
        self.sizes: list[int] = []
        self.timestamps: list[int] = []

    def add(self, batch: BatchHeader) -> None:
        self.last_offsets.append(batch.last_offset)
        self.sizes.append(batch.size)
        self.timestamps.append(batch.max_timestamp)
        self.base_offsets.append(batch.base_offset)

    def since(self, offset: int) -> "_Index":
        first = bisect_left(self.last_offsets, offset)
        rest = _Index()
        rest.base_offsets = self.base_offsets[first:]
        rest.last_offsets = self.last_offsets[first:]
        rest.sizes = self.sizes[first:]
        rest.timestamps = self.timestamps[first:]
        return rest


class BatchRange(Struct, frozen=True):
    """Batches to read: the base offsets of the first and the last, and all their bytes."""

    first: int
    last: int
    bytes: int


NOTHING = BatchRange(0, -1, 0)


class LogView(Struct, frozen=True, kw_only=True, gc=False):
    """A partition at one moment, for readers in other threads; ``count`` batches are in it."""

    index: _Index
    count: int = 0
    start: int = 0
    end: int = 0
    last_stable: int = 0
    aborted: tuple[AbortedTransaction, ...] = ()

    def find(self, offset: int, *, most: int, committed: bool, at_least_one: bool) -> BatchRange:
        """The batches from an offset on, as many as ``most`` bytes hold, or one all the same.

        ``committed``: only those before the first transaction that is open.
        """
        index, size = self.index, 0
        first = at = bisect_left(index.last_offsets, offset, hi=self.count)
        while at < self.count:
            if committed and index.base_offsets[at] >= self.last_stable:
                break
            if size + index.sizes[at] > most and not (at_least_one and at == first):
                break
            size += index.sizes[at]
            at += 1
        if at == first:
            return NOTHING
        return BatchRange(index.base_offsets[first], index.base_offsets[at - 1], size)

    def bounds(self, found: BatchRange, last: int) -> list[tuple[int, int, int]]:
        """The first offset, the last offset and the bytes of each batch, up to that of ``last``."""
        index = self.index
        begin = bisect_left(index.base_offsets, found.first, hi=self.count)
        end = bisect_right(index.base_offsets, min(found.last, last), hi=self.count)
        return [
            (index.base_offsets[at], index.last_offsets[at], index.sizes[at])
            for at in range(begin, end)
        ]

    def aborted_in(self, offset: int, found: BatchRange) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions of which records may be among the batches."""
        index = self.index
        at = bisect_right(index.base_offsets, found.last, hi=self.count) - 1
        end = index.last_offsets[at] if found.bytes else offset
        return tuple(
            one for one in self.aborted if one.last_offset >= offset and one.first_offset <= end
        )

    def first_since(self, timestamp_ms: int) -> int | None:
        """The base offset of the first batch with a record of that time, or later."""
        index = self.index
        for at in range(self.count):
            if index.timestamps[at] >= timestamp_ms:
                return index.base_offsets[at]
        return None

    def newest(self) -> int | None:
        """The base offset of the first batch with the largest timestamp."""
        index = self.index
        if not self.count:
            return None
        at = max(range(self.count), key=lambda at: (index.timestamps[at], -at))
        return index.base_offsets[at]


class PartitionLog:
    """One partition. Its leader alone changes it; others read ``view``."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.producers: dict[int, ProducerState] = {}
        self._index = _Index()
        self._aborted: tuple[AbortedTransaction, ...] = ()
        self._open: dict[int, int] = {}
        self.view = LogView(index=self._index)

    @property
    def has_open_transactions(self) -> bool:
        """True if a reader of what is committed can't read to the end."""
        return bool(self._open)

    def replay(self, head: bytes) -> None:
        """Take in the next batch: its header, and of a marker all."""
        batch = read_header(head)
        self._index.add(batch)
        self.end = batch.last_offset + 1
        if not batch.idempotent:
            return
        before = self.producers.get(batch.producer_id)
        if batch.control and not is_commit(head):
            first = before.first_offset if before else None
            if first is not None:
                ended = AbortedTransaction(batch.producer_id, first, batch.base_offset)
                self._aborted = (*self._aborted, ended)
        after = self.producers[batch.producer_id] = after_batch(before, batch)
        if after.first_offset is None:
            self._open.pop(batch.producer_id, None)
        else:
            self._open[batch.producer_id] = after.first_offset

    def move(self, start: int, end: int) -> None:
        """Take in where the log begins and ends; records before ``start`` are gone."""
        if start > self.start:
            self._index = self._index.since(start)
            self._aborted = tuple(one for one in self._aborted if one.last_offset >= start)
        self.start, self.end = start, end

    def publish(self) -> None:
        """Let readers see the log as it is now."""
        self.view = LogView(
            index=self._index,
            count=len(self._index.base_offsets),
            start=self.start,
            end=self.end,
            last_stable=max(min(self._open.values(), default=self.end), self.start),
            aborted=self._aborted,
        )
