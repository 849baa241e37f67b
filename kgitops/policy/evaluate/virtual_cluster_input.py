"""Requests about virtual clusters and links, as policies are asked about them."""

from dataclasses import replace
from typing import assert_never

from kgitops.model import requests as model_requests
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
)
from kgitops.policy.api import requests as policy_requests
from kgitops.policy.api.requests import Principal
from kgitops.policy.api.states import (
    VirtualClusterChange,
    VirtualClusterState,
    virtual_cluster_state,
)
from kgitops.policy.state.virtual_clusters import VirtualClusters

_FIELDS = {
    EntityType.USER: "users",
    EntityType.CLIENT_ID: "client_ids",
    EntityType.GROUP: "groups",
    EntityType.TRANSACTIONAL_ID: "transactional_ids",
}


def build_virtual_cluster_request(
    request: model_requests.CreateVirtualClusterRequest
    | model_requests.AlterVirtualClusterRequest
    | model_requests.DeleteVirtualClusterRequest
    | model_requests.CopyGroupOffsetsRequest
    | model_requests.DeleteGroupRequest,
    principal: Principal,
    virtual_clusters: VirtualClusters,
) -> policy_requests.VirtualClusterRequest:
    """The request with everything that policies may know of it."""
    name = request.virtual_cluster
    match request:
        case model_requests.CreateVirtualClusterRequest():
            return policy_requests.CreateVirtualClusterRequest(
                virtual_cluster=name,
                principal=principal,
                requested_state=VirtualClusterState(name=name, options=request.options),
            )
        case model_requests.DeleteVirtualClusterRequest():
            return policy_requests.DeleteVirtualClusterRequest(
                virtual_cluster=name, principal=principal
            )
        case model_requests.AlterVirtualClusterRequest(entity_type=EntityType.TOPIC):
            return _about_link(request, principal, virtual_clusters)
        case model_requests.AlterVirtualClusterRequest():
            return _about_member(request, principal, _state(name, virtual_clusters))
        # What becomes of a group's offsets is a change of its virtual cluster, and judged as one:
        # a policy on members must not be passed by for want of a method.
        case model_requests.CopyGroupOffsetsRequest():
            return _about_offsets(
                request,
                VirtualClusterChange.COPY_OFFSETS,
                request.source,
                principal,
                virtual_clusters,
            )
        case model_requests.DeleteGroupRequest():
            return _about_offsets(
                request, VirtualClusterChange.DELETE_GROUP, None, principal, virtual_clusters
            )
        case _:
            assert_never(request)


def _about_link(
    request: model_requests.AlterVirtualClusterRequest,
    principal: Principal,
    virtual_clusters: VirtualClusters,
) -> policy_requests.TopicLinkRequest:
    local = LocalName(request.virtual_cluster, request.entity_name or "")
    if request.change is ChangeType.REMOVE:
        topic = virtual_clusters.leads_to(request)
        return policy_requests.DeleteTopicLinkRequest(
            virtual_cluster=local.virtual_cluster,
            link=local.name,
            topic=topic,
            principal=principal,
            links=virtual_clusters.links_to(topic) - {local},
        )
    topic = virtual_clusters.leads_to(request)
    return policy_requests.CreateTopicLinkRequest(
        virtual_cluster=local.virtual_cluster,
        link=local.name,
        topic=topic,
        principal=principal,
        links=virtual_clusters.links_to(topic) - {local},
        replaces=request.replaces,
    )


def _about_member(
    request: model_requests.AlterVirtualClusterRequest,
    principal: Principal,
    current: VirtualClusterState,
) -> policy_requests.AlterVirtualClusterRequest:
    removed = request.change is ChangeType.REMOVE
    if request.options is not None:
        change = VirtualClusterChange.OPTIONS
        requested = replace(current, options=request.options)
    else:
        change = VirtualClusterChange.REMOVE if removed else VirtualClusterChange.ADD
        requested = _with_member(request, current, removed=removed)
    return policy_requests.AlterVirtualClusterRequest(
        virtual_cluster=request.virtual_cluster,
        principal=principal,
        current_state=current,
        requested_state=requested,
        change=change,
        entity_type=request.entity_type,
        entity_name=request.entity_name,
        moved_from=request.moved_from,
        adopts=request.adopts,
    )


def _with_member(
    request: model_requests.AlterVirtualClusterRequest,
    current: VirtualClusterState,
    *,
    removed: bool,
) -> VirtualClusterState:
    if request.entity_type is None or request.entity_name is None:
        return current
    field = _FIELDS[request.entity_type]
    members: frozenset[str] = getattr(current, field)
    one = {request.entity_name}
    values = {field: members - one if removed else members | one}
    return replace(current, **values)  # type: ignore[arg-type]  # (each is a set of names)


def _about_offsets(
    request: model_requests.CopyGroupOffsetsRequest | model_requests.DeleteGroupRequest,
    change: VirtualClusterChange,
    adopts: str | None,
    principal: Principal,
    virtual_clusters: VirtualClusters,
) -> policy_requests.AlterVirtualClusterRequest:
    state = _state(request.virtual_cluster, virtual_clusters)
    return policy_requests.AlterVirtualClusterRequest(
        virtual_cluster=request.virtual_cluster,
        principal=principal,
        current_state=state,
        requested_state=state,
        change=change,
        entity_type=EntityType.GROUP,
        entity_name=request.group,
        adopts=adopts,
    )


def _state(name: str, virtual_clusters: VirtualClusters) -> VirtualClusterState:
    return virtual_cluster_state(virtual_clusters.get(name) or VirtualCluster(name=name))
