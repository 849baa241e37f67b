"""The checks of what a producer sends, in the order of a Kafka broker."""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.cluster.embedded.image.image import Image, TopicImage
from kgitops.cluster.embedded.image.state import topic_defaults
from kgitops.cluster.embedded.options import Options
from kgitops.model.resources.topic_configs import topic_configs
from kgitops.model.results import ErrorCode
from kgitops.wire.batch_records import batch_records
from kgitops.wire.batches import (
    HEADER_BYTES,
    MAGIC,
    NO_PRODUCER,
    BatchHeader,
    is_intact,
    read_header,
)
from kgitops.wire.decompression import UnknownCodecError
from kgitops.wire.errors import MalformedError

_ZSTD = 4
_FIRST_WITH_ZSTD = 7


class BatchError(Exception):
    """A batch is not taken: Kafka's code and message."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


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
        """The rules of these configs."""

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


def check_batch(data: bytes | None, version: int) -> BatchHeader:
    """The header of the one batch that a version of Produce brings for a partition.

    Raises:
        BatchError: it is none, or not whole.
    """
    if not data:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} must have at least one record batch per "
            "partition",
        )
    try:
        header = read_header(data)
    except MalformedError as error:
        raise BatchError(ErrorCode.CORRUPT_MESSAGE) from error
    if header.magic != MAGIC:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain record batches "
            "with magic version 2",
        )
    if header.size < HEADER_BYTES or header.size > len(data):
        raise BatchError(ErrorCode.CORRUPT_MESSAGE)
    if header.size < len(data):
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain exactly one "
            "record batch per partition",
        )
    if header.codec == _ZSTD and version < _FIRST_WITH_ZSTD:
        raise BatchError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} are not allowed to use ZStandard compression",
        )
    if not is_intact(data):
        raise BatchError(ErrorCode.CORRUPT_MESSAGE)
    return header


def check_content(data: bytes, batch: BatchHeader, rules: TopicRules, now_ms: int) -> None:
    """Check a whole batch against the configs of its topic.

    Raises:
        BatchError: it is not allowed there.
    """
    if batch.size > rules.max_message_bytes:
        raise BatchError(ErrorCode.MESSAGE_TOO_LARGE)
    if batch.control:
        raise BatchError(
            ErrorCode.INVALID_RECORD, "Clients are not allowed to write control records."
        )
    if batch.records < 1 or batch.last_offset_delta != batch.records - 1:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Inconsistent batch offset range [0, {batch.last_offset_delta}] and count of records "
            f"{batch.records}",
        )
    if batch.producer_id != NO_PRODUCER and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
            f"{batch.producer_id}",
        )
    if not rules.log_append_time:
        oldest, newest = now_ms - rules.before_ms, now_ms + rules.after_ms
        if not oldest <= batch.base_timestamp <= batch.max_timestamp <= newest:
            _check_timestamp(batch, oldest, newest)
    if rules.compacted:
        _check_keys(data)


def _check_timestamp(batch: BatchHeader, oldest: int, newest: int) -> None:
    # Records without a timestamp have -1, and are always in time.
    for timestamp in (batch.base_timestamp, batch.max_timestamp):
        if timestamp >= 0 and not oldest <= timestamp <= newest:
            raise BatchError(
                ErrorCode.INVALID_TIMESTAMP,
                f"Timestamp {timestamp} of message is out of range. The timestamp should be within "
                f"[{oldest}, {newest}]",
            )


def _check_keys(data: bytes) -> None:
    try:
        missing = any(record.key is None for record in batch_records(data))
    except MalformedError as error:
        raise BatchError(ErrorCode.CORRUPT_MESSAGE) from error
    except UnknownCodecError:
        return  # consumers see it as it is
    if missing:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            "One or more records have been rejected: compacted topic cannot accept message without "
            "key",
        )
