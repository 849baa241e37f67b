"""The state of producers in a partition, and the checks of idempotent ones (KIP-98, KIP-360)."""

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.results import ErrorCode
from kgitops.wire.batches import NO_SEQUENCE, BatchHeader, after_sequence

REMEMBERED = 5
"""Batches of a producer that are known again when it sends them again; Kafka's own number."""

_NO_EPOCH = -1


class WrittenBatch(Struct, frozen=True):
    """A batch of a producer: its sequence numbers, and its offset."""

    first_sequence: int
    last_sequence: int
    base_offset: int


class ProducerState(Struct, frozen=True, kw_only=True):
    """A producer in one partition; ``first_offset`` is that of its open transaction."""

    epoch: int
    batches: tuple[WrittenBatch, ...] = ()
    first_offset: int | None = None
    last_timestamp: int = -1

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record in this epoch; -1 if it has none."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


def find_duplicate(held: ProducerState | None, batch: BatchHeader) -> WrittenBatch | None:
    """The batch as it was written before, if the producer sends it again."""
    if held is None or held.epoch != batch.producer_epoch:
        return None
    same = batch.base_sequence, batch.last_sequence
    for known in held.batches:
        if (known.first_sequence, known.last_sequence) == same:
            return known
    return None


def producer_error(held: ProducerState | None, batch: BatchHeader) -> ErrorCode:
    """The error of a batch that is not the producer's next one; NONE if it is."""
    if held is None:
        # Its earlier batches may have been deleted (KIP-360).
        known = batch.producer_epoch >= _NO_EPOCH
        return ErrorCode.NONE if known else ErrorCode.INVALID_PRODUCER_EPOCH
    if batch.producer_epoch < held.epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    new_epoch = batch.producer_epoch > held.epoch
    last = NO_SEQUENCE if new_epoch else held.last_sequence
    expected = after_sequence(last, 1) if last != NO_SEQUENCE else 0
    if batch.base_sequence != expected:
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return ErrorCode.NONE


def after_batch(held: ProducerState | None, batch: BatchHeader) -> ProducerState:
    """The producer after a batch, or the marker of a transaction's end, was written."""
    if held is None or held.epoch != batch.producer_epoch:
        first = held.first_offset if held else None
        held = ProducerState(epoch=batch.producer_epoch, first_offset=first)
    if batch.control:
        return replace(held, first_offset=None, last_timestamp=batch.max_timestamp)
    written = WrittenBatch(batch.base_sequence, batch.last_sequence, batch.base_offset)
    first = held.first_offset
    if batch.transactional and first is None:
        first = batch.base_offset
    return replace(
        held,
        batches=(*held.batches, written)[-REMEMBERED:],
        first_offset=first,
        last_timestamp=batch.max_timestamp,
    )
