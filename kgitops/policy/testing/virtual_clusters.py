"""Builders of virtual clusters, and of the requests for them, their members and their links."""

from collections.abc import Iterable, Mapping

from kgitops.model import requests as wire
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    TopicLink,
    VirtualCluster,
    as_principal,
)
from kgitops.policy.api.requests import (
    ANONYMOUS,
    AlterVirtualClusterRequest,
    CreateTopicLinkRequest,
    CreateVirtualClusterRequest,
    DeleteTopicLinkRequest,
    DeleteVirtualClusterRequest,
    Principal,
    VirtualClusterRequest,
)
from kgitops.policy.api.states import VirtualClusterState
from kgitops.policy.evaluate.virtual_cluster_input import build_virtual_cluster_request
from kgitops.policy.state.virtual_clusters import VirtualClusters

_NOBODY = str(ANONYMOUS)


def virtual_cluster(
    name: str,
    *,
    users: Iterable[str] = (),
    client_ids: Iterable[str] = (),
    groups: Iterable[str] = (),
    transactional_ids: Iterable[str] = (),
    links: Mapping[str, str] | None = None,
) -> VirtualCluster:
    """One that exists: users as ``jane`` or ``User:jane``, links to physical topics by name."""
    return VirtualCluster(
        name=name,
        users=frozenset(map(as_principal, users)),
        client_ids=frozenset(client_ids),
        groups=dict.fromkeys(groups),
        transactional_ids=frozenset(transactional_ids),
        links={link: TopicLink(name=link, topic=topic) for link, topic in (links or {}).items()},
    )


def create_virtual_cluster(name: str, *, principal: str = _NOBODY) -> CreateVirtualClusterRequest:
    """A virtual cluster is asked for."""
    return CreateVirtualClusterRequest(
        virtual_cluster=name,
        principal=Principal.parse(principal),
        requested_state=VirtualClusterState(name=name),
    )


def alter_virtual_cluster(
    before: VirtualCluster,
    *,
    user: str | None = None,
    client_id: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
    remove: bool = False,
    moved_from: str | None = None,
    adopts: str | None = None,
    principal: str = _NOBODY,
) -> AlterVirtualClusterRequest:
    """One member of ``before`` is added, or removed.

    Raises:
        ValueError: not exactly one member is given.
    """
    members = [
        (entity_type, name)
        for entity_type, name in (
            (EntityType.USER, as_principal(user) if user else None),
            (EntityType.CLIENT_ID, client_id),
            (EntityType.GROUP, group),
            (EntityType.TRANSACTIONAL_ID, transactional_id),
        )
        if name
    ]
    if len(members) != 1:
        raise ValueError("give exactly one of user, client_id, group and transactional_id")
    request = wire.AlterVirtualClusterRequest(
        virtual_cluster=before.name,
        change=ChangeType.REMOVE if remove else ChangeType.ADD,
        entity_type=members[0][0],
        entity_name=members[0][1],
        moved_from=moved_from,
        adopts=adopts,
    )
    request_to_judge = _asked(request, [before], principal)
    assert isinstance(request_to_judge, AlterVirtualClusterRequest)  # noqa: S101 (what a member gives)
    return request_to_judge


def delete_virtual_cluster(name: str, *, principal: str = _NOBODY) -> DeleteVirtualClusterRequest:
    """A virtual cluster is to be deleted."""
    return DeleteVirtualClusterRequest(virtual_cluster=name, principal=Principal.parse(principal))


def create_topic_link(
    virtual_cluster: str,
    link: str,
    topic: str,
    *,
    among: Iterable[VirtualCluster] = (),
    principal: str = _NOBODY,
) -> CreateTopicLinkRequest:
    """A link to a physical topic is asked for; ``among`` are the virtual clusters that exist."""
    request = wire.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        entity_type=EntityType.TOPIC,
        entity_name=link,
        topic=topic,
    )
    request_to_judge = _asked(request, among, principal)
    assert isinstance(request_to_judge, CreateTopicLinkRequest)  # noqa: S101 (what a link gives)
    return request_to_judge


def delete_topic_link(
    virtual_cluster: str,
    link: str,
    topic: str,
    *,
    among: Iterable[VirtualCluster] = (),
    principal: str = _NOBODY,
) -> DeleteTopicLinkRequest:
    """A link to a physical topic is to be removed."""
    request = wire.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=link,
        topic=topic,
    )
    request_to_judge = _asked(request, among, principal)
    assert isinstance(request_to_judge, DeleteTopicLinkRequest)  # noqa: S101 (what a link gives)
    return request_to_judge


def _asked(
    request: wire.AlterVirtualClusterRequest, among: Iterable[VirtualCluster], principal: str
) -> VirtualClusterRequest:
    virtual_clusters = VirtualClusters({one.name: one for one in among})
    return build_virtual_cluster_request(request, Principal.parse(principal), virtual_clusters)
