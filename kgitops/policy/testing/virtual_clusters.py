"""Builders of the requests for virtual clusters, their members and their links."""

from collections.abc import Iterable

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import ChangeType, VirtualCluster
from kgitops.policy.api.requests import (
    AlterVirtualClusterRequest,
    CreateTopicLinkRequest,
    CreateVirtualClusterRequest,
    DeleteTopicLinkRequest,
    DeleteVirtualClusterRequest,
)
from kgitops.policy.building import link_request, only_member, state_of
from kgitops.policy.testing.verdicts import NOBODY, asked


def create_virtual_cluster(name: str, *, principal: str = NOBODY) -> CreateVirtualClusterRequest:
    """A virtual cluster is asked for."""
    request = req.CreateVirtualClusterRequest(virtual_cluster=name)
    return asked(CreateVirtualClusterRequest, request, principal)


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
    principal: str = NOBODY,
) -> AlterVirtualClusterRequest:
    """One member of ``before`` is added, or removed.

    Raises:
        ValueError: not exactly one member is given.
    """
    member = only_member(user, client_id, group, transactional_id)
    if member is None:
        raise ValueError("give exactly one of user, client_id, group and transactional_id")
    request = req.AlterVirtualClusterRequest(
        virtual_cluster=before.name,
        change=ChangeType.REMOVE if remove else ChangeType.ADD,
        entity_type=member[0],
        entity_name=member[1],
        moved_from=moved_from,
        adopts=adopts,
    )
    state = state_of(virtual_clusters=[before])
    return asked(AlterVirtualClusterRequest, request, principal, state)


def delete_virtual_cluster(name: str, *, principal: str = NOBODY) -> DeleteVirtualClusterRequest:
    """A virtual cluster is to be deleted."""
    request = req.DeleteVirtualClusterRequest(virtual_cluster=name)
    return asked(DeleteVirtualClusterRequest, request, principal)


def create_topic_link(
    virtual_cluster: str,
    link: str,
    topic: str,
    *,
    among: Iterable[VirtualCluster] = (),
    principal: str = NOBODY,
) -> CreateTopicLinkRequest:
    """A link to a physical topic is asked for; ``among`` are the virtual clusters that exist."""
    request = link_request(virtual_cluster, link, topic)
    state = state_of(virtual_clusters=among)
    return asked(CreateTopicLinkRequest, request, principal, state)


def delete_topic_link(
    virtual_cluster: str,
    link: str,
    topic: str,
    *,
    among: Iterable[VirtualCluster] = (),
    principal: str = NOBODY,
) -> DeleteTopicLinkRequest:
    """A link to a physical topic is to be removed."""
    request = link_request(virtual_cluster, link, topic, change=ChangeType.REMOVE)
    state = state_of(virtual_clusters=among)
    return asked(DeleteTopicLinkRequest, request, principal, state)
