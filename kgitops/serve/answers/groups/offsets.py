"""OffsetCommit, OffsetFetch and OffsetDelete."""

from collections.abc import Collection, Mapping, Sequence

from kgitops.cluster.embedded.client.groups.offsets import FetchedOffsets
from kgitops.cluster.embedded.controls.reassignments import TopicPartition
from kgitops.cluster.embedded.image.records import OffsetDetails
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.answers.groups.groups import coordinated
from kgitops.serve.answers.values import topic_id_bytes, topic_id_text
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message

NO_OFFSET = -1
_TOPIC_IDS = 10
"""The first version of OffsetCommit and OffsetFetch by topic ids (KIP-848)."""
_TELLS_UNKNOWN = 9
"""The first version of OffsetCommit with an error for groups that do not exist (KIP-848)."""
_SEVERAL_GROUPS = 8
_GROUP_ERRORS = 2
_OF_THE_GROUP = frozenset(
    {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.NON_EMPTY_GROUP,
    }
)
_MAX_METADATA = "offset.metadata.max.bytes"
_MAX_METADATA_DEFAULT = 4096


def offset_commit(call: ApiCall, request: Message) -> Message:
    """One result for each partition."""
    group, names = request.group_id, _names(call, request.topics)
    physical, error = coordinated(call, group, Operation.READ)
    results: Mapping[TopicPartition, ErrorCode] = {}
    if error is ErrorCode.NONE:
        results = _commit(call, request, physical, names)
    left_out = _without_partitions(call, request, names) if error is ErrorCode.NONE else ()
    response = messages.OffsetCommitResponse
    topics: dict[tuple[str, bytes], Message] = {}
    for topic, name in zip(request.topics, names, strict=True):
        if name in left_out:
            continue
        row = response.OffsetCommitResponsePartition
        partitions = [
            row(
                partition_index=partition.partition_index,
                error_code=error
                or (
                    ErrorCode.UNKNOWN_TOPIC_ID
                    if name is None
                    else results[name, partition.partition_index]
                ),
            )
            for partition in topic.partitions
        ]
        # A topic that is named twice has one row.
        whole = topics.setdefault(
            (topic.name, topic.topic_id),
            response.OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id),
        )
        whole.partitions += partitions
    return response(topics=list(topics.values()))


def offset_fetch(call: ApiCall, request: Message) -> Message:
    """The offsets of one group, or from version 8 on of several."""
    response = messages.OffsetFetchResponse
    if call.version >= _SEVERAL_GROUPS:
        by_id = {group.group_id: group for group in request.groups}
        stable = request.require_stable
        return response(
            groups=[_fetched_group(call, group, stable=stable) for group in by_id.values()]
        )
    _ask_once(request.topics)
    names = None if request.topics is None else [topic.name for topic in request.topics]
    fetched = _fetch(call, request.group_id, request.topics, names, stable=request.require_stable)
    error = fetched.result.code
    row, part = response.OffsetFetchResponseTopic, response.OffsetFetchResponsePartition
    if error is not ErrorCode.NONE and call.version >= _GROUP_ERRORS:
        return response(error_code=error)
    return response(
        topics=[
            row(name=name, partitions=[_offset(part, fetched, name, item) for item in indexes])
            for name, indexes in _asked(request.topics, names, fetched)
            if name is not None
        ]
    )


