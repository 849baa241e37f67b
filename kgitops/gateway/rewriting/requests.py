"""A client's request, changed for the broker."""

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.api_versions import refuse_version
from kgitops.gateway.rewriting.apis import REFUSED, passed_on, used_in_virtual_clusters, versions_of
from kgitops.gateway.rewriting.consumer_protocol import CONSUMER
from kgitops.gateway.rewriting.exchange import (
    API_VERSIONS,
    MOST_AT_ONCE,
    MOST_BYTES_AT_ONCE,
    MOST_IN_REQUEST,
    Exchange,
    Forward,
    LocalAnswer,
    RefusedFrameError,
    RequestHeader,
    RewriteState,
    few,
)
from kgitops.gateway.rewriting.fetches import (
    acknowledged,
    end_stale_session,
    end_stale_share_session,
    refuse_topic_ids,
)
from kgitops.gateway.rewriting.heartbeats import (
    UnacceptableSubscriptionError,
    change_heartbeat,
    change_share_heartbeat,
    refuse_subscription,
    refuse_topology,
)
from kgitops.gateway.rewriting.hooks import names_splicer
from kgitops.gateway.rewriting.metadata import change_metadata_request
from kgitops.gateway.rewriting.refusals import refuse_change
from kgitops.gateway.rewriting.request_names import RequestNames
from kgitops.gateway.rewriting.topic_ids import TooManyTopicIdsError
from kgitops.wire.errors import MalformedError, TooLongError, UnwritableMessageError
from kgitops.wire.splicing import Chunks

_UNREAD = ("SaslHandshake", "SaslAuthenticate")
_IN_SHARE_SESSIONS = ("ShareFetch", "ShareAcknowledge")
_MATCHED = ("ConsumerGroupHeartbeat", "Metadata")
"""The APIs whose requests may be compared with all links."""
_MOST_GROUPS = 100
_LONGEST_GROUP = 1_000
_MOST_BYTES = 4 * 1024 * 1024
"""Of a request without records: the brokers' own limit of what a group stores is 1 MiB."""


def rewrite_request(
    frame: bytes | bytearray,
    header: RequestHeader,
    table: NameTable | None,
    connection: RewriteState,
    *,
    at_once: bool = False,
) -> Forward | LocalAnswer:
    """The request with physical names, or the gateway's own answer to it.

    With ``at_once`` it takes a few milliseconds at most.

    Without a ``table`` the client is in no virtual cluster, and its request continues as it is.

    Raises:
        RefusedFrameError: the connection has to be closed.
        TooLongError: with ``at_once``, it takes longer than that.
    """
    api = header.api
    if header.key == API_VERSIONS:
        if header.version not in api.versions:
            return refuse_version(header)
        early = not connection.logged_in
        return Forward([frame], _exchange(header, table, early=early))
    allowed = passed_on() if table is None else used_in_virtual_clusters()
    if header.key not in allowed:
        raise RefusedFrameError("api", f"{api.name} can't be used through the gateway")
    if header.version not in versions_of(api):
        sentence = f"version {header.version} of {api.name} can't be used through the gateway"
        raise RefusedFrameError("version", sentence)
    try:
        if table is None or api.name in _UNREAD:
            answered = api.name != "Produce" or acknowledged(frame, header)
            return Forward([frame], _exchange(header, table) if answered else None)
        _check_size(frame, header, table, at_once=at_once)
        room = MOST_AT_ONCE if at_once else MOST_IN_REQUEST
        return _changed(frame, header, table, connection, room)
    except TooLongError as error:
        if at_once:
            raise
        raise RefusedFrameError("malformed", f"a request is malformed: {error}") from error
    except (MalformedError, UnwritableMessageError, IndexError) as error:
        raise RefusedFrameError("malformed", f"a request is malformed: {error}") from error
    except TooManyTopicIdsError:
        sentence = "the client uses too many ids of topics that are not in its virtual cluster"
        raise RefusedFrameError("topic-ids", sentence) from None


def _check_size(
    frame: bytes | bytearray, header: RequestHeader, table: NameTable, *, at_once: bool
) -> None:
    """Refuse what has too many names; those between records are counted where they are read."""
    matched = header.api.name in _MATCHED and len(table.links) > MOST_AT_ONCE // 10
    if header.api.name == "Produce":
        return
    if len(frame) > _MOST_BYTES:
        raise MalformedError(f"{len(frame)} bytes of names; at most {_MOST_BYTES} are taken")
    if at_once and (matched or len(frame) - header.body > MOST_BYTES_AT_ONCE):
        raise TooLongError("its names take a while")


def _changed(
    frame: bytes | bytearray,
    header: RequestHeader,
    table: NameTable,
    connection: RewriteState,
    room: int,
) -> Forward | LocalAnswer:
    api = header.api
    names = RequestNames(table, connection, room)
    accepted = None
    listing = False
    chunks: Chunks
    if api.name in REFUSED:
        return refuse_change(frame, header, table)
    ended = None
    if api.name == "Fetch":
        ended = end_stale_session(frame, header, table, connection)
    elif api.name == "ShareFetch":
        ended = end_stale_share_session(frame, header, table, connection)
    if ended is not None:
        return ended
    if api.name == "Metadata":
        body, listing = change_metadata_request(frame, header, table, names)
        chunks = [body]
    elif api.name == "ConsumerGroupHeartbeat":
        try:
            body, accepted = change_heartbeat(frame, header, table, names, connection)
        except UnacceptableSubscriptionError as error:
            return refuse_subscription(header, error)
        chunks = [body]
    elif api.name == "ShareGroupHeartbeat":
        try:
            body, accepted = change_share_heartbeat(frame, header, table, names, connection)
        except UnacceptableSubscriptionError as error:
            return refuse_subscription(header, error)
        chunks = [body]
    else:
        splice = names_splicer(api.request, header.version)
        chunks = (
            [memoryview(frame)[header.body :]]
            if splice is None
            else splice(frame if api.name == "Produce" else bytes(frame), header.body, names)
        )
    if api.name == "StreamsGroupHeartbeat" and (names.missing or names.patterns):
        return refuse_topology(header, table, names)
    if names.masked and api.name in _IN_SHARE_SESSIONS:
        return refuse_topic_ids(header)
    if api.name == "JoinGroup":
        _remember_protocol(names, connection)
    exchange = _exchange(header, table)
    exchange.unknown = names.unknown
    exchange.asked = {name: asked for name, asked in names.asked.items() if len(asked) > 1}
    exchange.protocol_type = names.kind
    exchange.listing = listing
    exchange.pattern = names.pattern
    exchange.accepted = accepted
    answered = api.name != "Produce" or acknowledged(frame, header)
    chunks = few([memoryview(frame)[: header.body], *chunks])
    return Forward(chunks, exchange if answered else None)


def _remember_protocol(names: RequestNames, connection: RewriteState) -> None:
    group, kind, known = names.group, names.kind, connection.protocol_types
    if group is None or kind is None:
        return
    known.pop(group, None)
    if kind == CONSUMER:
        return  # as one that is not known
    if len(group) + len(kind) > _LONGEST_GROUP:
        raise MalformedError("a group's id and protocol are too long")
    if len(known) >= _MOST_GROUPS:
        del known[next(iter(known))]
    known[group] = kind


def _exchange(header: RequestHeader, table: NameTable | None, *, early: bool = False) -> Exchange:
    return Exchange(
        key=header.key,
        version=header.version,
        correlation_id=header.correlation_id,
        api=header.api,
        table=table,
        early=early,
    )
