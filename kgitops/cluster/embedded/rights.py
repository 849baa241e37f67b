"""Rights on virtual clusters: one question to the authorizer, asked the same way everywhere."""

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
    """Refuse what needs virtual clusters where there are none (VC-351).

    Raises:
        Refusal: as said.
    """
    if not draft.options.virtual_clusters:
        raise Refusal(
            ErrorCode.UNSUPPORTED_VERSION, "The feature virtual.clusters is at level 0 here."
        )


def may(draft: Draft, operation: Operation, virtual_cluster: str) -> bool:
    """Whether who asks may do this to the virtual cluster, or to the whole cluster (VC-101)."""
    return draft.authorizer.allows_virtual_cluster(operation, virtual_cluster)


def check_right(draft: Draft, operation: Operation, virtual_cluster: str) -> None:
    """Refuse who has not the right; whether the virtual cluster exists is not told (VC-244).

    Raises:
        Refusal: as said.
    """
    if not may(draft, operation, virtual_cluster):
        raise Refusal(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"{draft.authorizer.principal} has no {operation} on the virtual cluster "
            f"{virtual_cluster}.",
        )


# Where replicas are is the physical cluster's business (VC-152).
_NEEDED = {AlterStep.CONFIGS: Operation.ALTER_CONFIGS, AlterStep.PARTITIONS: Operation.ALTER}


@contextmanager
def by_local_name(
    draft: Draft, request: AlterTopicRequest | DeleteRecordsRequest
) -> Iterator[None]:
    """Ask for no right on the physical topic where one on its local name is enough."""
    asked = draft.authorizer
    if _is_enough(draft, request):
        draft.authorizer = asked.allowing_everything()
    try:
        yield
    finally:
        draft.authorizer = asked


def _is_enough(draft: Draft, request: AlterTopicRequest | DeleteRecordsRequest) -> bool:
    local, topic = request.local, draft.delta.topics.by_id(request.topic_id)
    if (
        local is None
        or topic is None
        or local not in draft.delta.virtual_clusters.links_to(topic.name)
    ):
        return False
    match request:
        case DeleteRecordsRequest():
            return _is_members(draft, Operation.DELETE, local, topic.name)
        case AlterTopicRequest():
            needed = _NEEDED.get(request.step)
            if needed is None:
                return False
            scope = VirtualClusterScope(local.virtual_cluster)
            return (
                needed is Operation.ALTER_CONFIGS
                and draft.authorizer.allows_request(ApiKey.INCREMENTAL_ALTER_CONFIGS, scope)
            ) or _is_members(draft, needed, local, topic.name)


def _is_members(draft: Draft, operation: Operation, local: LocalName, topic: str) -> bool:
    binding = draft.authorizer.binding
    if binding is None or binding.virtual_cluster.name != local.virtual_cluster:
        return False
    return draft.authorizer.allows_local(operation, ResourceType.TOPIC, local.name, topic)
