"""The one check of brokers' answers: each is decoded and checked here, whatever API it is of.

kafka-python's decoder accepts null for every text and list, also where Kafka's schema has none. A
null is refused unless its field is in ``_NULLABLE``, and so are numbers that are none, topic ids
that are zero, and empty lists that Kafka never sends. A new API needs nothing to be checked too.
"""

import io
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

from kafka.errors import KafkaProtocolError
from msgspec import Struct

Message = Any
"""A kafka-python message."""

_NULLABLE = frozenset(
    {
        "aborted_transactions",
        "batch_index_error_message",
        "documentation",
        "entity_name",
        "error_message",
        "group_instance_id",
        "metadata",
        "rack",
        "records",
        "value",
    }
)
"""The fields that are null for a reason, and whose readers know it."""
_NULLABLE_OF = frozenset(
    {
        ("ConsumerGroupHeartbeatResponse", "assignment"),  # where it is as before
        ("DescribeTopicPartitionsResponse", "next_cursor"),
        ("ShareFetchResponse", "acknowledge_error_message"),
        ("ShareGroupHeartbeatResponse", "assignment"),
        ("StreamsGroupDescribeResponse", "topology"),  # before its first member has told it
        ("StreamsGroupHeartbeatResponse", "partitions_by_user_endpoint"),
        # Of another's topic, these tell no id.
        ("AlterShareGroupOffsetsResponse", "topic_id"),
        ("DeleteShareGroupStateResponse", "topic_id"),
        ("DescribeShareGroupOffsetsResponse", "topic_id"),
        ("InitializeShareGroupStateResponse", "topic_id"),
        ("ReadShareGroupStateResponse", "topic_id"),
        ("ReadShareGroupStateSummaryResponse", "topic_id"),
        ("WriteShareGroupStateResponse", "topic_id"),
        ("CreateTopicsResponse", "configs"),  # without the right to read them
        ("CreateTopicsResponse", "topic_id"),  # where it was only validated
        ("DeleteTopicsResponse", "name"),  # without the right to the topic, which is asked by id
        ("MetadataResponse", "cluster_id"),  # its reader refuses it, and says what it is for
    }
)
_FULL = frozenset({"partitions", "partition_responses", "replica_nodes", "replicas"})
"""The lists that have something in them, unless the row that they belong to is an error."""
_FULL_OF = frozenset({("DescribeClusterResponse", "brokers")})
"""Such lists of one message: metadata may have no brokers yet."""
_NOT_NEGATIVE = frozenset(
    {
        "brokers.broker_id",
        "brokers.node_id",
        "coordinators.node_id",
        "responses.partition_responses.base_offset",
        "responses.partitions.high_watermark",
    }
)
"""The numbers that are none below zero, unless the row that they belong to is an error."""
_WITHOUT_ROWS = frozenset(
    {"DescribeLogDirs", "Fetch", "ListConfigResources", "ListTransactions", "ShareFetch"}
)
"""The APIs that ask for a list of things, and may have no row for each.

A Fetch is answered without any row while the client is above its quota.
"""


class OddAnswerError(ValueError):
    """An answer that no broker of Kafka gives; the text says what is odd about it.

    It would be the same if it were asked for again.
    """


class StrictRequest:
    """A request as kafka-python's connection takes it, whose answer is decoded and checked.

    The answer is an :class:`OddAnswerError` where it is odd, and the connection continues. Where
    kafka-python decodes it, an unexpected error would end its thread's reading for good.
    """

    def __init__(self, request: Message) -> None:
        self._request = request
        self._kind: Message = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._request, name)

    @property
    def API_VERSION(self) -> int | None:  # noqa: N802 (kafka-python's name)
        """The version to send, None before it is known."""
        version: int | None = self._request.API_VERSION
        return version

    @API_VERSION.setter
    def API_VERSION(self, version: int) -> None:  # noqa: N802
        self._request.API_VERSION = version

    @property
    def header(self) -> "StrictRequest":
        """The header with the number of the request, which kafka-python finds the answer by."""
        return self

    @property
    def correlation_id(self) -> int:
        """The number of the request."""
        return int(self._request.header.correlation_id)

    def get_response_class(self) -> "StrictRequest":
        """Return what decodes the answer."""
        self._kind = self._request.header.get_response_class()
        return self

    def parse_header(self, buffer: io.BytesIO) -> Message:
        """Read the header of the answer.

        Raises:
            KafkaProtocolError: there is none; the connection is then closed.
        """
        try:
            return self._kind.parse_header(buffer)
        except Exception as error:
            raise KafkaProtocolError("the answer has no header") from error

    def decode(self, buffer: io.BytesIO) -> Message:
        """Decode the rest of the answer, or return what is odd about it."""
        try:
            answer = self._kind.decode(buffer)
            check(answer)
        except OddAnswerError as error:
            return error
        except ValueError as error:
            return OddAnswerError(str(error))
        except Exception:  # noqa: BLE001 (whatever kafka-python stumbles over in the bytes)
            return OddAnswerError("it can't be decoded")
        return answer


