"""ACLs as a bound caller speaks of them: what says nothing of a scope is in its virtual cluster.

The resource CLUSTER has no scope: its name is a virtual cluster already (VC-140).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from kgitops.cluster.embedded.controls import acls as acl_control
from kgitops.cluster.embedded.controls.acl_filter import AclFilter
from kgitops.cluster.embedded.controls.acls import AclAction, AclResource, MatchedAcls
from kgitops.cluster.embedded.namespaces import VirtualClusterNamespace
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, ResourceType
from kgitops.model.results import RequestResult

T = TypeVar("T", bound=AclBinding | AclFilter)


def create_acls(
    tenant: VirtualClusterNamespace, bindings: Sequence[AclBinding | AclFilter]
) -> list[RequestResult]:
    """One result for each binding, in order."""
    return acl_control.create_acls(tenant.draft, [_here(tenant, binding) for binding in bindings])


def delete_acls(tenant: VirtualClusterNamespace, filters: Sequence[AclFilter]) -> list[MatchedAcls]:
    """One outcome for each filter, in order."""
    return acl_control.delete_acls(tenant.draft, [_here(tenant, wanted) for wanted in filters])


def describe_acls(tenant: VirtualClusterNamespace, wanted: AclFilter) -> MatchedAcls:
    """The bindings that the filter means, of this virtual cluster (VC-159)."""
    return acl_control.describe_acls(tenant.draft, _here(tenant, wanted))


def alter_acls(
    tenant: VirtualClusterNamespace, requests: Sequence[tuple[AclResource, Sequence[AclAction]]]
) -> dict[AclResource, list[RequestResult]]:
    """KIP-4's AlterAcls, which takes a right on the physical cluster."""
    here = [
        (resource, [replace(action, binding=_here(tenant, action.binding)) for action in actions])
        for resource, actions in requests
    ]
    return acl_control.alter_acls(tenant.draft, here)


def _here(tenant: VirtualClusterNamespace, asked: T) -> T:
    if asked.resource_type is ResourceType.CLUSTER or asked.virtual_cluster != CLUSTER_NAME:
        return asked
    return replace(asked, virtual_cluster=tenant.name)
