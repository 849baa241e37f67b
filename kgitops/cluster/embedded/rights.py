"""Rights on virtual clusters, and rights on topics that the port knows by a local name."""

from collections.abc import Iterator
from contextlib import contextmanager

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.requests import AlterStep, AlterTopicRequest, DeleteRecordsRequest
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import ErrorCode
from kgitops.virtual_clusters.rights import ApiKey, VirtualClusterScope


def check_virtual_clusters_enabled(draft: Draft) -> None:
    """Refuse requests that need virtual clusters if the feature is off (VC-351).

    Raises:
        Refusal: it is off.
    """
    if not draft.options.virtual_clusters:
        raise Refusal(
            ErrorCode.UNSUPPORTED_VERSION, "The feature virtual.clusters is at level 0 here."
        )


def may(draft: Draft, operation: Operation, virtual_cluster: str) -> bool:
    """True if the caller may do this to the virtual cluster, or to the whole cluster (VC-101)."""
    return draft.authorizer.allows_virtual_cluster(operation, virtual_cluster)


def check_right(draft: Draft, operation: Operation, virtual_cluster: str) -> None:
    """Refuse callers without the right, the same if there is no such virtual cluster (VC-244).

    Raises:
        Refusal: the caller does not have the right.
    """
    if not may(draft, operation, virtual_cluster):
        raise Refusal(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{draft.authorizer.principal} has no {operation} on the virtual cluster "
            f"{virtual_cluster}.",
        )


# The placement of replicas belongs to the physical cluster, and has no right here (VC-152).
_NEEDED = {AlterStep.CONFIGS: Operation.ALTER_CONFIGS, AlterStep.PARTITIONS: Operation.ALTER}


@contextmanager
def by_local_name(
    draft: Draft, request: AlterTopicRequest | DeleteRecordsRequest
) -> Iterator[None]:
    """Check no right on the physical topic if one on its local name is enough.

    So an administrator or a member of a virtual cluster can apply, through the port, the changes
    that it may make as a caller (VC-011, VC-154).
    """
    caller = draft.authorizer
    if _has_local_right(draft, request):
        draft.authorizer = caller.allowing_everything()
    try:
        yield
    finally:
        draft.authorizer = caller


def _has_local_right(draft: Draft, request: AlterTopicRequest | DeleteRecordsRequest) -> bool:
    local, topic = request.local, draft.delta.topics.by_id(request.topic_id)
    if (
        local is None
        or topic is None
        or local not in draft.delta.virtual_clusters.links_to(topic.name)
    ):
        return False
    match request:
        case DeleteRecordsRequest():
            return _member_may(draft, Operation.DELETE, local, topic.name)
        case AlterTopicRequest():
            needed = _NEEDED.get(request.step)
            if needed is None:
                return False
            scope = VirtualClusterScope(local.virtual_cluster)
            return (
                needed is Operation.ALTER_CONFIGS
                and draft.authorizer.allows_request(ApiKey.INCREMENTAL_ALTER_CONFIGS, scope)
            ) or _member_may(draft, needed, local, topic.name)


def _member_may(draft: Draft, operation: Operation, local: LocalName, topic: str) -> bool:
    binding = draft.authorizer.binding
    if binding is None or binding.virtual_cluster.name != local.virtual_cluster:
        return False
    return draft.authorizer.allows_local(operation, ResourceType.TOPIC, local.name, topic)
