"""KIP-1134's five requests, under private keys: experimental, as the proposal is."""

from kgitops.cluster.embedded.client.virtual_clusters import (
    DescribedVirtualCluster,
    NewVirtualCluster,
)
from kgitops.cluster.embedded.client.virtual_clusters_batch import (
    VirtualClusterAlteration,
    VirtualClusterEntityChange,
)
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.serve.answers.values import message_of
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message


def create_virtual_clusters(call: ApiCall, request: Message) -> Message:
    """One result for each name."""
    results = call.admin.create_virtual_clusters(
        [NewVirtualCluster(name=row.name) for row in request.virtual_clusters],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
    )
    response = messages.CreateVirtualClustersResponse
    return response(
        virtual_clusters=[
            response.CreatableVirtualClustersResult(
                name=name, error_code=result.code, error_message=message_of(result)
            )
            for name, result in results.items()
        ]
    )


def alter_virtual_clusters(call: ApiCall, request: Message) -> Message:
    """One result for each change of each virtual cluster."""
    alterations = [
        VirtualClusterAlteration(
            virtual_cluster_name=row.name, changes=list(map(_change, row.resources))
        )
        for row in request.virtual_cluster
    ]
    results = call.admin.alter_virtual_clusters(
        alterations, timeout_ms=request.timeout_ms, validate_only=request.validate_only
    )
    response = messages.AlterVirtualClustersResponse
    answered = []
    for row, alteration in zip(request.virtual_cluster, alterations, strict=True):
        of_name = results[row.name]
        resources = []
        for resource, change in zip(row.resources, alteration.changes, strict=True):
            result = of_name[change.key]
            resources.append(
                response.VirtualClusterResource(
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                    resource_operation=resource.resource_operation,
                    error_code=result.code,
                    error_message=message_of(result),
                )
            )
        answered.append(response.VirtualClusterData(name=row.name, resources=resources))
    return response(virtual_cluster=answered)


def delete_virtual_clusters(call: ApiCall, request: Message) -> Message:
    """One result for each name."""
    results = call.admin.delete_virtual_clusters(
        [row.name for row in request.virtual_clusters],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
    )
    response = messages.DeleteVirtualClustersResponse
    return response(
        responses=[
            response.DeletableVirtualClusterResult(
                name=name, error_code=result.code, error_message=message_of(result)
            )
            for name, result in results.items()
        ]
    )


def list_virtual_clusters(call: ApiCall, request: Message) -> Message:  # noqa: ARG001 (it is empty)
    """The names of those that the client may see."""
    response = messages.ListVirtualClustersResponse
    try:
        names = call.admin.list_virtual_clusters()
    except Refusal as refusal:
        return response(error_code=refusal.result.code)
    return response(virtual_clusters=[response.ListedVirtualCluster(name=name) for name in names])


def describe_virtual_clusters(call: ApiCall, request: Message) -> Message:
    """The contents of each, or the error in their place."""
    described = call.admin.describe_virtual_clusters([row.name for row in request.virtual_clusters])
    return messages.DescribeVirtualClustersResponse(
        virtual_clusters=[_described(name, outcome) for name, outcome in described.items()]
    )


def _change(row: Message) -> VirtualClusterEntityChange:
    """A change; a topic is named by its link, and beside it by its physical name (VC-233).

    A link that is added without one leads to the topic of its own name; for a link that is
    removed, the topic need not be said.
    """
    change = VirtualClusterEntityChange(
        resource_type=row.resource_type,
        entity_name=row.resource_name,
        change_type=row.resource_operation,
    )
    if change.entity_type is not EntityType.TOPIC:
        return change
    added = change.change is ChangeType.ADD
    return VirtualClusterEntityChange(
        resource_type=row.resource_type,
        entity_name=row.physical_name or (row.resource_name if added else ""),
        change_type=row.resource_operation,
        link_name=row.resource_name,
    )


def _described(name: str, outcome: DescribedVirtualCluster) -> Message:
    response = messages.DescribeVirtualClustersResponse
    found = outcome.description
    if found is None:
        return response.VirtualClusterResults(name=name, error_code=outcome.result.code)
    return response.VirtualClusterResults(
        name=name,
        topic_links=[
            response.TopicLink(link_name=link.link_name, physical_name=link.topic_name)
            for link in found.topic_links
        ],
        users=list(found.user_links),
        client_ids=list(found.client_links),
        transactional_ids=list(found.transactional_id_links),
        consumer_groups=list(found.group_links),
    )
