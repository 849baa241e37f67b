"""Rights that come along with a member, and old ones that go for it: what must be so of them."""

from collections.abc import Mapping
from urllib.parse import unquote

from kgitops.model.registry import Json
from kgitops.model.requests import DeleteAclRequest
from kgitops.model.resources.addresses import split_scoped_address
from kgitops.plan.document.plan import Change
from kgitops.plan.normal_form import binding_of
from kgitops.plan.ownership import Ownership, OwnershipStatus


def copied_for(change: Change) -> frozenset[str]:
    """The members for which the change deletes an old right (VC-191)."""
    requests = [planned.request for planned in change.requests]
    asking = [it.migrated_to for it in requests if isinstance(it, DeleteAclRequest)]
    return frozenset(it for it in asking if it is not None)


def origin_problem(
    change: Change, origin: Json, changes: Mapping[str, Change], ownership: Ownership
) -> str | None:
    """Why the ACL is no copy for the member that ``origin`` names (VC-197); None: it is one."""
    if not isinstance(origin, dict) or origin.keys() != {"copiedFrom", "member"}:
        return "was copied from nowhere"
    member = origin["member"]
    at = split_scoped_address(member) if isinstance(member, str) else None
    made = changes[member].owner_after if member in changes else None
    mine = ownership.status(member) is OwnershipStatus.MINE
    owner = made or (ownership.owner(member) if mine else None)
    if at is None or at.segment != "user" or owner is None or change.owner_after is None:
        return f"was copied for {member}, which is not this project's"
    if owner.last_applied.get("copyAclsFrom") != origin["copiedFrom"] or not origin["copiedFrom"]:
        return f"was copied for {member}, which asks for no copy from there"
    binding = binding_of(change.owner_after.last_applied)
    if (binding.virtual_cluster, binding.principal) != (at.virtual_cluster, unquote(at.tail)):
        return f"was copied for {member}, whose right it is not"
    return None
