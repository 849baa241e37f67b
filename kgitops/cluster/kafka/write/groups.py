"""OffsetCommit for a group without members, and DeleteGroups.

Requests name a group of the cluster, or one in a virtual cluster by its name there; brokers know
that by its physical id.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kafka.protocol.admin import DeleteGroupsRequest as GroupsDeletion
from kafka.protocol.consumer import OffsetCommitRequest
from kafka.protocol.metadata import MetadataRequest
from msgspec.structs import replace

from kgitops.cluster.kafka.answers import LOOK_MS, NOT_ANSWERED, SEND_MS, UNKNOWN_ID, result_of
from kgitops.cluster.kafka.coordinators import ask_coordinators, fetch_offsets
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.requests import (
    AlterConsumerGroupOffsetsRequest,
    CopyGroupOffsetsRequest,
    DeleteConsumerGroupRequest,
    DeleteGroupRequest,
    GroupRequest,
)
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.protocol_codes import OPERATIONS
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.results import NO_SUCH_TOPIC, OK, ErrorCode, RequestResult

_BY_NAME = 9  # the last version of OffsetCommit that names topics
_WITH_RIGHTS, _RIGHTS_APART = 8, 10  # the versions of Metadata that say what the principal may do
_NO_GENERATION = -1  # of a committer that is not a member
_UNKNOWN_MEMBER, _ILLEGAL_GENERATION = 25, 22
_NO_PARTITION = RequestResult(
    code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    message="This server does not host this topic-partition.",
)
# Coordinators answer with a code and no message (C-22).
_MESSAGES = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty: {group} has members; stop them first.",
}


def copy_group_offsets(
    wire: Wire, requests: Sequence[CopyGroupOffsetsRequest]
) -> list[RequestResult]:
    """Commit the source's offsets for each group, all of them or none (VC-114).

    A group that has committed offsets itself is left as it is, which is a success. Offsets of
    topics that are gone are left out.

    Raises:
        UnreachableError: no answer; what happened is unknown and must be looked up.
    """
    groups = {name for request in requests for name in (_physical(request), request.source)}
    known = fetch_offsets(wire, groups)
    topics = _topics(
        wire,
        {
            topic
            for offsets in known.values()
            if not isinstance(offsets, RequestResult)
            for topic, _ in offsets
        },
    )
    return [_copy(wire, request, known, topics) for request in requests]


def alter_offsets(
    wire: Wire, requests: Sequence[AlterConsumerGroupOffsetsRequest]
) -> list[RequestResult]:
    """Commit exactly these offsets of each group, all of a group's or none.

    Topics must still be the planned ones, their partitions must exist, and the principal must have
    the right to all of them: brokers would commit the offsets of the others.

    Raises:
        UnreachableError: no answer; what happened is unknown and must be looked up.
    """
    topics = _looked_up(wire, {item.topic for request in requests for item in request.topics})
    results = []
    for request in requests:
        refused = (_refusal(item, topics.get(item.topic)) for item in request.topics)
        offsets = {
            (item.topic, partition): offset
            for item in request.topics
            for partition, offset in item.offsets.items()
        }
        refusal = next(filter(None, refused), None)
        results.append(refusal or _commit(wire, request.group, offsets))
    return results


def _refusal(item: TopicOffsets, row: Message | None) -> RequestResult | None:
    if row is None or row.error_code in NO_SUCH_TOPIC:
        return UNKNOWN_ID
    allowed = _right(row)
    if not allowed.ok:
        return allowed
    if uuid_to_text(row.topic_id) != item.topic_id:
        return UNKNOWN_ID
    known = item.offsets.keys() <= {part.partition_index for part in row.partitions}
    return None if known else _NO_PARTITION


def delete_groups(
    wire: Wire, requests: Sequence[DeleteGroupRequest] | Sequence[DeleteConsumerGroupRequest]
) -> list[RequestResult]:
    """Delete groups and their offsets.

    Raises:
        UnreachableError: no answer; what happened is unknown and must be looked up.
    """

    def delete(broker: int, groups: Sequence[str]) -> Mapping[str, RequestResult]:
        request = GroupsDeletion(groups_names=list(groups))
        rows = wire.send(request, to=broker, timeout_ms=SEND_MS).results
        found = {row.group_id: result_of(row.error_code, None) for row in rows}
        return {group: found.get(group, NOT_ANSWERED) for group in groups}

    groups = [_physical(request) for request in requests]
    found = ask_coordinators(wire, groups, delete)
    return [_with_message(found[group], group) for group in groups]


def _physical(request: GroupRequest | DeleteConsumerGroupRequest) -> str:
    if isinstance(request, DeleteConsumerGroupRequest):
        return request.group
    return physical_id(request.virtual_cluster, request.group)


def _copy(
    wire: Wire,
    request: CopyGroupOffsetsRequest,
    known: Mapping[str, GroupOffsets | RequestResult],
    topics: Mapping[str, RequestResult],
) -> RequestResult:
    target = _physical(request)
    source, there = known[request.source], known[target]
    for answer in (source, there):
        if isinstance(answer, RequestResult) and answer.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            return _with_message(answer, request.source if answer is source else target)
    if isinstance(source, RequestResult) or (there and not isinstance(there, RequestResult)):
        return OK
    offsets: dict[tuple[str, int], int] = {}
    for (topic, partition), offset in source.items():
        # Brokers commit offsets that the principal may read and refuse the rest of a request. A
        # partial copy would look complete for ever after, so the rights are checked beforehand.
        allowed = topics.get(topic, NOT_ANSWERED)
        if allowed.code not in NO_SUCH_TOPIC:
            if not allowed.ok:
                return allowed
            offsets[topic, partition] = offset
    return _commit(wire, target, offsets) if offsets else OK


def _commit(wire: Wire, target: str, offsets: GroupOffsets) -> RequestResult:
    def commit(broker: int, groups: Sequence[str]) -> Mapping[str, RequestResult]:
        del groups
        answer = wire.send(_commitment(target, offsets), to=broker, timeout_ms=SEND_MS)
        return {target: _first_failure(answer)}

    return _with_message(ask_coordinators(wire, [target], commit)[target], target)


def _topics(wire: Wire, names: set[str]) -> Mapping[str, RequestResult]:
    """Return OK, or the error, for committing offsets of each topic that exists."""
    return {name: _right(row) for name, row in _looked_up(wire, names).items()}


def _looked_up(wire: Wire, names: set[str]) -> Mapping[str, Message]:
    """Return the row of each topic, which says what the principal may do with it."""
    if not names:
        return {}
    request = MetadataRequest(
        topics=[
            MetadataRequest.MetadataRequestTopic(topic_id=None, name=name) for name in sorted(names)
        ],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=True,
        min_version=_WITH_RIGHTS,
        max_version=_RIGHTS_APART,
    )
    return {row.name: row for row in wire.send(request, timeout_ms=LOOK_MS).topics}


def _right(row: Message) -> RequestResult:
    if row.error_code or OPERATIONS[Operation.READ] in row.authorized_operations:
        return result_of(row.error_code, None)
    return RequestResult(
        code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        message=f"Committing offsets of {row.name} takes Read on it.",
    )


def _commitment(group: str, offsets: GroupOffsets) -> Message:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    by_topic: defaultdict[str, list[Message]] = defaultdict(list)
    for (name, partition), offset in sorted(offsets.items()):
        by_topic[name].append(
            topic.OffsetCommitRequestPartition(
                partition_index=partition, committed_offset=offset, committed_metadata=""
            )
        )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=_NO_GENERATION,
        member_id="",
        group_instance_id=None,
        topics=[topic(name=name, partitions=rows) for name, rows in by_topic.items()],
        max_version=_BY_NAME,
    )


def _first_failure(answer: Message) -> RequestResult:
    codes = (row.error_code for topic in answer.topics for row in topic.partitions)
    code = next(filter(None, codes), ErrorCode.NONE)
    if code in (_UNKNOWN_MEMBER, _ILLEGAL_GENERATION):
        code = ErrorCode.NON_EMPTY_GROUP
    return result_of(code, None)


def _with_message(result: RequestResult, group: str) -> RequestResult:
    template = _MESSAGES.get(result.code)
    if template is None or result.message:
        return result
    return replace(result, message=template.format(group=group))
