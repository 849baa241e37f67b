"""CreateAcls, DeleteAcls, DescribeAcls, and KIP-4's AlterAcls."""

from collections.abc import Sequence

from kgitops.cluster.embedded.client.bound import acls as bound_acls
from kgitops.cluster.embedded.client.calls.connection import Connection, either
from kgitops.cluster.embedded.controls import acls as acl_control
from kgitops.cluster.embedded.controls.acl_filter import AclFilter
from kgitops.cluster.embedded.controls.acls import AclAction, AclResource, MatchedAcls
from kgitops.cluster.embedded.draft import TOO_LARGE
from kgitops.model.resources.acls import AclBinding
from kgitops.model.results import RequestResult


class AclCalls(Connection):
    """What is asked about ACLs; a bound caller means those of its virtual cluster."""

    def create_acls(self, bindings: Sequence[AclBinding | AclFilter]) -> list[RequestResult]:
        """Add ACL bindings, one result each, in order."""
        decide = either(
            lambda draft: acl_control.create_acls(draft, bindings),
            lambda tenant: bound_acls.create_acls(tenant, bindings),
        )
        return self._in_order(bindings, decide, TOO_LARGE)

    def delete_acls(self, filters: Sequence[AclFilter]) -> list[MatchedAcls]:
        """Delete every binding that a filter means, and say which those were."""
        decide = either(
            lambda draft: acl_control.delete_acls(draft, filters),
            lambda tenant: bound_acls.delete_acls(tenant, filters),
        )
        return self._in_order(filters, decide, MatchedAcls(result=TOO_LARGE))

    def describe_acls(self, wanted: AclFilter) -> MatchedAcls:
        """The bindings that the filter means."""
        return self._read(
            either(
                lambda draft: acl_control.describe_acls(draft, wanted),
                lambda tenant: bound_acls.describe_acls(tenant, wanted),
            )
        )

    def alter_acls(
        self, requests: Sequence[tuple[AclResource, Sequence[AclAction]]]
    ) -> dict[AclResource, list[RequestResult]]:
        """KIP-4's AlterAcls, never shipped: deletions first, whatever the order (A4-84)."""
        return self._ask(
            either(
                lambda draft: acl_control.alter_acls(draft, requests),
                lambda tenant: bound_acls.alter_acls(tenant, requests),
            )
        )
