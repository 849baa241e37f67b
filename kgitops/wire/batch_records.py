"""The records in a batch: read, compressed or not, and written again without some of them."""

import struct
import zlib
from collections.abc import Iterator, Sequence

import msgspec

from kgitops.wire.batches import HEADER_BYTES, BatchHeader, read_header, seal
from kgitops.wire.decompression import GZIP, decompressed
from kgitops.wire.errors import MalformedError, TooLargeError

MOST_RECORDS = 1_000_000
"""Of one batch; so many take seconds to read."""
_ATTRIBUTES_AT = 21
_COUNT_AT = 57
_CODEC = 0x07
_LEAST_BYTES = 7
_INT_BITS, _LONG_BITS = 32, 64
_FEW = 32
"""Records that are alike, from which on they are read together."""
_MANY = 1024
"""The most that are read together: who looks further looks in vain where lengths change."""
_WIDEST = 3
"""Bytes of a number."""
_ENDS, _GOES_ON = bytes(range(0x80)), bytes(range(0x80, 0x100))


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
        raise TooLargeError(f"a batch has more than {MOST_RECORDS} records")
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


class RecordFields(msgspec.Struct, frozen=True):
    """Fields of the records in a batch that brokers check.

    ``timestamp_deltas`` has one a record; ``without_key`` are the numbers of records. ``in_order``:
    their offsets follow on each other.
    """

    timestamp_deltas: list[int]
    without_key: list[int]
    in_order: bool


def record_fields(data: bytes, count: int, *, sized: bool) -> RecordFields:
    """The records of a batch, whose bytes are not compressed any more, as strictly as Kafka.

    ``sized``: each record's length must be right. Kafka does not look at it in compressed batches.

    Raises:
        MalformedError: they can't be read, or aren't ``count``.
        TooLargeError: they are too many.
    """
    if count * _LEAST_BYTES > len(data):
        raise MalformedError("a record batch ends early")
    if count > MOST_RECORDS:
        raise TooLargeError(f"a batch has more than {MOST_RECORDS} records")
    at = 0
    timestamps: list[int] = []
    without_key: list[int] = []
    in_order = True
    try:
        # Numbers of one or two bytes are read in place, because every record produced comes here.
        index, patience, tried = -1, _FEW, 0
        while (index := index + 1) < count:
            first = at
            size = data[at]
            if size < 0x80:
                at += 1
                size = size >> 1 ^ -(size & 1)
            elif (byte := data[at + 1]) < 0x80:
                at += 2
                size = (size & 0x7F | byte << 7) >> 1 ^ -(size & 1)
            else:
                size, at = _varint(data, at, _INT_BITS)
            end = at + size
            at += 1
            timestamp = data[at]
            if timestamp < 0x80:
                at += 1
                timestamp = timestamp >> 1 ^ -(timestamp & 1)
            elif (byte := data[at + 1]) < 0x80:
                at += 2
                timestamp = (timestamp & 0x7F | byte << 7) >> 1 ^ -(timestamp & 1)
            else:
                timestamp, at = _varint(data, at, _LONG_BITS)
            timestamps.append(timestamp)
            offset = data[at]
            if offset < 0x80:
                at += 1
                offset = offset >> 1 ^ -(offset & 1)
            elif (byte := data[at + 1]) < 0x80:
                at += 2
                offset = (offset & 0x7F | byte << 7) >> 1 ^ -(offset & 1)
            else:
                offset, at = _varint(data, at, _INT_BITS)
            if offset != index:
                in_order = False
            key = data[at]
            if key < 0x80:
                at += 1
                key = key >> 1 ^ -(key & 1)
            else:
                key, at = _varint(data, at, _INT_BITS)
            if key >= 0:
                at += key
            else:
                without_key.append(index)
            value = data[at]
            if value < 0x80:
                at += 1
                value = value >> 1 ^ -(value & 1)
            elif (byte := data[at + 1]) < 0x80:
                at += 2
                value = (value & 0x7F | byte << 7) >> 1 ^ -(value & 1)
            else:
                value, at = _varint(data, at, _INT_BITS)
            if value > 0:
                at += value
            if data[at]:
                at = _after_headers(data, *_varint(data, at, _INT_BITS))
            else:
                at += 1
            if sized and at != end:
                raise MalformedError("a record does not have the length that it begins with")
            if index >= tried and in_order and index + 1 < count and data[at] == data[first]:
                alike = _alike(data, first, at, index + 1, count - index - 1)
                if alike:
                    timestamps += alike
                    if key < 0:
                        without_key += range(index + 1, index + 1 + len(alike))
                    at += len(alike) * (at - first)
                    index += len(alike)
                else:  # as if none were alike, for a while
                    patience = min(2 * patience, _MANY)
                    tried = index + patience
    except IndexError:
        raise MalformedError("a record batch ends early") from None
    if at != len(data):
        raise MalformedError("the last record of a batch is not its end")
    return RecordFields(timestamps, without_key, in_order)


