"""Decides Create-, Alter- and DeleteVirtualClusters as KIP-1134 has them, one item at a time."""

from collections.abc import Callable, Iterator

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.options import BROKER_PRINCIPAL
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.cluster.embedded.rights import check_right, check_virtual_clusters_enabled, may
from kgitops.model import requests as req
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.results import ErrorCode
from kgitops.virtual_clusters import deciding, links
from kgitops.virtual_clusters.records import VirtualClusterMetadataRecord
from kgitops.virtual_clusters.refusals import VirtualClusterRefusal


def create(draft: Draft, request: req.CreateVirtualClusterRequest) -> None:
    """Create an empty virtual cluster (VC-231).

    Raises:
        Refusal: it can't be created.
    """
    check_virtual_clusters_enabled(draft)
    check_right(draft, Operation.CREATE_VIRTUAL_CLUSTER, request.virtual_cluster)
    _carry_out(draft, request, lambda: deciding.create(draft.delta.virtual_clusters, request))


def delete(draft: Draft, request: req.DeleteVirtualClusterRequest) -> None:
    """Delete an empty virtual cluster (VC-245).

    Raises:
        Refusal: it can't be deleted.
    """
    check_virtual_clusters_enabled(draft)
    check_right(draft, Operation.DELETE_VIRTUAL_CLUSTER, request.virtual_cluster)
    _carry_out(draft, request, lambda: deciding.delete(draft.delta.virtual_clusters, request))


def alter(draft: Draft, request: req.AlterVirtualClusterRequest) -> None:
    """Add, remove or move one entity, or let a link lead elsewhere (VC-233).

    Raises:
        Refusal: it can't be done.
    """
    check_may_alter(draft, request)
    if request.entity_type is EntityType.TOPIC and request.change is ChangeType.ADD:
        _check_may_link(draft, request)
    _carry_out(
        draft,
        request,
        lambda: deciding.alter(
            draft.delta.virtual_clusters,
            request,
            lambda topic: _topic_id(draft, topic),
            super_users=draft.options.super_users | {BROKER_PRINCIPAL},
            is_global_group=lambda group: _is_global_group(draft, group),
            open_transactions=draft.delta.transactions.open(),
        ),
    )


def check_may_alter(draft: Draft, request: req.AlterVirtualClusterRequest) -> None:
    """Refuse callers who may not alter the virtual cluster, or the one that the entity leaves.

    Raises:
        Refusal: the caller may not.
    """
    check_virtual_clusters_enabled(draft)
    check_right(draft, Operation.ALTER_VIRTUAL_CLUSTER, request.virtual_cluster)
    if request.moved_from is not None:
        check_right(draft, Operation.ALTER_VIRTUAL_CLUSTER, request.moved_from)


def _carry_out(
    draft: Draft,
    request: req.CreateVirtualClusterRequest
    | req.AlterVirtualClusterRequest
    | req.DeleteVirtualClusterRequest,
    decide: Callable[[], Iterator[VirtualClusterMetadataRecord]],
) -> None:
    try:
        records = list(decide())
    except VirtualClusterRefusal as refusal:
        raise Refusal(refusal.code, str(refusal)) from None
    draft.judge(request)
    draft.write(*records)
    draft.accept(request)


def _check_may_link(draft: Draft, request: req.AlterVirtualClusterRequest) -> None:
    """Refuse links to topics of others: KIP-1134 itself asks for no right here (VC-040)."""
    topic = links.link_target(draft.delta.virtual_clusters, request)
    if topic is None:
        return
    if draft.authorizer.allows_topic(Operation.ALTER, topic) and draft.authorizer.allows_topic(
        Operation.DESCRIBE, topic
    ):
        return
    sharing = {local.virtual_cluster for local in draft.delta.virtual_clusters.links_to(topic)}
    if not any(may(draft, Operation.ALTER_VIRTUAL_CLUSTER, name) for name in sharing):
        raise Refusal(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            f"{draft.authorizer.principal} may link neither to the topic {topic} itself, which "
            "needs Alter on it, nor as the administrator of a virtual cluster that has it.",
        )


def _topic_id(draft: Draft, name: str) -> str | None:
    topic = draft.delta.topics.get(name)
    return None if topic is None or topic.marked_for_deletion else topic.topic_id


def _is_global_group(draft: Draft, group: str) -> bool:
    existing = draft.delta.groups.get(group)
    return existing is not None and existing.virtual_cluster is None
