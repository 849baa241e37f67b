"""The records in a batch: read, compressed or not, and written again without some of them."""

import importlib
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence

import msgspec

from kgitops.wire.batches import HEADER_BYTES, BatchHeader, read_header, seal
from kgitops.wire.errors import MalformedError

_NONE, _GZIP, _SNAPPY, _LZ4, _ZSTD = range(5)
_MOST_BYTES = 128 * 1024 * 1024
"""Of the records of one batch; a small one may hold very many zeros."""
_ATTRIBUTES_AT = 21
_COUNT_AT = 57


class BatchRecord(msgspec.Struct, frozen=True, gc=False):
    """One record; ``data`` are its bytes, with their length before them."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    data: bytes


class UnknownCodecError(Exception):
    """Nothing here can decompress the records."""


def batch_records(batch: bytes) -> Iterator[BatchRecord]:
    """The records of a batch.

    Raises:
        MalformedError: they can't be read.
        UnknownCodecError: they are compressed by a codec whose library is not installed.
    """
    header = read_header(batch)
    data = _records_bytes(header, batch)
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
    """The batch with some of its records alone, uncompressed, at the offsets that they have."""
    kept = bytearray(batch[:HEADER_BYTES])
    attributes = struct.unpack_from(">h", kept, _ATTRIBUTES_AT)[0] & ~0x07
    struct.pack_into(">h", kept, _ATTRIBUTES_AT, attributes)
    struct.pack_into(">i", kept, _COUNT_AT, len(records))
    for record in records:
        kept += record.data
    return bytes(seal(kept))


def _records_bytes(header: BatchHeader, batch: bytes) -> bytes:
    data = batch[HEADER_BYTES:]
    try:
        return data if header.codec == _NONE else _decompressor(header.codec)(data)
    except UnknownCodecError:
        raise
    except Exception as error:
        raise MalformedError(f"the records of a batch can't be decompressed: {error}") from error


def _decompressor(codec: int) -> Callable[[bytes], bytes]:
    if codec == _GZIP:
        return _gunzip
    # kafka-python knows the frames of the others, and uses their libraries if they are there.
    codecs = importlib.import_module("kafka.codec")
    names = {_SNAPPY: "snappy", _LZ4: "lz4", _ZSTD: "zstd"}
    name = names.get(codec)
    if name is None:
        raise MalformedError(f"there is no codec {codec}")
    if not getattr(codecs, f"has_{name}")():
        raise UnknownCodecError(name)
    found: Callable[[bytes], bytes] = getattr(codecs, f"{name}_decode")
    return found


def _gunzip(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    found = unpacker.decompress(data, _MOST_BYTES)
    if unpacker.unconsumed_tail:
        raise MalformedError(f"they are more than {_MOST_BYTES} bytes")
    return found


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
