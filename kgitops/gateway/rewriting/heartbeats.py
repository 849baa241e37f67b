"""Heartbeats of KIP-848's consumers and of share groups: what they subscribe to.

A pattern is matched here, with local names, and goes to the broker as the physical names that it
means. A client tells its subscription once; when the virtual cluster's links have changed since,
it is told again in the next heartbeat.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import (
    ConnectionNames,
    LocalAnswer,
    RequestHeader,
    TopicSubscription,
    own_answer,
)
from kgitops.gateway.rewriting.request_names import INVALID_PATTERN, RequestNames
from kgitops.serve.groups.consumers.patterns import InvalidPatternError, matching
from kgitops.wire.codec import read_part, write
from kgitops.wire.messages import Message, message_class

_STREAMS_INVALID_TOPOLOGY = 130
_MOST_NAMES = 10
_MOST_SUBSCRIPTIONS = 1_000


def change_heartbeat(
    frame: bytes | bytearray,
    header: RequestHeader,
    table: NameTable,
    names: RequestNames,
    connection: ConnectionNames,
) -> bytes:
    """The heartbeat with physical names, and a pattern of these.

    Raises:
        MalformedError: it is no such request.
    """
    kind = message_class(header.api.request)
    request, _ = read_part(kind, header.version, bytes(frame), header.body)
    topics, regex = _subscription(
        request.group_id,
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        table,
        connection,
    )
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
    return bytes(write(changed, header.version))


def change_share_heartbeat(
    frame: bytes | bytearray,
    header: RequestHeader,
    table: NameTable,
    names: RequestNames,
    connection: ConnectionNames,
) -> bytes:
    """The heartbeat of a share group's member with physical names; there are no patterns in it.

    Raises:
        MalformedError: it is no such request.
    """
    kind = message_class(header.api.request)
    request, _ = read_part(kind, header.version, bytes(frame), header.body)
    group, asked = request.group_id, request.subscribed_topic_names
    topics, _ = _subscription(group, asked, None, table, connection)
    if _joins_without(request, topics):
        topics = [_no_topic(request, names)]
    changed = replace(
        request,
        group_id=names.scoped_id(group.encode()).decode(),
        subscribed_topic_names=topics,
    )
    return bytes(write(changed, header.version))


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


def _subscription(
    group: str,
    topics: list[str] | None,
    regex: str | None,
    table: NameTable,
    connection: ConnectionNames,
) -> tuple[list[str] | None, str | None]:
    """The physical topics and the pattern to send; None for what the broker knows already."""
    before = connection.subscriptions.get(group) or TopicSubscription(None, None, table)
    now = TopicSubscription(
        before.topics if topics is None else tuple(topics),
        before.regex if regex is None else regex,
        table,
    )
    if len(connection.subscriptions) >= _MOST_SUBSCRIPTIONS:
        connection.subscriptions.clear()
    connection.subscriptions[group] = now
    told: Iterable[str] | None = topics
    if topics is None and regex is None and before.table.links != table.links:
        told, regex = now.topics, now.regex
    physical = None if told is None else _physical(told, table)
    return physical, regex if not regex else _physical_regex(regex, table)


def _physical(topics: Iterable[str], table: NameTable) -> list[str]:
    """The topics that there are: a broker refuses the whole subscription for one that is not."""
    found = {table.links.get(topic.encode()) for topic in topics}
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
