"""The checks of the records in a batch, as a Kafka broker makes them."""

from kgitops.model.results import ErrorCode
from kgitops.serve.data.batch_checks import BatchError, TopicRules
from kgitops.wire.batch_records import MOST_RECORDS, RecordFields, record_fields
from kgitops.wire.batches import HEADER_BYTES, BatchHeader, stamp
from kgitops.wire.decompression import MOST_BYTES, NONE, UnknownCodecError, decompressed
from kgitops.wire.errors import MalformedError, TooLargeError

_NO_TIMESTAMP = -1
_LONGEST_MS = (1 << 63) - 1
_TIME_REFUSED = "One or more records have been rejected due to invalid timestamp"


class RecordChecks:
    """The checks of the records in one request, which takes only so much work all together."""

    def __init__(self) -> None:
        self._records = self._unpacked = 0

    def checked(self, data: bytes, batch: BatchHeader, rules: TopicRules, now_ms: int) -> bytes:
        """The batch as it is written, if its records are right.

        Records that are compressed by a library which is not installed are not looked at.

        Raises:
            BatchError: they are not, or the request has too many.
        """
        try:
            records = self._decompressed(data, batch)
        except UnknownCodecError:
            _check_times(batch, rules, now_ms)
            return stamp(data, now_ms) if rules.log_append_time else data
        except TooLargeError as error:
            raise BatchError(ErrorCode.MESSAGE_TOO_LARGE, str(error)) from error
        except MalformedError as error:  # Kafka's code for it
            raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
        try:
            fields = record_fields(records, batch.records, sized=batch.codec == NONE)
            newest = _newest(fields, batch, rules, now_ms)
        except TooLargeError as error:
            raise BatchError(ErrorCode.MESSAGE_TOO_LARGE, str(error)) from error
        except MalformedError as error:
            raise BatchError(ErrorCode.INVALID_RECORD, str(error)) from error
        if rules.log_append_time:
            return stamp(data, now_ms)
        if newest != batch.max_timestamp or batch.log_append_time:
            return stamp(data, newest, append_time=False)
        return data

    def _decompressed(self, data: bytes, batch: BatchHeader) -> bytes:
        if self._unpacked > MOST_BYTES or self._records > MOST_RECORDS:
            raise TooLargeError("the records of a request are too many; send fewer in one request")
        records = decompressed(batch.codec, data[HEADER_BYTES:])
        self._records += min(batch.records, len(records))
        if batch.codec != NONE:
            self._unpacked += len(records)
        return records


def _newest(records: RecordFields, batch: BatchHeader, rules: TopicRules, now_ms: int) -> int:
    """The largest timestamp of the records, all of which are checked."""
    refused: dict[int, str] = {}
    if rules.compacted:
        without_key = "Compacted topic cannot accept message without key"
        refused = dict.fromkeys(records.without_key, without_key)
    late, newest = _late(records, batch, rules, now_ms)
    if late.keys() - refused.keys():
        refused = dict(sorted((late | refused).items()))
        raise BatchError(ErrorCode.INVALID_TIMESTAMP, _TIME_REFUSED, refused)
    if refused:
        raise BatchError(
            ErrorCode.INVALID_RECORD,
            "One or more records have been rejected: compacted topic cannot accept message without "
            "key",
            refused,
        )
    if not records.in_order and batch.codec != NONE:  # Kafka fails to write them anew
        raise BatchError(
            ErrorCode.UNKNOWN_SERVER_ERROR, "The offsets of compressed records are not 0, 1, 2…"
        )
    return newest


def _late(
    records: RecordFields, batch: BatchHeader, rules: TopicRules, now_ms: int
) -> tuple[dict[int, str], int]:
    """The records whose timestamps are out of range, and the largest timestamp."""
    oldest, latest = _bounds(rules, now_ms)
    deltas = records.timestamp_deltas
    if batch.log_append_time:
        newest = batch.max_timestamp
        if rules.log_append_time or newest == _NO_TIMESTAMP:
            wrong = "Producer should not set timestamp type to LogAppendTime."
            return dict.fromkeys(range(len(deltas)), wrong), newest
        timestamps = [newest] * len(deltas)
    else:
        first = batch.base_timestamp
        newest = first + max(deltas)
        if rules.log_append_time or (oldest <= first + min(deltas) and newest <= latest):
            return {}, max(newest, _NO_TIMESTAMP)
        timestamps = [_as_long(first + delta) for delta in deltas]
    late = {
        index: _out_of_range(timestamp, oldest, latest)
        for index, timestamp in enumerate(timestamps)
        if timestamp != _NO_TIMESTAMP and not oldest <= timestamp <= latest
    }
    newest = max(timestamps)
    return late, max(newest, _NO_TIMESTAMP)


def _check_times(batch: BatchHeader, rules: TopicRules, now_ms: int) -> None:
    """Check what the header says of the records."""
    if rules.log_append_time:
        return
    oldest, latest = _bounds(rules, now_ms)
    for timestamp in (batch.base_timestamp, batch.max_timestamp):
        if timestamp != _NO_TIMESTAMP and not oldest <= timestamp <= latest:
            raise BatchError(ErrorCode.INVALID_TIMESTAMP, _out_of_range(timestamp, oldest, latest))


def _bounds(rules: TopicRules, now_ms: int) -> tuple[int, int]:
    # Further back the difference is too large for Kafka's numbers, and so refused.
    return now_ms - min(rules.before_ms, _LONGEST_MS), now_ms + rules.after_ms


def _out_of_range(timestamp: int, oldest: int, latest: int) -> str:
    return (
        f"Timestamp {timestamp} of message is out of range. The timestamp should be within "
        f"[{oldest}, {latest}]"
    )


def _as_long(value: int) -> int:
    """The number as 64 bits have it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
