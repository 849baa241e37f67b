"""All partitions of a served cluster: their logs, read and written in the cluster's store."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.controller import Controller
from kgitops.cluster.embedded.controls.records import transactions as transaction_control
from kgitops.cluster.embedded.image.image import Image, TopicImage
from kgitops.cluster.embedded.store.batches import BatchTables, PartitionKey
from kgitops.model.results import ErrorCode
from kgitops.serve.data.batch_checks import BatchError, topic_rules
from kgitops.serve.data.compaction import compact
from kgitops.serve.data.partition_log import BatchRange, LogView, PartitionLog
from kgitops.serve.data.producers import ProducerState, find_duplicate, producer_error
from kgitops.serve.data.waiting import WaitingFetches
from kgitops.wire.batches import BatchHeader

_MOST_ADDED = 32 * 1024 * 1024
"""Bytes of compacted batches that are kept until they are written."""


class Place(Struct, frozen=True):
    """A partition of a topic, as an image has it."""

    topic: TopicImage
    partition: int

    @property
    def key(self) -> PartitionKey:
        """Its key in the store."""
        return self.topic.topic_id, self.partition


class NewBatch(Struct, frozen=True, kw_only=True):
    """A batch that has been checked, for a partition."""

    key: PartitionKey
    data: bytes
    header: BatchHeader
    transactional_id: str | None = None
    """The physical one, of a batch that belongs to a transaction."""


class AppendedBatch(Struct, frozen=True, kw_only=True):
    """The offset of a batch, or why it was not taken."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    base_offset: int = -1
    start: int = -1
    duplicate: bool = False


class _StoredBatches:
    """The batches of a partition up to its last stable offset, read one by one."""

    def __init__(self, tables: BatchTables, key: PartitionKey, view: LogView) -> None:
        self._tables = tables
        self._key = key
        self._offsets = view.index.base_offsets[: view.count]
        self._end = view.last_stable

    def __iter__(self) -> Iterator[bytes]:
        for offset in self._offsets:
            if offset < self._end:
                yield from self._tables.read(self._key, offset, offset)


