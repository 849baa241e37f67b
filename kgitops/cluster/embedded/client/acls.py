"""CreateAcls, DeleteAcls, DescribeAcls, and KIP-4's AlterAcls."""

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.controls import acls as acl_control
from kgitops.cluster.embedded.controls.acl_filter import AclFilter
from kgitops.cluster.embedded.controls.acls import (
    AclAction,
    AclResource,
    IllegalAcl,
    MatchedAcls,
    NewAcl,
)
from kgitops.cluster.embedded.draft import TOO_LARGE, Draft
from kgitops.cluster.embedded.namespaces import namespace
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, ResourceType
from kgitops.model.results import RequestResult

T = TypeVar("T", bound=AclBinding | AclFilter | IllegalAcl)


class AclCalls(Connection):
    """Calls about ACLs; a bound caller's bindings and filters are of its virtual cluster."""

    def create_acls(self, bindings: Sequence[NewAcl]) -> list[RequestResult]:
        """Add ACL bindings, one result each, in order."""
        return self._decide_in_order(
            bindings,
            lambda draft: acl_control.create_acls(draft, [_in_scope(draft, b) for b in bindings]),
            TOO_LARGE,
        )

    def delete_acls(self, filters: Sequence[AclFilter | IllegalAcl]) -> list[MatchedAcls]:
        """Delete every binding that a filter matches, and list them; one outcome each, in order."""
        return self._decide_in_order(
            filters,
            lambda draft: acl_control.delete_acls(draft, [_in_scope(draft, f) for f in filters]),
            MatchedAcls(result=TOO_LARGE),
        )

    def describe_acls(self, acl_filter: AclFilter | IllegalAcl) -> MatchedAcls:
        """The bindings that the filter matches (VC-159)."""
        return self._read(
            lambda draft: acl_control.describe_acls(draft, _in_scope(draft, acl_filter))
        )

    def alter_acls(
        self, requests: Sequence[tuple[AclResource, Sequence[AclAction]]]
    ) -> dict[AclResource, list[RequestResult]]:
        """KIP-4's AlterAcls, never shipped: deletions first, whatever the order (A4-84).

        It takes a right on the physical cluster.
        """
        return self._ask(
            lambda draft: acl_control.alter_acls(draft, _all_in_scope(draft, requests))
        )


def _all_in_scope(
    draft: Draft, requests: Sequence[tuple[AclResource, Sequence[AclAction]]]
) -> list[tuple[AclResource, list[AclAction]]]:
    return [
        (
            resource,
            [replace(action, binding=_in_scope(draft, action.binding)) for action in actions],
        )
        for resource, actions in requests
    ]


def _in_scope(draft: Draft, acl: T) -> T:
    """Put a bound caller's binding or filter that names no scope into its virtual cluster.

    The resource CLUSTER has no scope: its name is a virtual cluster already (VC-140).
    """
    virtual_cluster = namespace(draft).virtual_cluster
    if isinstance(acl, IllegalAcl):
        return acl
    if virtual_cluster is None or acl.resource_type is ResourceType.CLUSTER:
        return acl
    if acl.virtual_cluster != CLUSTER_NAME:
        return acl
    return replace(acl, virtual_cluster=virtual_cluster)
