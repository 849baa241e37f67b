"""The values shown of ACL bindings."""

from urllib.parse import unquote

from kgitops.desired.last_applied import ORIGIN
from kgitops.model.json.declared import acl_view
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    EVERYONE,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import split_scoped_address
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change
from kgitops.plan.document.risks import Risk
from kgitops.plan.removal import ALREADY_GONE
from kgitops.plan.shown.values import (
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    owner_after,
    reason_of_removal,
    releases_ownership,
    removed,
    requests_of,
)
from kgitops.plan.virtual_clusters.copied_acls import of_source

_IN_PART = "; it exists only in part on the cluster, and the rest is removed as well"


def shown_acl(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of one binding."""
    del around
    (request,) = requests_of(change) or (None,)
    if isinstance(request, DeleteAclRequest):
        if request.migrated_to is not None:
            return _migrated(request.migrated_to)
        denies = request.binding.permission_type is PermissionType.DENY
        risk = risks.ACL_DENY_LIFTED if denies else risks.ACL_REVOKE
        return _removed(change, risk, "" if change.before else _IN_PART)
    if releases_ownership(change):
        return _removed(change, risks.ACL_FORGET, "" if change.before else ALREADY_GONE)
    if change.before is not None:
        adoption = risks.ACL_ADOPT if is_adopted(change) else None
        return altered(change, after=change.before, adoption=adoption)
    if not isinstance(request, CreateAclRequest):
        raise ContradictionError("is not created by its request")
    first = {risks.ACL_FIRST} if basis_of(change).first_acl else set()
    return created(
        change,
        after=acl_view(request.binding),
        risky={_grant_risk(request.binding), *first},
        because=_because(change, request.binding),
    )


def _because(change: Change, binding: AclBinding) -> str:
    origin = owner_after(change).last_applied.get(ORIGIN)
    if not origin:
        return "it is declared"
    source = of_source(str(origin["copiedFrom"]))
    return f"{binding.principal} has the right in {source}, and takes it along"


def _removed(change: Change, risk: Risk, fate: str) -> Shown:
    because = reason_of_removal(change)
    origin = change.owner_before.last_applied.get(ORIGIN) if change.owner_before else None
    if origin and basis_of(change).tombstone is None:
        because = f"it was copied for {origin['member']}, which no longer asks for it"
    return removed(change, risk=risk, because=f"{because}{fate}")


def _migrated(address: str) -> Shown:
    """Show a binding that a member has in its virtual cluster as well (VC-191)."""
    member = split_scoped_address(address)
    if member is None:
        raise ContradictionError("was copied for something that is not a member")
    return Shown(
        actions=(Action.DELETE,),
        after=None,
        risks=(risks.ACL_MIGRATED,),
        because=f"{unquote(member.tail)} has the right in {member.virtual_cluster}, and its "
        "removeOldAclsFrom asks for it",
    )


def _grant_risk(binding: AclBinding) -> Risk:
    if binding.permission_type is PermissionType.DENY:
        return risks.ACL_DENY
    everyone = binding.principal == EVERYONE
    everything = binding.resource_name == "*" and binding.pattern_type is PatternType.LITERAL
    whole_cluster = (
        binding.resource_type is ResourceType.CLUSTER and binding.operation is Operation.ALL
    )
    wide = everyone or everything or whole_cluster
    return risks.ACL_WIDE_GRANT if wide else risks.ACL_GRANT
