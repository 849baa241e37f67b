"""Requests about virtual clusters, as the contract's tests make them."""

from collections.abc import Mapping

from cluster_contract.contract import await_state, send

from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import Assignment, RequestedTopicState
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    TopicLink,
    VirtualCluster,
    generated_topic_name,
)

TOPIC, GROUP, USER = EntityType.TOPIC, EntityType.GROUP, EntityType.USER
CLIENT_ID, TRANSACTIONAL_ID = EntityType.CLIENT_ID, EntityType.TRANSACTIONAL_ID
TWO: Assignment = ((1, 2), (2, 3))


def make(name: str) -> req.CreateVirtualClusterRequest:
    return req.CreateVirtualClusterRequest(virtual_cluster=name)


def drop(name: str) -> req.DeleteVirtualClusterRequest:
    return req.DeleteVirtualClusterRequest(virtual_cluster=name)


def add(
    virtual_cluster: str, kind: EntityType, name: str, **more: object
) -> req.AlterVirtualClusterRequest:
    return req.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        entity_type=kind,
        entity_name=name,
        **more,  # type: ignore[arg-type]
    )


def remove(virtual_cluster: str, kind: EntityType, name: str) -> req.AlterVirtualClusterRequest:
    return add(virtual_cluster, kind, name, change=ChangeType.REMOVE)


def creation_in(
    virtual_cluster: str,
    name: str,
    assignment: Assignment = TWO,
    configs: Mapping[str, str] | None = None,
) -> req.CreateTopicRequest:
    """A topic made on behalf of a virtual cluster."""
    new = generated_topic_name(req.NEW_UUID, name)
    return req.CreateTopicRequest(
        topic=new,
        requested_state=RequestedTopicState(
            name=new,
            topic_id=None,
            assignment=assignment,
            configs=configs or {},
            requested_configs=configs or {},
        ),
        local=LocalName(virtual_cluster, name),
    )


def deletion(
    state: ClusterState, topic: str, local: LocalName | None = None
) -> req.DeleteTopicRequest:
    return req.DeleteTopicRequest(
        topic=topic, topic_id=state.topics[topic].topic_id or "", local=local
    )


def acl_in(
    virtual_cluster: str,
    kind: ResourceType,
    name: str,
    operation: Operation,
    *,
    principal: str = "User:sales-app",
    pattern: PatternType = PatternType.LITERAL,
    permission: PermissionType = PermissionType.ALLOW,
    scope: PatternType = PatternType.LITERAL,
) -> AclBinding:
    return AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=permission,
        virtual_cluster=virtual_cluster,
        virtual_cluster_pattern_type=scope,
    )


def right_on(virtual_cluster: str, principal: str = "User:sales-admin") -> AclBinding:
    """VC-140: a right on a virtual cluster itself is a global binding on the resource CLUSTER."""
    return acl_in(
        CLUSTER_NAME,
        ResourceType.CLUSTER,
        virtual_cluster,
        Operation.ALTER_VIRTUAL_CLUSTER,
        principal=principal,
    )


def quota_in(
    parts: Mapping[str, str | None], values: Mapping[str, float | None]
) -> req.AlterClientQuotaRequest:
    return req.AlterClientQuotaRequest(entity=make_entity(parts), quotas=values)


def all_done(cluster: Cluster, *requests: req.Request) -> ClusterState:
    """Carry out one after the other; the state after the last."""
    for request in requests:
        result = send(cluster, request)
        assert result.ok, (request, result)
    return cluster.read_state()


def described(cluster: Cluster, name: str) -> VirtualCluster:
    return cluster.read_state().virtual_clusters[name]


def link_of(state: ClusterState, local: LocalName) -> TopicLink:
    return state.virtual_clusters[local.virtual_cluster].links[local.name]


def linked(cluster: Cluster, virtual_cluster: str, name: str) -> TopicLink:
    """A topic made in a virtual cluster, once it shows."""
    local = LocalName(virtual_cluster, name)
    result = send(cluster, creation_in(virtual_cluster, name))
    assert result.ok, result

    def shows(state: ClusterState) -> bool:
        return link_of(state, local).topic in state.topics

    return link_of(await_state(cluster, shows), local)
