"""A broker's response, changed for the client."""

from collections.abc import Sequence

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.api_versions import cut_api_versions
from kgitops.gateway.rewriting.apis import TOPIC_RESOURCE
from kgitops.gateway.rewriting.exchange import (
    API_VERSIONS,
    MOST_AT_ONCE,
    MOST_BYTES_AT_ONCE,
    Addresses,
    Exchange,
    RefusedFrameError,
    RewriteState,
    few,
)
from kgitops.gateway.rewriting.heartbeats import settle_subscription
from kgitops.gateway.rewriting.hooks import address_splicer, names_splicer
from kgitops.gateway.rewriting.metadata import complete_metadata
from kgitops.gateway.rewriting.response_names import AddressNames, ResponseNames
from kgitops.model.results import ErrorCode
from kgitops.wire.codec import read, write
from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition
from kgitops.wire.errors import MalformedError, TooLongError, UnwritableMessageError
from kgitops.wire.frames import response_tags
from kgitops.wire.messages import NIL_UUID, Message, message_class
from kgitops.wire.splicing import Chunks
from kgitops.wire.varints import skip_tags

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_ERROR_CODES = ("error_code", "partition_error_code")
_CORRELATION_ID = 4
_RECORDS = ("Fetch", "ShareFetch")


def rewrite_response(
    frame: bytes | bytearray,
    exchange: Exchange,
    connection: RewriteState,
    addresses: Addresses,
    *,
    at_once: bool = False,
) -> Chunks:
    """The response with local names and the gateway's addresses.

    With ``at_once`` it takes a few milliseconds at most.

    Raises:
        RefusedFrameError: it is not the response to the request; the connection has to be closed.
        TooLongError: with ``at_once``, it takes longer than that.
    """
    if int.from_bytes(frame[:_CORRELATION_ID], "big", signed=True) != exchange.correlation_id:
        sentence = f"a broker's answer is not the one to the {exchange.api.name} that was asked"
        raise RefusedFrameError("answer", sentence)
    if at_once and exchange.api.name not in _RECORDS and len(frame) > MOST_BYTES_AT_ONCE:
        raise TooLongError("its names take a while")
    room = MOST_AT_ONCE if at_once else len(frame)
    try:
        return few(_changed(frame, exchange, connection, addresses, room))
    except TooLongError as error:
        if at_once:
            raise
        raise RefusedFrameError("answer", f"{exchange.api.name}: {error}") from error
    except (MalformedError, UnwritableMessageError, IndexError) as error:
        sentence = f"a broker's answer to {exchange.api.name} is malformed: {error}"
        raise RefusedFrameError("answer", sentence) from error


def _changed(
    frame: bytes | bytearray,
    exchange: Exchange,
    connection: RewriteState,
    addresses: Addresses,
    room: int,
) -> Chunks:
    api, version, table = exchange.api, exchange.version, exchange.table
    if exchange.key == API_VERSIONS:
        return [cut_api_versions(frame, exchange)]
    body = _CORRELATION_ID
    if response_tags(api, version):
        body = skip_tags(frame, body)
    hooks: AddressNames
    if table is None:
        splice, hooks = address_splicer(api.response, version), AddressNames(addresses, room)
    else:
        settle_subscription(frame, body, exchange, connection)
        if exchange.unknown:
            frame = _tell_unknown_topics(bytes(frame), body, api.response, version, table)
        if api.name == "Metadata" and (exchange.asked or exchange.listing):
            frame = complete_metadata(bytes(frame), body, exchange)
        splice = names_splicer(api.response, version)
        hooks = ResponseNames(exchange, table, connection, addresses, room)
    if splice is None:
        return [frame]
    if api.name not in _RECORDS:
        frame = bytes(frame)
    return [memoryview(frame)[:body], *splice(frame, body, hooks)]


def _tell_unknown_topics(
    data: bytes, at: int, message: str, version: int, table: NameTable
) -> bytes:
    """The response in which each topic with a name that no topic can have is unknown.

    A broker may say instead that the client has no right to it, or that its name is wrong.

    Raises:
        MalformedError: it is no such response.
    """
    response = read(message_class(message), version, data, at)
    found = definition(message)
    _look(found, response, found.fields, table.prefix.decode())
    return data[:at] + bytes(write(response, version))


def _look(
    message: MessageDefinition, value: Message, fields: Sequence[FieldDefinition], prefix: str
) -> None:
    names = [
        getattr(value, field.attribute)
        for field in fields
        if field.element is None and (field.entity == "topicName" or field.name == "ResourceName")
    ]
    # Groups have configs, too, and a name with the same prefix.
    of_topic = getattr(value, "resource_type", TOPIC_RESOURCE) == TOPIC_RESOURCE
    if of_topic and any(isinstance(name, str) and name.startswith(prefix) for name in names):
        _set_errors(message, value, fields)
        return
    for field in fields:
        inner = message.struct_fields(field)
        if inner is not None:
            for item in _items(field, value):
                _look(message, item, inner, prefix)


def _set_errors(
    message: MessageDefinition, value: Message, fields: Sequence[FieldDefinition]
) -> None:
    for field in fields:
        inner = message.struct_fields(field)
        if field.attribute in _ERROR_CODES and getattr(value, field.attribute):
            setattr(value, field.attribute, int(_UNKNOWN))
        elif field.name.endswith("ErrorMessage"):
            setattr(value, field.attribute, None)
        elif field.name == "TopicId":
            setattr(value, field.attribute, NIL_UUID)
        elif inner is not None:
            for item in _items(field, value):
                _set_errors(message, item, inner)


def _items(field: FieldDefinition, value: Message) -> Sequence[Message]:
    found = getattr(value, field.attribute)
    if field.element is not None:
        return found or ()
    return () if found is None else (found,)