def _alike(data: bytes, first: int, after: int, index: int, most: int) -> list[int]:
    """The timestamp deltas of the records that follow one, as far as all lengths are the same.

    The record is from ``first`` to ``after``, the next one has the number ``index``. None are
    alike if they are few, have headers, or their offsets do not follow on each other.
    """
    attributes = _end_of_number(data, first)
    offset = _end_of_number(data, attributes + 1)
    key = _end_of_number(data, offset)
    value = _end_of_number(data, key) + max(_varint(data, key, _INT_BITS)[0], 0)
    in_value = _end_of_number(data, value)
    times, width, length = range(attributes + 1, offset), key - offset, after - first
    if data[after - 1] or len(times) > _WIDEST or width > _WIDEST:
        return []
    lengths = (*range(first, attributes), *range(key, _end_of_number(data, key)))
    same = [(at, data[at : at + 1]) for at in (*lengths, *range(value, in_value), after - 1)]
    same += [(at, _GOES_ON) for at in times[:-1]] + [(times[-1], _ENDS)]
    if any(_column(data, at, length, _FEW).lstrip(allowed) for at, allowed in same):
        return []
    most = min(most, (1 << 7 * width - 1) - index, _MANY)
    for at, allowed in same:
        column = _column(data, at, length, most)
        most = len(column) - len(column.lstrip(allowed))
        if most < _FEW:
            return []
    for place in range(width):
        expected = _offset_bytes(place, index, most, last=place == width - 1)
        if _column(data, offset + place, length, most) != expected:
            return []
    numbers = [0] * most
    for place, at in enumerate(times):
        column = _column(data, at, length, most)
        shift = 7 * place
        numbers = [a | (b & 0x7F) << shift for a, b in zip(numbers, column, strict=True)]
    return [number >> 1 ^ -(number & 1) for number in numbers]


def _column(data: bytes, at: int, length: int, most: int) -> bytes:
    """One byte of each of the records that follow one, in which it is at a position."""
    return data[at + length : at + length * most + 1 : length]


def _offset_bytes(place: int, first: int, count: int, *, last: bool) -> bytes:
    """The bytes at a place of so many offsets as numbers of seven bits a byte."""
    goes_on = 0 if last else 0x80
    if not place:
        row = bytes(2 * n & 0x7F | goes_on for n in range(64))
        return (row * (count // 64 + 2))[first % 64 :][:count]
    shift = 7 * place - 1
    digits = range(first >> shift, (first + count - 1 >> shift) + 1)
    row = b"".join(bytes([digit & 0x7F | goes_on]) * (1 << shift) for digit in digits)
    return row[first % (1 << shift) :][:count]


def _end_of_number(data: bytes, at: int) -> int:
    while data[at] > 0x7F:
        at += 1
    return at + 1


def _after_headers(data: bytes, count: int, at: int) -> int:
    if count < 0:
        raise MalformedError("a record has a negative number of headers")
    for _ in range(count):
        size, at = _varint(data, at, _INT_BITS)
        if size < 0:
            raise MalformedError("a header of a record has no key")
        size, at = _varint(data, at + size, _INT_BITS)
        at += max(size, 0)
    return at


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
    size, at = _varint(data, at, _INT_BITS)
    end = at + size
    if size < 0 or end > len(data):
        raise MalformedError("a record is longer than its batch")
    at += 1
    timestamp_delta, at = _varint(data, at, _LONG_BITS)
    offset_delta, at = _varint(data, at, _INT_BITS)
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
    size, at = _varint(data, at, _INT_BITS)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise MalformedError("a record is longer than its batch")
    return data[at : at + size], at + size


def _varint(data: bytes, at: int, bits: int) -> tuple[int, int]:
    """A signed number of so many bits: zigzag, seven bits a byte."""
    value = data[at]
    at += 1
    if value > 0x7F:
        value &= 0x7F
        shift = 7
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= bits:
                raise MalformedError(f"a number in a record takes more than {bits} bits")
        value &= (1 << bits) - 1
    return value >> 1 ^ -(value & 1), at
