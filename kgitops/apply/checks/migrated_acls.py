"""Old rights that a plan deletes though nobody manages them: only what the member has as well."""

from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import SafetyError
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest, Request
from kgitops.model.resources.addresses import acl_address, split_scoped_address
from kgitops.plan.document.plan import Change, Plan
from kgitops.plan.link_index import PlannedLinks
from kgitops.plan.virtual_clusters.copied_acls import AclTranslation


def check_migrated(plan: Plan, changes: Sequence[Change], state: ClusterState) -> None:
    """What ``changes`` delete for a member is its own right, and stands in its virtual cluster.

    A plan file says for whom it deletes, and whoever can write one can say anything.

    Raises:
        SafetyError: it is somebody else's, or the member would lose it (VC-191).
    """
    deleted = [it for it in _requests(changes) if isinstance(it, DeleteAclRequest)]
    asked = [request for request in deleted if request.migrated_to is not None]
    if not asked:
        return
    made = {it.binding for it in _requests(plan.changes) if isinstance(it, CreateAclRequest)}
    translation = AclTranslation(state, PlannedLinks(state, plan.changes))
    for request in asked:
        member, binding = split_scoped_address(request.migrated_to or ""), request.binding
        own = member and member.segment == "user" and unquote(member.tail) == binding.principal
        stands = translation.translate(binding, member.virtual_cluster) if member and own else ()
        if not stands or not all(acl in state.acls or acl in made for acl in stands):
            raise SafetyError(
                f"{acl_address(binding)} is to be deleted because {request.migrated_to} has the "
                "same right, which is not so; make a new plan"
            )


def _requests(changes: Iterable[Change]) -> Iterable[Request]:
    return (planned.request for change in changes for planned in change.requests)
