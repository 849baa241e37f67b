"""The records in a batch: read, compressed or not, and written again without some of them."""

import struct
import zlib
from collections.abc import Iterator, Sequence

import msgspec

from kgitops.wire.batches import HEADER_BYTES, BatchHeader, read_header, seal
from kgitops.wire.decompression import GZIP, decompressed
from kgitops.wire.errors import MalformedError

MOST_RECORDS = 1_000_000
"""Of one batch; so many take seconds to read."""
_ATTRIBUTES_AT = 21
_COUNT_AT = 57
_CODEC = 0x07


class BatchRecord(msgspec.Struct, frozen=True, gc=False):
    """One record; ``data`` are its bytes, with their length before them."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    data: bytes


def batch_records(batch: bytes) -> Iterator[BatchRecord]:
    """The records of a batch.

    Raises:
        MalformedError: they can't be read.
        UnknownCodecError: they are compressed by a codec whose library is not installed.
    """
    header = read_header(batch)
    if header.records > MOST_RECORDS:
        raise MalformedError(f"a batch has more than {MOST_RECORDS} records")
    data = decompressed(header.codec, batch[HEADER_BYTES:])
    at = 0
    try:
        for _ in range(header.records):
            record, at = _record(header, data, at)
            yield record
    except (IndexError, struct.error):
        raise MalformedError("a record batch ends early") from None
    if at != len(data):
        raise MalformedError("bytes follow the last record of a batch")


def with_records(batch: bytes, records: Sequence[BatchRecord]) -> bytes:
    """The batch with some of its records alone, at the offsets that they have.

    They are compressed by gzip if they were compressed: else they could take much more room.
    """
    kept = bytearray(batch[:HEADER_BYTES])
    attributes: int = struct.unpack_from(">h", kept, _ATTRIBUTES_AT)[0]
    data = b"".join(record.data for record in records)
    compressed = attributes & _CODEC and records
    attributes &= ~_CODEC
    if compressed:
        data = zlib.compress(data, wbits=31)
        attributes |= GZIP
    struct.pack_into(">h", kept, _ATTRIBUTES_AT, attributes)
    struct.pack_into(">i", kept, _COUNT_AT, len(records))
    return bytes(seal(kept + data))


def _record(header: BatchHeader, data: bytes, at: int) -> tuple[BatchRecord, int]:
    first = at
    size, at = _varint(data, at)
    end = at + size
    if size < 0 or end > len(data):
        raise MalformedError("a record is longer than its batch")
    at += 1
    timestamp_delta, at = _varint(data, at)
    offset_delta, at = _varint(data, at)
    key, at = _bytes(data, at)
    value, at = _bytes(data, at)
    stamped = header.log_append_time
    record = BatchRecord(
        offset=header.base_offset + offset_delta,
        timestamp_ms=header.max_timestamp if stamped else header.base_timestamp + timestamp_delta,
        key=key,
        value=value,
        data=data[first:end],
    )
    return record, end


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(data, at)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise MalformedError("a record is longer than its batch")
    return data[at : at + size], at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A signed number: zigzag, seven bits a byte."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise MalformedError("a number in a record takes more than ten bytes")
