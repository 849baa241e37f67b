"""The ACLs that were copied for the members of a virtual cluster, as documents."""

from itertools import groupby

from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import Project
from kgitops.kinds.acls.exported import acl_documents
from kgitops.kinds.exports import Document, ExportScope
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.plan.ownership import build_ownership
from kgitops.workflow.commands.member_options import find_virtual_cluster


def copied_acl_documents(
    state: ClusterState, virtual_cluster: str, *, all_: bool
) -> list[Document]:
    """Export the ACLs of ``virtual_cluster`` that a project copied, or all (VC-197).

    Raises:
        KgitopsError: there is no such virtual cluster.
    """
    find_virtual_cluster(virtual_cluster, state)
    bindings = [
        binding
        for binding in sorted(state.acls, key=lambda it: (it.principal, acl_address(it)))
        if binding.virtual_cluster == virtual_cluster and (all_ or _is_copied(binding, state))
    ]
    unmanaged = ExportScope(build_ownership(Project(name=COMMAND_PROJECT), None))
    return [
        document
        for principal, group in groupby(bindings, key=lambda it: it.principal)
        for document in acl_documents(principal, group, unmanaged)
    ]


def _is_copied(binding: AclBinding, state: ClusterState) -> bool:
    owner = state.registry.owners.get(acl_address(binding)) if state.registry else None
    return owner is not None and ORIGIN in owner.last_applied
