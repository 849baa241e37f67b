"""How each kind of consumer group is described, and which topics its description names.

The classic protocol's, KIP-848's, KIP-932's share groups and KIP-1071's streams groups each have a
request of their own; the last three are known to kio alone.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kio.schema.consumer_group_describe.v0 import request as consumer_request
from kio.schema.consumer_group_describe.v0 import response as consumer_response
from kio.schema.share_group_describe.v1 import request as share_request
from kio.schema.share_group_describe.v1 import response as share_response
from kio.schema.streams_group_describe.v0 import request as streams_request
from kio.schema.streams_group_describe.v0 import response as streams_response
from kio.schema.types import GroupId

from kgitops.cluster.kafka.transport.connection import Message
from kgitops.cluster.kafka.transport.decoded import of_entity, reader

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
