"""How each kind of consumer group is described, and which topics its description names.

The classic protocol's, KIP-848's, KIP-932's share groups and KIP-1071's streams groups each have a
request of their own; the last three are known to kio alone.
"""

import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolType,
)
from kio.schema.consumer_group_describe.v0 import request as consumer_request
from kio.schema.consumer_group_describe.v0 import response as consumer_response
from kio.schema.share_group_describe.v1 import request as share_request
from kio.schema.share_group_describe.v1 import response as share_response
from kio.schema.streams_group_describe.v0 import request as streams_request
from kio.schema.streams_group_describe.v0 import response as streams_response
from kio.schema.types import GroupId

from kgitops.cluster.kafka.answers import ask_each, result_of
from kgitops.cluster.kafka.transport.decoded import Decoded, of_entity, reader
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked
from kgitops.model.errors import UnreachableError

CLASSIC = "classic"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKind:
    """The request that describes groups of this kind, and the topics that one of them reads.

    ``topics`` raises ValueError where a member says it in a way that can't be read.
    """

    request: Callable[[Sequence[str]], Message]
    topics: Callable[[Message], Iterator[str]]


def _classic_request(groups: Sequence[str]) -> Message:
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=False)


def _classic_topics(group: Message) -> Iterator[str]:
    """What members are assigned, and while they are not, what they ask for."""
    for member in group.members:
        try:
            if member.member_assignment:
                assignment = ConsumerProtocolAssignment.decode(member.member_assignment)
                yield from (part.topic for part in assignment.assigned_partitions)
            if member.member_metadata:
                yield from ConsumerProtocolSubscription.decode(member.member_metadata).topics
        except (ValueError, IndexError, struct.error) as error:
            raise ValueError(f"what its member {member.member_id} says can't be read") from error


def _kio_request(
    name: str, request: Message, response: Message
) -> Callable[[Sequence[str]], Message]:
    def make(groups: Sequence[str]) -> Message:
        ids = tuple(map(GroupId, groups))
        entity = request(group_ids=ids, include_authorized_operations=False)
        return of_entity(name, entity, reader(response))

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
        request=_kio_request(
            "ConsumerGroupDescribeRequest",
            consumer_request.ConsumerGroupDescribeRequest,
            consumer_response.ConsumerGroupDescribeResponse,
        ),
        topics=_consumer_topics,
    ),
    "share": GroupKind(
        request=_kio_request(
            "ShareGroupDescribeRequest",
            share_request.ShareGroupDescribeRequest,
            share_response.ShareGroupDescribeResponse,
        ),
        topics=_share_topics,
    ),
    "streams": GroupKind(
        request=_kio_request(
            "StreamsGroupDescribeRequest",
            streams_request.StreamsGroupDescribeRequest,
            streams_response.StreamsGroupDescribeResponse,
        ),
        topics=_streams_topics,
    ),
}
"""By the name that ListGroups gives the kind, in small letters (KIP-848)."""


_IDLE = frozenset({"empty", "dead"})
_GONE = 69  # GROUP_ID_NOT_FOUND: it ended meanwhile
_PATIENCE_MS = 10_000


@dataclass(frozen=True, slots=True)
class ActiveGroups:
    """By topic who reads it; None where that could not be found out, and then why not."""

    by_topic: Mapping[str, tuple[str, ...]] | None = None
    not_checked: tuple[NotChecked, ...] = ()


class _UntoldError(Exception):
    """Some groups can't be looked into; says why."""


def read_active_groups(wire: Wire, brokers: Sequence[int], topics: Collection[str]) -> ActiveGroups:
    """The groups that read these topics: each broker knows those that it coordinates.

    One that can't be looked into may read any of the topics, so that nothing is known of all then.
    """
    found: dict[str, set[str]] = {name: set() for name in topics}
    try:
        for read in ask_each(brokers, lambda broker: _of_broker(wire, broker)):
            for group, names in read.items():
                for name in names & found.keys():
                    found[name].add(group)
    except (_UntoldError, UnreachableError) as error:
        return ActiveGroups(
            not_checked=(
                NotChecked(
                    problem=f"which consumer groups are active on the topics is not known: {error}",
                    advice="see that the principal may Describe all groups and that every broker "
                    "runs, and plan again to see it",
                ),
            )
        )
    return ActiveGroups({name: tuple(sorted(groups)) for name, groups in found.items()})


def _of_broker(wire: Wire, broker: int) -> Mapping[str, set[str]]:
    """Group to what it reads, for those that this broker coordinates and that have members."""
    listed = wire.send(ListGroupsRequest(), to=broker, timeout_ms=_PATIENCE_MS)
    if listed.error_code:
        raise _UntoldError(f"broker {broker} answered {result_of(listed.error_code, None)}")
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for group in listed.groups:
        kind = (group.group_type or CLASSIC).lower()
        # Others, such as the workers of Kafka Connect, share out things that are no topics.
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
        raise _UntoldError(f"{groups[0]} is of a kind that this kgitops does not know: {kind}")
    request = GROUP_KINDS[kind].request(groups)
    if not wire.supports(request, request.API_VERSION or 0):
        raise _UntoldError(f"the brokers can't tell what {groups[0]} reads: {request.name}")
    answer = wire.send(request, to=broker, timeout_ms=_PATIENCE_MS)
    described = answer.kept if isinstance(answer, Decoded) else answer
    return [group for group in described.groups if group.error_code != _GONE]


def _topics(kind: str, group: Message) -> set[str]:
    if group.error_code:
        answer = result_of(int(group.error_code), None)
        raise _UntoldError(f"the group {group.group_id} may not be described: {answer}")
    try:
        return {str(name) for name in GROUP_KINDS[kind].topics(group)}
    except ValueError as error:
        raise _UntoldError(f"the group {group.group_id} can't be looked into: {error}") from error
