"""Finds the record of a time in a partition."""

from msgspec import Struct

from kgitops.cluster.embedded.store.batches import PartitionKey
from kgitops.serve.data.data_plane import DataPlane
from kgitops.serve.data.partition_log import BatchRange, LogView
from kgitops.wire.batch_records import batch_records
from kgitops.wire.batches import read_header
from kgitops.wire.decompression import UnknownCodecError
from kgitops.wire.errors import MalformedError

NEWEST = -3
"""Stands for the largest timestamp that there is."""


class RecordTime(Struct, frozen=True):
    """A record's offset and timestamp."""

    offset: int
    timestamp_ms: int


def find_timestamp(
    data: DataPlane, key: PartitionKey, view: LogView, timestamp_ms: int
) -> RecordTime | None:
    """The first record of that time or later; with ``NEWEST`` that with the largest timestamp.

    Of a batch whose records can't be read here it is the first record, which may be older, or the
    last one for ``NEWEST``.
    """
    newest = timestamp_ms == NEWEST
    base_offset = view.newest() if newest else view.first_since(timestamp_ms)
    if base_offset is None:
        return None
    batch = data.read(key, BatchRange(base_offset, base_offset, 1))
    if not batch:
        return None
    header = read_header(batch)
    wanted = header.max_timestamp if newest else timestamp_ms
    try:
        for record in batch_records(batch):
            if record.timestamp_ms >= wanted and record.offset >= view.start:
                return RecordTime(record.offset, record.timestamp_ms)
    except (UnknownCodecError, MalformedError):
        if newest:
            return RecordTime(header.last_offset, header.max_timestamp)
        return RecordTime(max(base_offset, view.start), header.base_timestamp)
    return None