class DataPlane:
    """The logs of all partitions; those that nobody has asked for are not in memory."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._logs: dict[PartitionKey, PartitionLog] = {}
        self.waiting = WaitingFetches()

    async def views(self, places: Sequence[Place]) -> list[LogView | None]:
        """The partitions as they are now; None for those of topics that no longer exist."""
        stale = [place.key for place in places if self._view(place) is None]
        if stale:
            await asyncio.get_running_loop().run_in_executor(None, self.refresh, stale)
        logs = (self._logs.get(place.key) for place in places)
        return [log.view if log else None for log in logs]

    def refresh(self, keys: Iterable[PartitionKey]) -> None:
        """Read what the store has of these partitions, and wake who waits for it."""
        keys = tuple(keys)
        with self._controller.reading_batches() as image:
            for key in keys:
                if key[0] in image.topics.names:
                    self._catch_up(image, key).publish()
                else:
                    self._logs.pop(key, None)
        self.waiting.wake(keys)

    def refresh_open(self) -> None:
        """Read the partitions with open transactions, after one has ended."""
        if keys := [key for key, log in list(self._logs.items()) if log.has_open_transactions]:
            self.refresh(keys)

    def append(self, batches: Sequence[NewBatch]) -> list[AppendedBatch]:
        """Append batches in one transaction; each that is not taken leaves the others alone."""
        touched: list[PartitionKey] = []
        try:
            with self._controller.writing_batches() as image:
                outcomes = []
                for batch in batches:
                    touched.append(batch.key)
                    outcomes.append(self._append(image, batch))
        except BaseException:
            # Nothing of it was written: the logs are read again when they are needed.
            for key in touched:
                self._logs.pop(key, None)
            raise
        for key in touched:
            if key in self._logs:
                self._logs[key].publish()
        self.waiting.wake(touched)
        return outcomes

    def read(self, key: PartitionKey, found: BatchRange) -> bytes:
        if not found.bytes:
            return b""
        return b"".join(self._controller.batches.read(key, found.first, found.last))

    def producers(self, key: PartitionKey) -> dict[int, ProducerState]:
        """The producers of a partition, by their ids."""
        with self._controller.reading_batches() as image:
            return dict(self._catch_up(image, key).producers)

    def compact(self) -> None:
        """Compact the partitions of compacted topics, as brokers do now and then."""
        with self._controller.reading_batches() as image:
            options = self._controller.options
            compacted = {
                topic.topic_id
                for topic in image.topics.by_name.values()
                if topic_rules(image, options, topic).compacted
            }
            keys = [key for key in self._controller.batches.partitions() if key[0] in compacted]
        for key in keys:
            with self._controller.writing_batches() as image:
                self._compact(image, key)
            self._logs.pop(key, None)

    def expired(self, image: Image) -> Collection[str]:
        """The transactional ids whose transactions are open for too long."""
        now_ms = self._controller.clock_and_ids.now_ms()
        return transaction_control.expired(image.transactions.by_id, now_ms)

    def abort_expired(self) -> None:
        """Abort transactions that are open for too long."""
        now_ms = self._controller.clock_and_ids.now_ms()
        self._controller.decide(lambda draft: transaction_control.abort_expired(draft, now_ms))
        self.refresh_open()

    def _view(self, place: Place) -> LogView | None:
        """The partition if all is known that the place's image knows."""
        log = self._logs.get(place.key)
        if log is None:
            return None
        start, end, _ = place.topic.offsets_of(place.partition)
        return log.view if log.view.end >= end and log.view.start >= start else None

    def _compact(self, image: Image, key: PartitionKey) -> None:
        if key[0] not in image.topics.names:
            return
        log = self._catch_up(image, key)
        log.publish()
        tables = self._controller.batches
        batches = _StoredBatches(tables, key, log.view)
        removed: list[int] = []
        added: list[bytes] = []
        size = 0
        for changed in compact(batches, log.view.aborted):
            removed.append(changed.base_offset)
            if changed.data is not None:
                added.append(changed.data)
                size += len(changed.data)
            if size > _MOST_ADDED:
                tables.replace(key, removed, added)
                removed, added, size = [], [], 0
        if removed:
            tables.replace(key, removed, added)

    def _append(self, image: Image, batch: NewBatch) -> AppendedBatch:
        if batch.key[0] not in image.topics.names:
            return AppendedBatch(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        log = self._catch_up(image, batch.key)
        if batch.header.idempotent:
            try:
                _check_transaction(image, batch)
            except BatchError as error:
                return AppendedBatch(error=error.code, message=error.message)
            held = log.producers.get(batch.header.producer_id)
            known = find_duplicate(held, batch.header)
            if known is not None:
                return AppendedBatch(base_offset=known.base_offset, start=log.start, duplicate=True)
            if code := producer_error(held, batch.header):
                return AppendedBatch(error=code)
        base_offset = log.end
        log.replay(self._controller.batches.append(batch.key, batch.data))
        return AppendedBatch(base_offset=base_offset, start=log.start)

    def _catch_up(self, image: Image, key: PartitionKey) -> PartitionLog:
        """The partition's log with all that the store has; the caller holds a transaction."""
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = PartitionLog()
        tables = self._controller.batches
        if tables.exist:
            start, end = tables.offsets(key)
        else:
            # What tests have simulated.
            topic = image.topics.by_name[image.topics.names[key[0]]]
            start, end, _ = topic.offsets_of(key[1])
        if end != log.end:
            for head in tables.heads(key, log.end):
                log.replay(head)
        if (start, end) != (log.start, log.end):
            log.move(start, end)
        return log


def _check_transaction(image: Image, batch: NewBatch) -> None:
    """Refuse a batch of a transaction that is not open, or without the partition (KIP-890)."""
    if not batch.header.transactional:
        return
    held = image.transactions.by_id.get(batch.transactional_id or "")
    if held is None or held.producer_id != batch.header.producer_id:
        raise BatchError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if held.epoch != batch.header.producer_epoch:
        raise BatchError(ErrorCode.INVALID_PRODUCER_EPOCH)
    if not held.open or batch.key not in held.contents.partitions:
        raise BatchError(
            ErrorCode.INVALID_TXN_STATE,
            "The partition is not in an open transaction of the producer.",
        )
