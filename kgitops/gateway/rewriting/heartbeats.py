"""Heartbeats of KIP-848's consumers and of share groups: what they subscribe to.

A pattern is matched here, with local names, and goes to the broker as the physical names that it
means. A client tells its subscription once; when the virtual cluster's links have changed since,
it is told again in the next heartbeat. It is kept once the broker has accepted it.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import (
    MOST_IN_REQUEST,
    Exchange,
    LocalAnswer,
    RequestHeader,
    RewriteState,
    own_answer,
)
from kgitops.gateway.rewriting.request_names import INVALID_PATTERN, RequestNames
from kgitops.gateway.rewriting.subscriptions import (
    MOST_KEPT_BYTES,
    AcceptedSubscription,
    TopicSubscription,
)
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.consumers.patterns import matching
from kgitops.serve.patterns import InvalidPatternError
from kgitops.wire.codec import read_part, write
from kgitops.wire.messages import Message, message_class

_STREAMS_INVALID_TOPOLOGY = 130
_THROTTLE = 4
"""Bytes of the time before the error of a response."""
_MOST_NAMES = 10
_SEPARATOR = b"\0"
_MOST_OF_ONE = MOST_KEPT_BYTES // 2
_TOO_LARGE = (
    f"a subscription through the gateway may have {_MOST_OF_ONE // 1024} KiB of names; use a "
    "pattern, or several groups"
)
_MOST_BYTES = 1024 * 1024
"""As much as a broker's log takes of a group's member, by default."""
_TOO_LONG = "a heartbeat through the gateway may have 1 MiB; use a pattern, or several groups"
_NO_ROOM = (
    "the gateway has no room for this subscription now; use a connection for each group, or give "
    "the gateway more --max-memory"
)


class UnacceptableSubscriptionError(Exception):
    """A subscription that is refused; with the code of an error for the client."""

    def __init__(self, code: ErrorCode, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def refuse_subscription(header: RequestHeader, error: UnacceptableSubscriptionError) -> LocalAnswer:
    """The answer to a heartbeat that does not reach the broker."""
    kind = message_class(header.api.response)
    return own_answer(header, kind(error_code=error.code, error_message=str(error)))


def settle_subscription(
    frame: bytes | bytearray, body: int, exchange: Exchange, connection: RewriteState
) -> None:
    """Keep the subscription of a heartbeat if its response, at ``body``, has no error."""
    if exchange.accepted is not None:
        code = frame[body + _THROTTLE : body + _THROTTLE + 2]
        connection.subscriptions.settle(exchange.accepted, accepted=code == b"\0\0")


def change_heartbeat(
    frame: bytes | bytearray,
    header: RequestHeader,
    table: NameTable,
    names: RequestNames,
    connection: RewriteState,
) -> tuple[bytes, AcceptedSubscription | None]:
    """The heartbeat with physical names, and a pattern of these.

    Raises:
        MalformedError: it is no such request.
        UnacceptableSubscriptionError: it subscribes to more than can be kept.
    """
    kind = message_class(header.api.request)
    _check_length(frame)
    request, _ = read_part(kind, header.version, bytes(frame), header.body, most=MOST_IN_REQUEST)
    subscribed = _subscription(request, request.subscribed_topic_regex, table, connection)
    topics, regex = subscribed.topics, subscribed.regex
    if _joins_without(request, topics) and not regex:
        if header.version > 0:
            regex = _exactly((), table)
        else:
            topics = [_no_topic(request, names)]
    for owned in request.topic_partitions or ():
        owned.topic_id = names.topic_id(owned.topic_id)
    changed = replace(
        request,
        group_id=names.scoped_id(request.group_id.encode()).decode(),
        subscribed_topic_names=topics,
        subscribed_topic_regex=regex,
    )
    return bytes(write(changed, header.version)), subscribed.accepted


def change_share_heartbeat(
    frame: bytes | bytearray,
    header: RequestHeader,
    table: NameTable,
    names: RequestNames,
    connection: RewriteState,
) -> tuple[bytes, AcceptedSubscription | None]:
    """The heartbeat of a share group's member with physical names; there are no patterns in it.

    Raises:
        MalformedError: it is no such request.
        UnacceptableSubscriptionError: it subscribes to more than can be kept.
    """
    kind = message_class(header.api.request)
    _check_length(frame)
    request, _ = read_part(kind, header.version, bytes(frame), header.body, most=MOST_IN_REQUEST)
    group = request.group_id
    subscribed = _subscription(request, None, table, connection)
    topics = subscribed.topics
    if _joins_without(request, topics):
        topics = [_no_topic(request, names)]
    changed = replace(
        request,
        group_id=names.scoped_id(group.encode()).decode(),
        subscribed_topic_names=topics,
    )
    return bytes(write(changed, header.version)), subscribed.accepted


def _check_length(frame: bytes | bytearray) -> None:
    if len(frame) > _MOST_BYTES:
        raise UnacceptableSubscriptionError(ErrorCode.INVALID_REQUEST, _TOO_LONG)


def refuse_topology(header: RequestHeader, table: NameTable, names: RequestNames) -> LocalAnswer:
    """The answer to a streams application (KIP-1071) that needs topics which are not there.

    A broker would make the internal ones, by names that nobody declared. It matches patterns with
    all topics, and is told of a topology once, so that they would not follow the links.
    """
    if names.missing:
        several = sorted({name.decode(errors="replace") for name in names.missing})
        missing = ", ".join(several[:_MOST_NAMES]) + ("" if len(several) <= _MOST_NAMES else ", …")
        sentence = (
            f"the virtual cluster {table.virtual_cluster} has no topics {missing}: declare them in "
            "manifests, internal topics too, and apply them with kgitops"
        )
    else:
        sentence = "patterns of source topics can't be used through the gateway: name the topics"
    kind = message_class(header.api.response)
    return own_answer(header, kind(error_code=_STREAMS_INVALID_TOPOLOGY, error_message=sentence))


def _joins_without(request: Message, topics: list[str] | None) -> bool:
    """Tells if it has only named topics that are not there: brokers let nobody join without any."""
    return bool(request.subscribed_topic_names and not topics and not request.member_epoch)


def _no_topic(request: Message, names: RequestNames) -> str:
    """A name that no topic can have."""
    return names.topic(request.subscribed_topic_names[0].encode()).decode()


class _Subscribed(Struct):
    """A subscription to send, with None for what the broker knows, and what to keep of it."""

    topics: list[str] | None
    regex: str | None
    accepted: AcceptedSubscription | None


def _subscription(
    request: Message, regex: str | None, table: NameTable, connection: RewriteState
) -> _Subscribed:
    """The physical topics and the pattern to send.

    Raises:
        UnacceptableSubscriptionError: it is larger than can be kept.
    """
    group, topics = request.group_id, request.subscribed_topic_names
    before = connection.subscriptions.get(group)
    leaves = request.member_epoch < 0
    if (
        not leaves
        and topics is None
        and regex is None
        and (before is None or before.version == table.version)
    ):
        return _Subscribed(None, None, None)
    now = TopicSubscription(
        topics=_joined(topics) if topics is not None else before.topics if before else None,
        regex=regex if regex is not None else before.regex if before else None,
        version=table.version,
    )
    accepted = AcceptedSubscription(group, None if leaves else now)
    if accepted.size > _MOST_OF_ONE:
        raise UnacceptableSubscriptionError(ErrorCode.INVALID_REQUEST, _TOO_LARGE)
    if not connection.subscriptions.has_room(table.virtual_cluster, accepted):
        raise UnacceptableSubscriptionError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, _NO_ROOM)
    told = not leaves and before is not None and before.version != table.version
    if (topics is not None or told) and now.topics is not None:
        topics = _physical(now.topics, table)
    if (regex is not None or told) and now.regex:
        regex = _physical_regex(now.regex, table)
    return _Subscribed(topics, regex, accepted)


def _joined(topics: Sequence[str]) -> bytes:
    """The names that topics can have: no link leads from any other.

    Raises:
        UnacceptableSubscriptionError: there are more than can be kept.
    """
    names: dict[bytes, None] = {}
    size = 0
    for topic in topics:
        name = topic.encode()
        if name not in names and topic_name_problem(topic) is None:
            names[name] = None
            size += len(name) + 1
            if size > _MOST_OF_ONE:
                raise UnacceptableSubscriptionError(ErrorCode.INVALID_REQUEST, _TOO_LARGE)
    return _SEPARATOR.join(names)


def _physical(topics: bytes, table: NameTable) -> list[str]:
    """The topics that there are: a broker refuses the whole subscription for one that is not."""
    found = {table.links.get(name) for name in topics.split(_SEPARATOR)}
    return sorted(name.decode() for name in found if name is not None)


def _physical_regex(regex: str, table: NameTable) -> str:
    """A pattern of exactly the physical topics whose local names this one matches."""
    local = {name.decode(): physical for name, physical in table.links.items()}
    try:
        matched = matching(regex, frozenset(local))
    except InvalidPatternError:
        return INVALID_PATTERN.decode()
    return _exactly(sorted({local[name].decode() for name in matched}), table)


def _exactly(topics: Sequence[str], table: NameTable) -> str:
    """The pattern of these topics; of none, one of a group's name, which is never a topic's."""
    return "|".join(f"\\Q{name}\\E" for name in topics or [table.prefix.decode()])
