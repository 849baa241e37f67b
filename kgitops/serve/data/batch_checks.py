"""The checks of what a producer sends, in the order of a Kafka broker."""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.cluster.embedded.image.image import Image, TopicImage
from kgitops.cluster.embedded.image.state import topic_defaults
from kgitops.cluster.embedded.options import Options
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.model.results import ErrorCode
from kgitops.wire.batches import HEADER_BYTES, MAGIC, BatchHeader, is_intact, read_header
from kgitops.wire.decompression import ZSTD

_FIRST_WITH_ZSTD = 7
_PREFIX_BYTES, _BYTES_UP_TO_MAGIC = 12, 17
_LEAST_BATCH = _PREFIX_BYTES + 14
NO_RECORDS: Mapping[int, str] = {}


class BatchError(Exception):
    """A batch is not taken: Kafka's code and message, and the message about each bad record."""

    def __init__(
        self, code: ErrorCode, message: str | None = None, records: Mapping[int, str] = NO_RECORDS
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.records = records


class TopicRules(Struct, frozen=True, kw_only=True):
    """The configs of a topic that decide about its batches."""

    max_message_bytes: int
    log_append_time: bool
    compacted: bool
    min_insync_replicas: int
    before_ms: int
    after_ms: int

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> "TopicRules":

        def value(key: str) -> str:
            found = configs.get(key)
            return str(topic_configs()[key].default if found is None else found).strip()

        return cls(
            max_message_bytes=int(value("max.message.bytes")),
            log_append_time=value("message.timestamp.type") == "LogAppendTime",
            compacted="compact" in value("cleanup.policy"),
            min_insync_replicas=int(value("min.insync.replicas")),
            before_ms=int(value("message.timestamp.before.max.ms")),
            after_ms=int(value("message.timestamp.after.max.ms")),
        )


def topic_rules(image: Image, options: Options, topic: TopicImage) -> TopicRules:
    """The rules of a topic, with the brokers' defaults."""
    defaults = topic_defaults(options.static_configs, image.configs.brokers.get("", {}))
    return TopicRules.of({**defaults, **topic.configs})


def first_batch(data: bytes | None) -> BatchHeader | None:
    """The header of the first batch, in as much as is whole; None if not one is.

    Raises:
        BatchError: it is no batch.
    """
    return _whole_batch(data, 0) if data else None


def check_batch(data: bytes | None, version: int) -> BatchHeader:
    """The header of the one batch that a version of Produce brings for a partition.

    Raises:
        BatchError: it is none, or not alone.
    """
    header = first_batch(data)
    if data is None or header is None:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} must have at least one record batch per "
            "partition",
        )
    if header.magic != MAGIC:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain record batches "
            "with magic version 2",
        )
    if header.codec == ZSTD and version < _FIRST_WITH_ZSTD:
        raise BatchError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} are not allowed to use ZStandard compression",
        )
    if _whole_batch(data, header.size) is not None:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain exactly one "
            "record batch per partition",
        )
    return header


def _whole_batch(data: bytes, at: int) -> BatchHeader | None:
    """The batch at a position; None where it is not whole, which brokers pass over."""
    left = len(data) - at
    if left < _PREFIX_BYTES:
        return None
    size = _PREFIX_BYTES + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
    if size < _LEAST_BATCH:
        raise BatchError(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record size {size - _PREFIX_BYTES} is less than the minimum record overhead",
        )
    if left < _BYTES_UP_TO_MAGIC:
        return None
    magic = int.from_bytes(data[at + 16 : at + 17], signed=True)
    if not 0 <= magic <= MAGIC:
        raise BatchError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    if left < size:
        return None
    if size < HEADER_BYTES:
        raise BatchError(ErrorCode.CORRUPT_MESSAGE)
    return read_header(data, at)


def check_header(data: bytes, batch: BatchHeader, rules: TopicRules) -> None:
    """Check a batch, all but its records, against the configs of its topic.

    Raises:
        BatchError: it is not allowed there.
    """
    if batch.base_offset:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"The baseOffset of the record batch should be 0, but it is {batch.base_offset}",
        )
    if batch.size > rules.max_message_bytes:
        raise BatchError(ErrorCode.MESSAGE_TOO_LARGE)
    if not is_intact(data):
        raise BatchError(ErrorCode.CORRUPT_MESSAGE)
    if batch.codec > ZSTD:
        raise BatchError(  # Kafka's code for it
            ErrorCode.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {batch.codec}"
        )
    if batch.records < 1 or batch.last_offset_delta != batch.records - 1:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Inconsistent batch offset range [0, {batch.last_offset_delta}] and count of records "
            f"{batch.records}",
        )
    if batch.control:
        raise BatchError(
            ErrorCode.INVALID_RECORD, "Clients are not allowed to write control records."
        )
    if batch.idempotent and batch.base_sequence < 0:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
            f"{batch.producer_id}",
        )
