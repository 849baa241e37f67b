"""Requests about virtual clusters and links, as policies are asked about them."""

from dataclasses import replace
from typing import assert_never

from kgitops.model import requests as wire
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
)
from kgitops.policy.api import requests as asked
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


def about_virtual_cluster(
    request: wire.CreateVirtualClusterRequest
    | wire.AlterVirtualClusterRequest
    | wire.DeleteVirtualClusterRequest
    | wire.CopyGroupOffsetsRequest
    | wire.DeleteGroupRequest,
    principal: Principal,
    known: VirtualClusters,
) -> asked.VirtualClusterRequest:
    """The request with everything that policies may know of it."""
    name = request.virtual_cluster
    match request:
        case wire.CreateVirtualClusterRequest():
            return asked.CreateVirtualClusterRequest(
                virtual_cluster=name,
                principal=principal,
                requested_state=VirtualClusterState(name=name, options=request.options),
            )
        case wire.DeleteVirtualClusterRequest():
            return asked.DeleteVirtualClusterRequest(virtual_cluster=name, principal=principal)
        case wire.AlterVirtualClusterRequest(entity_type=EntityType.TOPIC):
            return _about_link(request, principal, known)
        case wire.AlterVirtualClusterRequest():
            return _about_member(request, principal, _state(name, known))
        # What becomes of a group's offsets is a change of its virtual cluster, and judged as one:
        # a policy on members must not be passed by for want of a method.
        case wire.CopyGroupOffsetsRequest():
            return _about_offsets(
                request, VirtualClusterChange.COPY_OFFSETS, request.source, principal, known
            )
        case wire.DeleteGroupRequest():
            return _about_offsets(
                request, VirtualClusterChange.DELETE_GROUP, None, principal, known
            )
        case _:
            assert_never(request)


def _about_link(
    request: wire.AlterVirtualClusterRequest, principal: Principal, known: VirtualClusters
) -> asked.TopicLinkRequest:
    local = LocalName(request.virtual_cluster, request.entity_name or "")
    if request.change is ChangeType.REMOVE:
        topic = known.leads_to(request)
        return asked.DeleteTopicLinkRequest(
            virtual_cluster=local.virtual_cluster,
            link=local.name,
            topic=topic,
            principal=principal,
            links=known.links_to(topic) - {local},
        )
    topic = known.leads_to(request)
    return asked.CreateTopicLinkRequest(
        virtual_cluster=local.virtual_cluster,
        link=local.name,
        topic=topic,
        principal=principal,
        links=known.links_to(topic) - {local},
        replaces=request.replaces,
    )


def _about_member(
    request: wire.AlterVirtualClusterRequest, principal: Principal, current: VirtualClusterState
) -> asked.AlterVirtualClusterRequest:
    removed = request.change is ChangeType.REMOVE
    if request.options is not None:
        change = VirtualClusterChange.OPTIONS
        requested = replace(current, options=request.options)
    else:
        change = VirtualClusterChange.REMOVE if removed else VirtualClusterChange.ADD
        requested = _with_member(request, current, removed=removed)
    return asked.AlterVirtualClusterRequest(
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
    request: wire.AlterVirtualClusterRequest, current: VirtualClusterState, *, removed: bool
) -> VirtualClusterState:
    if request.entity_type is None or request.entity_name is None:
        return current
    field = _FIELDS[request.entity_type]
    members: frozenset[str] = getattr(current, field)
    one = {request.entity_name}
    values = {field: members - one if removed else members | one}
    return replace(current, **values)  # type: ignore[arg-type]  # (each is a set of names)


def _about_offsets(
    request: wire.CopyGroupOffsetsRequest | wire.DeleteGroupRequest,
    change: VirtualClusterChange,
    adopts: str | None,
    principal: Principal,
    known: VirtualClusters,
) -> asked.AlterVirtualClusterRequest:
    state = _state(request.virtual_cluster, known)
    return asked.AlterVirtualClusterRequest(
        virtual_cluster=request.virtual_cluster,
        principal=principal,
        current_state=state,
        requested_state=state,
        change=change,
        entity_type=EntityType.GROUP,
        entity_name=request.group,
        adopts=adopts,
    )


def _state(name: str, known: VirtualClusters) -> VirtualClusterState:
    return virtual_cluster_state(known.get(name) or VirtualCluster(name=name))
