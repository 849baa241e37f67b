"""Fetch sessions: a broker remembers topics of a session, so one ends when the links change."""

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import ConnectionNames, LocalAnswer, RequestHeader
from kgitops.wire.codec import write
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import response_tags
from kgitops.wire.messages import message_class
from kgitops.wire.varints import read_uvarint

_FIRST_WITH_SESSIONS = 7
_FIRST_WITHOUT_REPLICA = 15
_FETCH_SESSION_ID_NOT_FOUND = 70


def end_stale_session(
    frame: bytes | bytearray, header: RequestHeader, table: NameTable, connection: ConnectionNames
) -> LocalAnswer | None:
    """The answer that makes a client begin a new session, where its topics' names have changed.

    Raises:
        MalformedError: the request ends early.
    """
    if header.version < _FIRST_WITH_SESSIONS:
        return None
    # ReplicaId, MaxWaitMs, MinBytes, MaxBytes and IsolationLevel come before the session.
    at = header.body + (13 if header.version >= _FIRST_WITHOUT_REPLICA else 17)
    if len(frame) < at + 8:
        raise MalformedError("a Fetch ends before its session")
    epoch = int.from_bytes(frame[at + 4 : at + 8], "big", signed=True)
    fetched = connection.fetched
    if epoch <= 0:
        connection.fetched = table
        return None
    if fetched is table or (fetched is not None and fetched.links == table.links):
        return None
    response = message_class("FetchResponse")(error_code=_FETCH_SESSION_ID_NOT_FOUND)
    head = header.correlation_id.to_bytes(4, "big", signed=True)
    tags = bytes(response_tags(header.api, header.version))
    return LocalAnswer(head + tags + bytes(write(response, header.version)))


def acknowledged(frame: bytes | bytearray, header: RequestHeader) -> bool:
    """Tells if a Produce is answered: not with acks=0.

    Raises:
        MalformedError: the request ends early.
    """
    at = header.body
    if header.version >= 9:
        size = frame[at] - 1
        at += 1
        if size > 126:
            size, at = read_uvarint(frame, at - 1)
            size -= 1
    else:
        size = int.from_bytes(frame[at : at + 2], "big", signed=True)
        at += 2
    at += max(size, 0)
    if len(frame) < at + 2:
        raise MalformedError("a Produce ends before its acks")
    return frame[at : at + 2] != b"\0\0"