def offset_delete(call: ApiCall, request: Message) -> Message:
    """One result for each partition, or one error for the group."""
    response = messages.OffsetDeleteResponse
    physical, error = coordinated(call, request.group_id, Operation.DELETE)
    if error is ErrorCode.NONE and not request.group_id:
        error = ErrorCode.INVALID_GROUP_ID
    if error is ErrorCode.NONE and call.cluster.groups.shares.group(physical):
        error = ErrorCode.GROUP_ID_NOT_FOUND
    if error is not ErrorCode.NONE:
        return response(error_code=error)
    keys = [
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    results = call.admin.offset_delete(request.group_id, keys)
    of_group = [result.code for result in results.values() if result.code in _OF_THE_GROUP]
    if of_group:
        return response(error_code=of_group[0])
    rows: dict[str, list[Message]] = {}
    for (name, partition), result in results.items():
        rows.setdefault(name, []).append(
            response.OffsetDeleteResponsePartition(
                partition_index=partition, error_code=result.code
            )
        )
    return response(
        topics=[
            response.OffsetDeleteResponseTopic(name=name, partitions=partitions)
            for name, partitions in rows.items()
        ]
    )


def _without_partitions(
    call: ApiCall, request: Message, names: Sequence[str | None]
) -> Collection[str]:
    """Existing topics of which no partition is named: they have no row."""
    named = {name for name, topic in zip(names, request.topics, strict=True) if topic.partitions}
    empty = {name for name in names if name is not None and name not in named}
    found = call.admin.authorize_topics(Operation.READ, empty) if empty else {}
    return {name for name, access in found.items() if access.result.ok}


def _names(call: ApiCall, topics: Sequence[Message]) -> list[str | None]:
    """The caller's name of each topic; None for an id that it knows none of."""
    if call.version < _TOPIC_IDS:
        return [topic.name for topic in topics]
    ids = [topic_id_text(topic.topic_id) for topic in topics]
    known = call.admin.topic_names(ids)
    return [known.get(item) for item in ids]


def _commit(
    call: ApiCall, request: Message, physical: str, names: Sequence[str | None]
) -> Mapping[TopicPartition, ErrorCode]:
    rows = {
        (name, partition.partition_index): partition
        for topic, name in zip(request.topics, names, strict=True)
        if name is not None
        for partition in topic.partitions
    }
    groups = call.cluster.groups
    error = groups.check_commit(
        physical,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
    )
    if error is ErrorCode.ILLEGAL_GENERATION and call.version >= _TELLS_UNKNOWN:
        known = call.admin.describe_groups([request.group_id])[request.group_id].result.ok
        error = error if known or groups.group(physical) else ErrorCode.GROUP_ID_NOT_FOUND
    if error:
        refused = dict.fromkeys(rows, error)
    else:
        longest = _longest_metadata(call)
        refused = {
            key: ErrorCode.OFFSET_METADATA_TOO_LARGE
            for key, row in rows.items()
            if len((row.committed_metadata or "").encode()) > longest
        }
        groups.committed(physical, request.member_id)
    now_ms = call.cluster.controller.clock_and_ids.now_ms()
    results = call.admin.offset_commit(
        request.group_id,
        {key: row.committed_offset for key, row in rows.items()},
        {
            key: OffsetDetails(
                leader_epoch=row.committed_leader_epoch,
                metadata=row.committed_metadata or "",
                timestamp_ms=now_ms,
            )
            for key, row in rows.items()
        },
        refused,
    )
    return {key: result.code for key, result in results.items()}


def _longest_metadata(call: ApiCall) -> int:
    configs = call.cluster.controller.options.static_configs_of(call.node.id)
    return int(configs.get(_MAX_METADATA, _MAX_METADATA_DEFAULT))


def _fetched_group(call: ApiCall, group: Message, *, stable: bool) -> Message:
    response = messages.OffsetFetchResponse
    _ask_once(group.topics)
    names = None if group.topics is None else _names(call, group.topics)
    fetched = _fetch(call, group.group_id, group.topics, names, group, stable=stable)
    row = response.OffsetFetchResponseGroup
    if not fetched.result.ok:
        return row(group_id=group.group_id, error_code=fetched.result.code)
    topics = []
    part = response.OffsetFetchResponsePartitions
    asked = list(_asked(group.topics, names, fetched))
    ids = _topic_ids(call, group.topics, [name for name, _ in asked])
    for (name, indexes), topic_id in zip(asked, ids, strict=True):
        if name is None:
            partitions = [
                part(
                    partition_index=index,
                    committed_offset=NO_OFFSET,
                    metadata="",
                    error_code=ErrorCode.UNKNOWN_TOPIC_ID,
                )
                for index in indexes
            ]
        else:
            partitions = [_offset(part, fetched, name, index) for index in indexes]
        topics.append(
            response.OffsetFetchResponseTopics(
                name=name or "", topic_id=topic_id, partitions=partitions
            )
        )
    return row(group_id=group.group_id, topics=topics)


def _ask_once(topics: list[Message] | None) -> None:
    """Leave each partition of a request in it once: the answer has its metadata."""
    seen: dict[tuple[str, bytes], dict[int, None]] = {}
    for topic in topics or ():
        of_topic = seen.setdefault((topic.name, getattr(topic, "topic_id", b"")), {})
        new = dict.fromkeys(index for index in topic.partition_indexes if index not in of_topic)
        of_topic |= new
        topic.partition_indexes = list(new)


def _fetch(
    call: ApiCall,
    group: str,
    topics: Sequence[Message] | None,
    names: Sequence[str | None] | None,
    member: Message = None,
    *,
    stable: bool,
) -> FetchedOffsets:
    """The offsets; a member of KIP-848 that tells its epoch must be in the group.

    With ``stable`` none that an open transaction may change (KIP-447).
    """
    physical, error = coordinated(call, group, Operation.DESCRIBE)
    consumers = call.cluster.groups.consumers
    held = consumers.group(physical)
    if error is ErrorCode.NONE and held is not None and member is not None:
        error = consumers.check_fetch(held, member.member_id, member.member_epoch)
    if error is not ErrorCode.NONE:
        return FetchedOffsets(result=RequestResult(code=error))
    if topics is None or names is None:
        return call.admin.offset_fetch(group, stable=stable)
    keys = [
        (name, index)
        for topic, name in zip(topics, names, strict=True)
        if name is not None
        for index in topic.partition_indexes
    ]
    return call.admin.offset_fetch(group, keys, stable=stable)


def _asked(
    topics: Sequence[Message] | None,
    names: Sequence[str | None] | None,
    fetched: FetchedOffsets,
) -> Sequence[tuple[str | None, Sequence[int]]]:
    """The names and partitions of a request; all with an offset if it names none."""
    if topics is not None and names is not None:
        return [(name, topic.partition_indexes) for topic, name in zip(topics, names, strict=True)]
    found: dict[str | None, list[int]] = {}
    for name, partition in (*fetched.offsets, *fetched.refused):
        found.setdefault(name, []).append(partition)
    return list(found.items())


def _topic_ids(
    call: ApiCall, topics: Sequence[Message] | None, names: Sequence[str | None]
) -> Sequence[bytes]:
    """The topic ids of an answer: those that were asked for, or those of all its topics."""
    if call.version < _TOPIC_IDS:
        return [messages.NIL_UUID] * len(names)
    if topics is not None:
        return [topic.topic_id for topic in topics]
    asked = [name for name in names if name is not None]
    described = call.admin.metadata(asked, version=call.version, allow_auto_create=False)
    ids = {topic.name: topic_id_bytes(topic.topic_id) for topic in described}
    return [ids[name] for name in asked]


def _offset(part: Message, fetched: FetchedOffsets, name: str, index: int) -> Message:
    """An offset; -1 where there is none, and, as Kafka answers, where there is no such topic."""
    key = name, index
    error = fetched.result.code
    if key in fetched.refused:
        error = fetched.refused[key].code
    if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        error = ErrorCode.NONE
    details = fetched.details.get(key, OffsetDetails())
    return part(
        partition_index=index,
        committed_offset=fetched.offsets.get(key, NO_OFFSET),
        committed_leader_epoch=details.leader_epoch,
        metadata=details.metadata,
        error_code=error,
    )
