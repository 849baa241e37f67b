"""The consumer groups that are active on topics: groups with members that read them.

Classic groups, those of KIP-848, share groups (KIP-932) and streams groups (KIP-1071) are each
described by a request of their own; kafka-python knows only the first.
"""

import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolType,
)
from msgspec import Struct

from kgitops.cluster.kafka.answers import ask_each_broker, result_of
from kgitops.cluster.kafka.transport.decoded import Decoded
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked
from kgitops.model.errors import UnreachableError

CLASSIC = "classic"


class GroupKind(Struct, frozen=True, kw_only=True):
    """The request that describes groups of this kind, and the topics that one of them reads.

    ``topics`` raises ValueError where the metadata of a member can't be read.
    """

    request: Callable[[Sequence[str]], Message]
    topics: Callable[[Message], Iterator[str]]


def _classic_request(groups: Sequence[str]) -> Message:
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=False)


def _classic_topics(group: Message) -> Iterator[str]:
    """The topics that members are assigned, and those that they subscribe to."""
    for member in group.members:
        try:
            if member.member_assignment:
                assignment = ConsumerProtocolAssignment.decode(member.member_assignment)
                yield from (part.topic for part in assignment.assigned_partitions)
            if member.member_metadata:
                yield from ConsumerProtocolSubscription.decode(member.member_metadata).topics
        except (ValueError, IndexError, struct.error) as error:
            raise ValueError(
                f"the metadata of its member {member.member_id} can't be read"
            ) from error


def _newer_request(api: str, version: int) -> Callable[[Sequence[str]], Message]:
    def make(groups: Sequence[str]) -> Message:
        # Few clusters have such groups, and the rest need no second codec.
        from kgitops.cluster.kafka.transport.group_requests import describe_groups  # noqa: PLC0415

        return describe_groups(api, version, groups)

    return make


def _consumer_topics(group: Message) -> Iterator[str]:
    for member in group.members:
        yield from member.subscribed_topic_names
        for assignment in (member.assignment, member.target_assignment):
            yield from (part.topic_name for part in assignment.topic_partitions)


def _share_topics(group: Message) -> Iterator[str]:
    for member in group.members:
        yield from member.subscribed_topic_names
        yield from (part.topic_name for part in member.assignment.topic_partitions)


def _streams_topics(group: Message) -> Iterator[str]:
    for part in group.topology.subtopologies or () if group.topology else ():
        yield from part.source_topics
        yield from part.repartition_sink_topics
        for made in (*part.repartition_source_topics, *part.state_changelog_topics):
            yield made.name


GROUP_KINDS: Mapping[str, GroupKind] = {
    CLASSIC: GroupKind(request=_classic_request, topics=_classic_topics),
    "consumer": GroupKind(
        request=_newer_request("ConsumerGroupDescribe", version=0),
        topics=_consumer_topics,
    ),
    "share": GroupKind(
        request=_newer_request("ShareGroupDescribe", version=1),
        topics=_share_topics,
    ),
    "streams": GroupKind(
        request=_newer_request("StreamsGroupDescribe", version=0),
        topics=_streams_topics,
    ),
}
"""Group kinds by their lower-case name in ListGroups (KIP-848)."""


_IDLE = frozenset({"empty", "dead"})
_GONE = 69  # GROUP_ID_NOT_FOUND: it ended meanwhile
_BROKER_TIMEOUT_MS = 10_000


class ActiveGroups(Struct, frozen=True):
    """The groups that read each topic; None, with the reason, where that is not known."""

    by_topic: Mapping[str, tuple[str, ...]] | None = None
    not_checked: tuple[NotChecked, ...] = ()


class _UnavailableError(Exception):
    """Some groups can't be described; the text is the reason."""


def read_active_groups(wire: Wire, brokers: Sequence[int], topics: Collection[str]) -> ActiveGroups:
    """Return the groups that read these topics, asking each broker for those it coordinates.

    A group that can't be described may read any of the topics, so then nothing is known of all.
    """
    readers: dict[str, set[str]] = {name: set() for name in topics}
    try:
        for read in ask_each_broker(wire, brokers, lambda broker: _of_broker(wire, broker)):
            for group, names in read.items():
                for name in names & readers.keys():
                    readers[name].add(group)
    except (_UnavailableError, UnreachableError) as error:
        return ActiveGroups(
            not_checked=(
                NotChecked(
                    problem=f"which consumer groups are active on the topics is not known: {error}",
                    advice="see that the principal may Describe all groups and that every broker "
                    "runs, and plan again to see it",
                ),
            )
        )
    return ActiveGroups({name: tuple(sorted(groups)) for name, groups in readers.items()})


def _of_broker(wire: Wire, broker: int) -> Mapping[str, set[str]]:
    """Return the topics that each group with members reads, for this broker's groups."""
    listed = wire.send(ListGroupsRequest(), to=broker, timeout_ms=_BROKER_TIMEOUT_MS)
    if listed.error_code:
        raise _UnavailableError(f"broker {broker} answered {result_of(listed.error_code, None)}")
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for group in listed.groups:
        kind = (group.group_type or CLASSIC).lower()
        # Others, such as the workers of Kafka Connect, distribute things other than topics.
        consumes = kind != CLASSIC or group.protocol_type == ConsumerProtocolType
        if consumes and group.group_state.lower() not in _IDLE:
            by_kind[kind].append(group.group_id)
    read: dict[str, set[str]] = {}
    for kind, groups in sorted(by_kind.items()):
        for group in _describe(wire, broker, kind, groups):
            read[group.group_id] = _topics(kind, group)
    return read


def _describe(wire: Wire, broker: int, kind: str, groups: Sequence[str]) -> list[Message]:
    if kind not in GROUP_KINDS:
        raise _UnavailableError(f"{groups[0]} is of a kind that this kgitops does not know: {kind}")
    request = GROUP_KINDS[kind].request(groups)
    if not wire.supports(request, request.API_VERSION or 0):
        raise _UnavailableError(f"the brokers can't tell what {groups[0]} reads: {request.name}")
    answer = wire.send(request, to=broker, timeout_ms=_BROKER_TIMEOUT_MS)
    described = answer.value if isinstance(answer, Decoded) else answer
    if len(described.groups) < len(groups):
        raise _UnavailableError(f"broker {broker} leaves groups out of its answer")
    return [group for group in described.groups if group.error_code != _GONE]


def _topics(kind: str, group: Message) -> set[str]:
    if group.error_code:
        answer = result_of(int(group.error_code), None)
        raise _UnavailableError(f"the group {group.group_id} may not be described: {answer}")
    try:
        return {str(name) for name in GROUP_KINDS[kind].topics(group)}
    except ValueError as error:
        raise _UnavailableError(
            f"the group {group.group_id} can't be looked into: {error}"
        ) from error
