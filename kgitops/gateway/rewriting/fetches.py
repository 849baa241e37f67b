"""Fetch sessions: a broker remembers topics of a session, so one ends when the links change."""

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import LocalAnswer, RequestHeader, RewriteState, own_answer
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import message_class
from kgitops.wire.varints import read_uvarint

_FIRST_WITH_SESSIONS = 7
_FIRST_WITHOUT_REPLICA = 15
_FETCH_SESSION_ID_NOT_FOUND = 70
_UNKNOWN_TOPIC_ID = 100
_SHARE_SESSION_NOT_FOUND = 122


def end_stale_session(
    frame: bytes | bytearray, header: RequestHeader, table: NameTable, connection: RewriteState
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
    return None if _same(fetched, table) else _refusal(header, _FETCH_SESSION_ID_NOT_FOUND)


def end_stale_share_session(
    frame: bytes | bytearray, header: RequestHeader, table: NameTable, connection: RewriteState
) -> LocalAnswer | None:
    """The same for a ShareFetch, whose session belongs to the member of a share group.

    What it acknowledges then stays unacknowledged, and is delivered again.

    Raises:
        MalformedError: the request ends early.
    """
    at = _after_text(frame, _after_text(frame, header.body))
    if len(frame) < at + 4:
        raise MalformedError("a ShareFetch ends before its session")
    epoch = int.from_bytes(frame[at : at + 4], "big", signed=True)
    if epoch == 0:
        connection.share_fetched = table
    stale = epoch > 0 and not _same(connection.share_fetched, table)
    return _refusal(header, _SHARE_SESSION_NOT_FOUND) if stale else None


def refuse_topic_ids(header: RequestHeader) -> LocalAnswer:
    """The answer to a share session that uses ids which are not the virtual cluster's.

    Kafka 4.3 fails with an UNKNOWN_SERVER_ERROR where no topic has the id. For this error the Java
    client looks at its metadata again, and begins a new session.
    """
    return _refusal(header, _UNKNOWN_TOPIC_ID)


def _same(fetched: NameTable | None, table: NameTable) -> bool:
    return fetched is table or (fetched is not None and fetched.links == table.links)


def _refusal(header: RequestHeader, error: int) -> LocalAnswer:
    return own_answer(header, message_class(header.api.response)(error_code=error))


def _after_text(frame: bytes | bytearray, at: int) -> int:
    """The position after a text of a flexible version, which may be null."""
    size, at = read_uvarint(frame, at)
    return at + max(size - 1, 0)


def acknowledged(frame: bytes | bytearray, header: RequestHeader) -> bool:
    """Tells if a Produce is answered: not with acks=0.

    Raises:
        MalformedError: the request ends early.
    """
    at = header.body
    if header.version >= 9:
        at = _after_text(frame, at)
    else:
        at += 2 + max(int.from_bytes(frame[at : at + 2], "big", signed=True), 0)
    if len(frame) < at + 2:
        raise MalformedError("a Produce ends before its acks")
    return frame[at : at + 2] != b"\0\0"
