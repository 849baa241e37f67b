"""Metadata: a listing names what the virtual cluster has, and nothing is created by asking."""

from collections.abc import Iterator

from msgspec.structs import replace

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import MOST_IN_REQUEST, Exchange, RequestHeader
from kgitops.gateway.rewriting.request_names import RequestNames
from kgitops.model.results import ErrorCode
from kgitops.wire.codec import read, read_part, write
from kgitops.wire.messages import NIL_UUID, Message, message_class

_FIRST_WITH_AUTO_CREATION = 4
_UNLISTED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def change_metadata_request(
    frame: bytes | bytearray, header: RequestHeader, table: NameTable, names: RequestNames
) -> tuple[bytes, bool]:
    """The request for physical topics, and whether it asks for all of the virtual cluster's.

    Raises:
        MalformedError: it is no such request.
    """
    kind = message_class("MetadataRequest")
    request, _ = read_part(kind, header.version, bytes(frame), header.body, most=MOST_IN_REQUEST)
    asked = request.topics
    listing = asked is None or (header.version == 0 and not asked)
    if listing:
        for physical, local in table.local_names.items():
            if len(local) > 1:
                names.asked[physical] = names.last_used_first(physical, local)
        found = dict.fromkeys(sorted(table.local_names), NIL_UUID)
        # Version 0 asks for all topics by an empty list, so one is named that there is not.
        if not found and header.version == 0:
            found[names.topic(b"")] = NIL_UUID
        topics = [_topic(kind, physical, NIL_UUID) for physical in found]
    else:
        topics = list(_physical(kind, asked, names))
    request = replace(request, topics=topics)
    if header.version >= _FIRST_WITH_AUTO_CREATION:
        request = replace(request, allow_auto_topic_creation=False)
    return bytes(write(request, header.version)), listing


def _physical(kind: Message, asked: list[Message], names: RequestNames) -> Iterator[Message]:
    seen = set()
    for topic in asked:
        name = None if topic.name is None else names.topic(topic.name.encode())
        key = (name, topic.topic_id)
        if key not in seen:
            seen.add(key)
            yield _topic(kind, name, names.topic_id(topic.topic_id))


def _topic(kind: Message, name: bytes | None, topic_id: bytes) -> Message:
    return kind.MetadataRequestTopic(
        name=None if name is None else name.decode(), topic_id=topic_id
    )


def complete_metadata(data: bytes, at: int, exchange: Exchange) -> bytes:
    """The response with a row for each name of a topic that has several, and no hidden topics.

    A request for all topics is answered without those that the client may not see, or that are
    gone; the broker was asked for them by name, and tells of each. Of several names of a topic only
    the first has its id: Java's clients take no more metadata after two topics with one id.

    Raises:
        MalformedError: it is no such response.
    """
    response = read(message_class("MetadataResponse"), exchange.version, data, at)
    rows = []
    for row in response.topics:
        if exchange.listing and row.error_code in _UNLISTED:
            continue
        more = len(exchange.asked.get((row.name or "").encode(), ())) - 1
        rows.append(row)
        rows += [replace(row, topic_id=NIL_UUID)] * more
    response.topics = rows
    return data[:at] + bytes(write(response, exchange.version))