def decoded(kind: Message, version: int, data: bytes) -> Message:
    """Decode the body of an answer that was kept as bytes, and check it.

    Raises:
        OddAnswerError: no broker of Kafka gives it.
    """
    try:
        answer = kind[version].decode(data)
    except Exception as error:
        raise OddAnswerError("it can't be decoded") from error
    check(answer)
    return answer


def check(answer: Message) -> None:
    """Check each field of an answer that kafka-python has decoded; others are left to their reader.

    Raises:
        OddAnswerError: no broker of Kafka gives it.
    """
    if hasattr(answer, "fields") and not _is_failure(answer):
        _check(answer, _fields_of(answer.__class__, answer.version))


def check_rows(request: Message, answer: Message, *, reads: bool) -> None:
    """Check that the answer has a row for each thing that was asked for.

    An answer to a change may leave some out: only its reader knows what became of the others.

    Raises:
        OddAnswerError: rows are missing.
    """
    api = str(request.name).removesuffix("Request")
    if api in _WITHOUT_ROWS or not hasattr(answer, "fields") or _is_failure(answer):
        return
    asked = next((name for name in _lists(request) if getattr(request, name)), None)
    lists = [name for name in _lists(answer) if answer.fields[name].for_version_q(answer.version)]
    if asked is None or not lists:  # the answer to a heartbeat has no rows
        return
    rows = getattr(answer, asked if asked in lists else lists[0])
    count = len(getattr(request, asked)) if reads else 1
    if len(rows) < count:
        raise OddAnswerError(f"it lacks {count - len(rows)} of {count} {asked}")


def _lists(message: Message) -> list[str]:
    return [name for name, field in message.fields.items() if field.is_array()]


def _is_failure(owner: Message) -> bool:
    """True for an answer, or a row, that holds only an error."""
    return bool(getattr(owner, "error_code", None))


class _Field(Struct, frozen=True):
    """A field that is checked: its name, its place in the message, and the fields within it."""

    name: str
    place: str
    nullable: bool
    full: bool
    inner: "tuple[_Field, ...]" = ()


@cache
def _fields_of(kind: Message, version: int) -> tuple[_Field, ...]:
    message = kind._struct  # noqa: SLF001 (kafka-python's schema, which has no other name)
    return tuple(_fields_in(message, kind.name, version, ""))


def _fields_in(struct: Message, message: str, version: int, above: str) -> Iterator[_Field]:
    for field in struct.untagged_fields(version):
        place = above + field.name
        part = field.array_of if field.is_array() else field
        inner: tuple[_Field, ...] = ()
        if part.is_struct():
            inner = tuple(_fields_in(part, message, version, f"{place}."))
        if field.is_array() or inner or place in _NOT_NEGATIVE or _can_be_odd(field):
            named = message, field.name
            yield _Field(
                field.name,
                place,
                nullable=field.name in _NULLABLE or named in _NULLABLE_OF,
                full=field.name in _FULL or named in _FULL_OF,
                inner=inner,
            )


def _can_be_odd(field: Message) -> bool:
    if field.type_str == "uuid":
        return str(field.name) == "topic_id"
    return field.type_str in ("string", "bytes", "records", "float64")


def _check(owner: Message, fields: tuple[_Field, ...]) -> None:
    for field in fields:
        value = getattr(owner, field.name)
        if value is None:
            # kafka-python reads an id that is zero as None. An unknown id has no name.
            is_told = field.name != "topic_id" and field.place != "topics.name"
            if not field.nullable and (is_told or not _is_failure(owner)):
                raise OddAnswerError(f"{field.place} is null")
        elif isinstance(value, list):
            if not value and field.full and not _is_failure(owner):
                raise OddAnswerError(f"{field.place} is empty")
            for part in value:
                if field.inner:
                    _check(part, field.inner)
                elif part is None:
                    raise OddAnswerError(f"{field.place} holds null")
        elif field.inner:
            _check(value, field.inner)
        elif isinstance(value, float | int):
            is_none = value < 0 if field.place in _NOT_NEGATIVE else not math.isfinite(value)
            if is_none and not _is_failure(owner):
                raise OddAnswerError(f"{field.place} is {value}")
