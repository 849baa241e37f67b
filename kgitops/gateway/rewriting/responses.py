"""A broker's response, changed for the client."""

from kgitops.gateway.rewriting.api_versions import cut_api_versions
from kgitops.gateway.rewriting.exchange import (
    API_VERSIONS,
    MOST_AT_ONCE,
    MOST_BYTES_AT_ONCE,
    Addresses,
    ConnectionNames,
    Exchange,
    RefusedFrameError,
    few,
)
from kgitops.gateway.rewriting.heartbeats import settle_subscription
from kgitops.gateway.rewriting.hooks import address_splicer, names_splicer
from kgitops.gateway.rewriting.metadata import complete_metadata
from kgitops.gateway.rewriting.response_names import AddressNames, ResponseNames
from kgitops.gateway.rewriting.unknown_topics import tell_unknown_topics
from kgitops.wire.errors import MalformedError, TooLongError, UnwritableMessageError
from kgitops.wire.frames import response_tags
from kgitops.wire.splicing import Chunks
from kgitops.wire.varints import skip_tags

_CORRELATION_ID = 4
_RECORDS = ("Fetch", "ShareFetch")


def rewrite_response(
    frame: bytes | bytearray,
    exchange: Exchange,
    connection: ConnectionNames,
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
    connection: ConnectionNames,
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
            frame = tell_unknown_topics(bytes(frame), body, api.response, version, table)
        if api.name == "Metadata" and (exchange.asked or exchange.listing):
            frame = complete_metadata(bytes(frame), body, exchange)
        splice = names_splicer(api.response, version)
        hooks = ResponseNames(exchange, table, connection, addresses, room)
    if splice is None:
        return [frame]
    return [memoryview(frame)[:body], *splice(frame, body, hooks)]
