"""Decides changes to groups and their committed offsets, by the groups' physical ids."""

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import GroupRecord, OffsetsDetails, RemoveGroupRecord
from kgitops.cluster.embedded.namespaces import namespace
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.cluster.embedded.rights import check_right
from kgitops.model.cluster_state import GroupOffsets
from kgitops.model.requests import (
    AlterConsumerGroupOffsetsRequest,
    CopyGroupOffsetsRequest,
    DeleteConsumerGroupRequest,
    DeleteGroupRequest,
)
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.model.results import ErrorCode
from kgitops.virtual_clusters.refusals import Symbol


def commit(
    draft: Draft,
    group: str,
    committed: GroupOffsets,
    *,
    virtual_cluster: str | None = None,
    details: OffsetsDetails | None = None,
) -> None:
    """Commit offsets of a group, as consumers do (VC-045).

    ``virtual_cluster`` is the one that its members are in; None if they are in none (VC-113).

    Raises:
        Refusal: a topic or partition does not exist.
    """
    for name, partition in committed:
        check_partition(draft, name, partition)
    draft.write(
        GroupRecord(
            group=group,
            virtual_cluster=virtual_cluster,
            committed=committed,
            details=details or {},
        )
    )


def check_partition(draft: Draft, name: str, partition: int) -> None:
    """Refuse a partition that does not exist.

    Raises:
        Refusal: it does not (3).
    """
    topic = draft.delta.topics.get(name)
    if topic is None or not 0 <= partition < len(topic.assignment):
        raise Refusal(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "This server does not host this topic-partition.",
        )


def copy_offsets(draft: Draft, request: CopyGroupOffsetsRequest) -> None:
    """Copy the offsets of the global group ``source``, unless the target has offsets already.

    On a cluster without virtual clusters both are just physical groups.

    Raises:
        Refusal: the target has members, or has not adopted that group.
    """
    virtual_cluster, group = request.virtual_cluster, request.group
    if draft.options.virtual_clusters:
        check_right(draft, Operation.ALTER_VIRTUAL_CLUSTER, virtual_cluster)
        _check_adopts(draft, request)
    check_may_copy(draft, request.source, virtual_cluster, group)
    draft.judge(request)
    copy(draft, request.source, virtual_cluster=virtual_cluster, group=group)
    draft.accept(request)


def check_may_copy(draft: Draft, source: str, virtual_cluster: str, group: str) -> None:
    """Refuse to copy offsets that the principal may not see, or to a group that is in use.

    Raises:
        Refusal: it may not, or the group has members.
    """
    if not draft.authorizer.allows(Operation.DESCRIBE, ResourceType.GROUP, source):
        raise Refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
    if _to_copy(draft, source, physical_id(virtual_cluster, group)):
        _check_empty(draft, physical_id(virtual_cluster, group))


def copy(draft: Draft, source: str, *, virtual_cluster: str, group: str) -> None:
    """Copy the offsets of ``source`` to a group of a virtual cluster; checked before."""
    target = physical_id(virtual_cluster, group)
    committed = _to_copy(draft, source, target)
    if committed:
        owner = virtual_cluster if draft.options.virtual_clusters else None
        commit(draft, target, committed, virtual_cluster=owner)


def delete(draft: Draft, request: DeleteGroupRequest) -> None:
    """Delete a group with its offsets (VC-119).

    Raises:
        Refusal: it has members, or does not exist.
    """
    group = physical_id(request.virtual_cluster, request.group)
    if draft.options.virtual_clusters:
        check_right(draft, Operation.ALTER_VIRTUAL_CLUSTER, request.virtual_cluster)
    if draft.delta.groups.get(group) is None:
        raise Refusal(ErrorCode.GROUP_ID_NOT_FOUND, "The group id does not exist.")
    _check_empty(draft, group)
    draft.judge(request)
    draft.write(RemoveGroupRecord(group=group))
    draft.accept(request)


def alter_offsets(draft: Draft, request: AlterConsumerGroupOffsetsRequest) -> None:
    """Commit offsets of a group that is in no virtual cluster; others stay as they are.

    Raises:
        Refusal: it has members, a topic is not the planned one, or the caller has no right to it.
    """
    here = namespace(draft)
    group = here.group(Operation.READ, request.group)
    here.check_group(group)
    for item in request.topics:
        topic = draft.delta.topics.get(item.topic)
        if topic is None or topic.topic_id != item.topic_id:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        here.topic(Operation.READ, item.topic)
    _check_empty(draft, group)
    committed = {
        (item.topic, partition): offset
        for item in request.topics
        for partition, offset in item.offsets.items()
    }
    for name, partition in committed:
        check_partition(draft, name, partition)
    draft.judge(request)
    commit(draft, group, committed, virtual_cluster=here.virtual_cluster)
    draft.accept(request)


def delete_global(draft: Draft, request: DeleteConsumerGroupRequest) -> None:
    """Delete a group that is in no virtual cluster, with its offsets.

    Raises:
        Refusal: it has members, does not exist, or the caller has no right to it.
    """
    here = namespace(draft)
    group = here.group(Operation.DELETE, request.group)
    if draft.delta.groups.get(group) is None or here.local_group(group) is None:
        raise Refusal(ErrorCode.GROUP_ID_NOT_FOUND, "The group id does not exist.")
    _check_empty(draft, group)
    draft.judge(request)
    draft.write(RemoveGroupRecord(group=group))
    draft.accept(request)


def _to_copy(draft: Draft, source: str, target: str) -> GroupOffsets:
    origin, existing = draft.delta.groups.get(source), draft.delta.groups.get(target)
    return {} if origin is None or (existing and existing.committed) else origin.committed


def _check_adopts(draft: Draft, request: CopyGroupOffsetsRequest) -> None:
    virtual_cluster = draft.delta.virtual_clusters.get(request.virtual_cluster)
    if virtual_cluster is None or virtual_cluster.groups.get(request.group) != request.source:
        raise Refusal(
            ErrorCode.RESOURCE_NOT_FOUND,
            f"{Symbol.MEMBER_NOT_FOUND}: {request.virtual_cluster} has no group {request.group} "
            f"that took over {request.source}",
        )


def _check_empty(draft: Draft, group: str) -> None:
    if draft.has_members(group):
        raise Refusal(
            ErrorCode.NON_EMPTY_GROUP,
            f"The group is not empty: {group} has members; stop them first.",
        )
