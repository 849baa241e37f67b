"""ACLs as sets of bindings: what is declared against what is there."""

from kgitops.desired.state import DesiredAcl, DesiredState
from kgitops.model.acls import AclBinding, Operation, PatternType, PermissionType, ResourceType
from kgitops.model.addresses import acl_address
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest, Request
from kgitops.model.source import Finding
from kgitops.plan import risks
from kgitops.plan.acl_guards import ResourcesInUse
from kgitops.plan.normal_form import acl_view
from kgitops.plan.outcome import Outcome
from kgitops.plan.ownership import Ownership, Standing
from kgitops.plan.plan import Action, Change, Kind, PlannedRequest, Precondition
from kgitops.plan.planning import (
    Planning,
    because_adopted,
    protection_fields,
    registry_fields,
    taking_risks,
)
from kgitops.plan.removal import Fate, Removal, find_removals
from kgitops.plan.risks import Risk, worst_first


def plan_acls(desired: DesiredState, current: ClusterState, ownership: Ownership) -> Outcome:
    """Every difference between the declared bindings and the cluster's."""
    planning = Planning(desired=desired, current=current, ownership=ownership)
    in_use = ResourcesInUse(current)
    for acl in desired.acls:
        if not planning.may_plan(acl):
            continue
        if acl.binding in current.acls:
            _keep_or_adopt(planning, acl)
        else:
            _create(planning, acl, in_use)
    declared = frozenset(acl.address for acl in desired.acls)
    found = {acl_address(binding): binding for binding in sorted(current.acls)}
    for removal in find_removals(("acl",), declared, planning):
        _remove(planning, removal, found.get(removal.address))
    planning.keep_others(dict.fromkeys(found), declared)
    if not current.has_authorizer:
        planning.outcome.findings += [
            _unkept(change) for change in planning.outcome.changes if change.requests
        ]
    return planning.outcome


def _unkept(change: Change) -> Finding:
    """That a binding can't be made where brokers keep none; removing one needs no request there."""
    return Finding(
        source=change.source,
        problem=f"{change.address} can't be made: the cluster has no authorizer, so its brokers "
        "keep no ACLs (SECURITY_DISABLED)",
        advice="set authorizer.class.name on the brokers, or leave the ACL out for this cluster "
        "with metadata.clusters",
    )


def _create(planning: Planning, acl: DesiredAcl, in_use: ResourcesInUse) -> None:
    address = acl.address
    missing = bool(planning.ownership.last_applied(address))
    if missing:
        planning.report_missing(address)
    expects = Precondition(object=address, exists=False, owner=planning.owner_label(address))
    owner_before = planning.ownership.owner(address)
    owner_after = planning.owner_after(acl, adopted=False)
    fields = protection_fields(owner_before, owner_after)
    found = {_grant_risk(acl.binding), *taking_risks(planning.ownership, address)}
    found |= {field.risk for field in fields if field.risk}
    if in_use.unguarded(acl.binding):
        found.add(risks.ACL_FIRST)
    planning.outcome.changes.append(
        Change(
            address=address,
            kind=Kind.ACL,
            actions=(Action.CREATE,),
            risks=worst_first(found),
            because="it was deleted outside of kgitops" if missing else "it is declared",
            source=acl.located.source,
            before=None,
            after=acl_view(acl.binding),
            fields=fields,
            preconditions=(expects,),
            requests=_step(CreateAclRequest(binding=acl.binding), expects),
            owner_before=owner_before,
            owner_after=owner_after,
        )
    )


def _keep_or_adopt(planning: Planning, acl: DesiredAcl) -> None:
    address = acl.address
    owner = planning.ownership.owner(address)
    adopts = planning.ownership.standing(address) is not Standing.MINE
    after = planning.owner_after(acl, adopted=adopts or bool(owner and owner.adopted))
    if not adopts and owner == after:
        return
    expects = Precondition(object=address, exists=True, owner=planning.owner_label(address))
    fields = (protection_fields if adopts else registry_fields)(owner, after)
    found = {field.risk for field in fields if field.risk}
    if adopts:
        found |= {risks.ACL_ADOPT, *taking_risks(planning.ownership, address)}
    planning.outcome.changes.append(
        Change(
            address=address,
            kind=Kind.ACL,
            actions=(Action.ADOPT if adopts else Action.UPDATE,),
            risks=worst_first(found or {risks.REGISTRY_ONLY}),
            because=because_adopted(planning.ownership, address)
            if adopts
            else "its document says more than was last applied",
            source=acl.located.source,
            before=acl_view(acl.binding),
            after=acl_view(acl.binding),
            fields=fields,
            preconditions=(expects,),
            owner_before=owner,
            owner_after=after,
        )
    )


def _remove(planning: Planning, removal: Removal, binding: AclBinding | None) -> None:
    delete = removal.fate is Fate.DELETE and binding is not None
    gone = "" if binding else "; it is already gone from the cluster"
    expects = Precondition(
        object=removal.address, exists=binding is not None, owner=removal.owner.project
    )
    risk = risks.ACL_FORGET
    if delete and binding:
        denies = binding.permission_type is PermissionType.DENY
        risk = risks.ACL_DENY_LIFTED if denies else risks.ACL_REVOKE
    view = acl_view(binding) if binding else None
    planning.outcome.changes.append(
        Change(
            address=removal.address,
            kind=Kind.ACL,
            actions=(Action.DELETE if delete else Action.FORGET,),
            risks=(risk,),
            because=f"{removal.because}{gone}",
            source=removal.source,
            before=view,
            after=None if delete else view,
            preconditions=(expects,),
            requests=_step(DeleteAclRequest(binding=binding), expects)
            if delete and binding
            else (),
            owner_before=removal.owner,
            owner_after=removal.owner_after,
        )
    )


def _step(request: Request, expects: Precondition) -> tuple[PlannedRequest, ...]:
    return (PlannedRequest(id=f"{expects.object}#1", request=request, expects=expects),)


def _grant_risk(binding: AclBinding) -> Risk:
    if binding.permission_type is PermissionType.DENY:
        return risks.ACL_DENY
    everyone = binding.principal.endswith(":*")
    everything = binding.resource_name == "*" and binding.pattern_type is PatternType.LITERAL
    whole_cluster = (
        binding.resource_type is ResourceType.CLUSTER and binding.operation is Operation.ALL
    )
    wide = everyone or everything or whole_cluster
    return risks.ACL_WIDE_GRANT if wide else risks.ACL_GRANT
