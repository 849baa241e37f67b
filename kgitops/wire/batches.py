"""Record batches of version 2: their headers, their checks, and the fields that brokers write."""

import struct

import msgspec

from kgitops.wire.errors import MalformedError

_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = _HEADER.size
_PREFIX = struct.Struct(">qi")
_PREFIX_BYTES = _PREFIX.size
_OFFSET_AND_EPOCH = struct.Struct(">qii")
_CRC = struct.Struct(">I")
_CRC_AT = 17
_AFTER_CRC = 21
_ATTRIBUTES = struct.Struct(">h")
_MAX_TIMESTAMP = struct.Struct(">q")
_MAX_TIMESTAMP_AT = 35
_MARKER_HEADER = struct.Struct(">hiqqqhii")
MAGIC = 2
NO_PRODUCER = -1
NO_SEQUENCE = -1
_CODEC = 0x07
_LOG_APPEND_TIME = 0x08
_TRANSACTIONAL = 0x10
_CONTROL = 0x20
_LARGEST_SEQUENCE = 0x7FFFFFFF
_VERSIONS_AND_TYPE = struct.Struct(">hh")
_MARKER_VALUE = struct.Struct(">hi")
_COMMIT = 1


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The header of a batch: 61 bytes, in their order."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def size(self) -> int:
        """The bytes of the whole batch."""
        return _PREFIX_BYTES + self.length

    @property
    def last_offset(self) -> int:
        """The offset of the last record, which compaction may have removed."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; they begin again at 0 after the largest."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return after_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> int:
        """The codec of the records: none, gzip, snappy, lz4, zstd."""
        return self.attributes & _CODEC

    @property
    def idempotent(self) -> bool:
        """True if the batch has a producer id, and so sequence numbers."""
        return self.producer_id > NO_PRODUCER

    @property
    def transactional(self) -> bool:
        """True if the records belong to a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def control(self) -> bool:
        """True if the batch is a broker's, and marks the end of a transaction."""
        return bool(self.attributes & _CONTROL)

    @property
    def log_append_time(self) -> bool:
        """True if the timestamps are the broker's."""
        return bool(self.attributes & _LOG_APPEND_TIME)


def after_sequence(sequence: int, count: int) -> int:
    """The sequence number that is ``count`` after another."""
    return (sequence + count) & _LARGEST_SEQUENCE


def read_header(data: bytes, at: int = 0) -> BatchHeader:
    """The header of the batch that begins at a position.

    Raises:
        MalformedError: there are not so many bytes.
    """
    try:
        return BatchHeader(*_HEADER.unpack_from(data, at))
    except struct.error:
        raise MalformedError("a record batch ends in its header") from None


def is_intact(data: bytes) -> bool:
    """Return whether the batch's bytes have its checksum."""
    found: int = _CRC.unpack_from(data, _CRC_AT)[0]
    return _checksum(data) == found


def place(data: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The batch at an offset of a partition; neither field is covered by the checksum."""
    placed = bytearray(data)
    _OFFSET_AND_EPOCH.pack_into(placed, 0, base_offset, len(data) - _PREFIX_BYTES, leader_epoch)
    return bytes(placed)


def stamp(data: bytes, timestamp_ms: int, *, append_time: bool = True) -> bytes:
    """The batch with its largest timestamp, the broker's for all of its records by default."""
    stamped = bytearray(data)
    attributes = _ATTRIBUTES.unpack_from(data, _AFTER_CRC)[0] & ~_LOG_APPEND_TIME
    attributes |= _LOG_APPEND_TIME if append_time else 0
    _ATTRIBUTES.pack_into(stamped, _AFTER_CRC, attributes)
    _MAX_TIMESTAMP.pack_into(stamped, _MAX_TIMESTAMP_AT, timestamp_ms)
    return bytes(seal(stamped))


def seal(data: bytearray) -> bytearray:
    """The batch with the checksum and the length of its bytes."""
    struct.pack_into(">i", data, 8, len(data) - _PREFIX_BYTES)
    _CRC.pack_into(data, _CRC_AT, _checksum(data))
    return data


def end_marker(producer_id: int, epoch: int, timestamp_ms: int, *, commit: bool) -> bytes:
    """The control batch that ends a producer's transaction in a partition."""
    key = _VERSIONS_AND_TYPE.pack(0, _COMMIT if commit else 0)
    value = _MARKER_VALUE.pack(0, 0)
    record = bytes([0, 0, 0, len(key) << 1]) + key + bytes([len(value) << 1]) + value + b"\0"
    attributes = _TRANSACTIONAL | _CONTROL
    fields = (attributes, 0, timestamp_ms, timestamp_ms, producer_id, epoch, NO_SEQUENCE, 1)
    data = bytearray(_AFTER_CRC) + _MARKER_HEADER.pack(*fields)
    data[16] = MAGIC
    return bytes(seal(data + bytes([len(record) << 1]) + record))


def is_commit(marker: bytes) -> bool:
    """Return whether a control batch commits the transaction that it ends."""
    at = HEADER_BYTES + 1 + 4  # the record's length, attributes, two deltas and length of the key
    return bool(_VERSIONS_AND_TYPE.unpack_from(marker, at)[1] == _COMMIT)


def _checksum(data: bytes | bytearray) -> int:
    from crc32c import crc32c  # noqa: PLC0415 (its package takes long to import)

    return crc32c(memoryview(data)[_AFTER_CRC:])
