"""CreateVirtualClusters, AlterVirtualClusters and DeleteVirtualClusters, one change a request."""

from collections.abc import Mapping
from typing import assert_never

from kgitops.cluster.kafka.answers import NOT_ANSWERED, SEND_MS, TIMEOUT_MS, result_of
from kgitops.cluster.kafka.transport.virtual_cluster_requests import send
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.wire import messages

VirtualClusterChange = (
    req.CreateVirtualClusterRequest
    | req.AlterVirtualClusterRequest
    | req.DeleteVirtualClusterRequest
)
# Kafka's codes of resource types; KIP-1134 has none for client ids, and theirs is ours (VC-239).
_RESOURCE_TYPES: Mapping[EntityType, int] = {
    EntityType.TOPIC: 2,
    EntityType.GROUP: 3,
    EntityType.TRANSACTIONAL_ID: 5,
    EntityType.USER: 7,
    EntityType.CLIENT_ID: 8,
}
_OPERATIONS: Mapping[ChangeType, int] = {ChangeType.ADD: 0, ChangeType.REMOVE: 1}


def change_virtual_cluster(
    wire: Wire, request: VirtualClusterChange, *, validate_only: bool
) -> RequestResult:
    """Carry out one change of a virtual cluster, or let brokers only validate it.

    Raises:
        LockedError: the lease expired before it was sent.
        UnreachableError: no answer; what happened is unknown and must be looked up.
    """
    name = request.virtual_cluster
    match request:
        case req.CreateVirtualClusterRequest():
            api, create = "CreateVirtualClusters", messages.CreateVirtualClustersRequest
            message = create(virtual_clusters=[create.CreatableVirtualCluster(name=name)])
        case req.DeleteVirtualClusterRequest():
            api, delete = "DeleteVirtualClusters", messages.DeleteVirtualClustersRequest
            message = delete(virtual_clusters=[delete.DeletableVirtualCluster(name=name)])
        case req.AlterVirtualClusterRequest():
            problem = _problem(request)
            if problem:
                return RequestResult(code=ErrorCode.INVALID_REQUEST, message=problem)
            api = "AlterVirtualClusters"
            message = messages.AlterVirtualClustersRequest(virtual_cluster=_alterations(request))
        case _:
            assert_never(request)
    message.timeout_ms, message.validate_only = TIMEOUT_MS, validate_only
    answer = send(wire, api, message, timeout_ms=SEND_MS, may_repeat=validate_only)
    results = [result_of(row.error_code, row.error_message) for row in _rows(api, answer)]
    # An addition that fails says why; the removal that belongs to it only that it was not tried.
    failures = [result for result in results if not result.ok]
    causes = [it for it in failures if it.code is not ErrorCode.OPERATION_NOT_ATTEMPTED]
    return next(iter((*causes, *failures, *results)), NOT_ANSWERED)


def _rows(api: str, answer: Message) -> list[Message]:
    match api:
        case "CreateVirtualClusters":
            return list(answer.virtual_clusters)
        case "DeleteVirtualClusters":
            return list(answer.responses)
        case _:
            return [row for altered in answer.virtual_cluster for row in altered.resources]


def _problem(request: req.AlterVirtualClusterRequest) -> str | None:
    """The reason why KIP-1134's request can't carry this change, or None."""
    if request.adopts is not None:
        return (
            "KIP-1134's requests can't name a group to take over; leave out --adopt: a group takes "
            "over the global group of its own name"
        )
    if request.entity_type is None or request.target is not None:
        return "KIP-1134's requests carry only members, and links by their physical topics"
    return None


def _alterations(request: req.AlterVirtualClusterRequest) -> list[Message]:
    """One virtual cluster's changes, after those of the one that it takes a member from."""
    changes = [_change(request, request.change, request.topic)]
    before: list[Message] = []
    if request.replaces is not None:
        changes.insert(0, _change(request, ChangeType.REMOVE, request.replaces))
    row = messages.AlterVirtualClustersRequest.VirtualClusterData
    if request.moved_from is not None:
        removal = _change(request, ChangeType.REMOVE, None)
        before = [row(name=request.moved_from, resources=[removal])]
    return [*before, row(name=request.virtual_cluster, resources=changes)]


def _change(
    request: req.AlterVirtualClusterRequest, change: ChangeType, topic: str | None
) -> Message:
    if request.entity_type is None:
        raise ValueError("only a change of an entity has a row")
    return messages.AlterVirtualClustersRequest.VirtualClusterResource(
        resource_type=_RESOURCE_TYPES[request.entity_type],
        resource_name=request.entity_name,
        resource_operation=_OPERATIONS[change],
        physical_name=topic,
    )
