"""ACLs that were copied into a virtual cluster, as documents (VC-197)."""

from itertools import groupby

from kgitops.desired.state import Project
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.plan.ownership import build_ownership
from kgitops.workflow.commands.member_options import known
from kgitops.workflow.export.acls import acl_documents
from kgitops.workflow.export.layout import Document
from kgitops.workflow.export.scope import ExportScope


def copied_acl_documents(
    state: ClusterState, virtual_cluster: str, *, all_: bool
) -> list[Document]:
    """Those of ``virtual_cluster`` that a project copied; with ``all_`` every one.

    Raises:
        KgitopsError: there is no such virtual cluster.
    """
    known(virtual_cluster, state)
    found = [
        binding
        for binding in sorted(state.acls, key=lambda it: (it.principal, acl_address(it)))
        if binding.virtual_cluster == virtual_cluster and (all_ or _is_copied(binding, state))
    ]
    nobody = ExportScope(build_ownership(Project(name=COMMAND_PROJECT), None))
    return [
        document
        for principal, bindings in groupby(found, key=lambda it: it.principal)
        for document in acl_documents(principal, bindings, nobody)
    ]


def _is_copied(binding: AclBinding, state: ClusterState) -> bool:
    owner = state.registry.owners.get(acl_address(binding)) if state.registry else None
    return owner is not None and "origin" in owner.last_applied
