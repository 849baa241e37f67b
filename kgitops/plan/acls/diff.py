"""ACLs as sets of bindings: what is declared against what is there."""

from dataclasses import replace

from kgitops.desired.state import DesiredAcl, DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Owner
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address
from kgitops.model.source import Finding
from kgitops.plan.acls.patterns import ResourcesInUse
from kgitops.plan.context import (
    Outcome,
    Planning,
    because_adopted,
    because_remembered,
    protection_fields,
    registry_fields,
    taking_risks,
)
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Kind, Precondition
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.link_index import LinksAfter, index_links
from kgitops.plan.normal_form import acl_view
from kgitops.plan.ownership import Ownership, Standing
from kgitops.plan.planned_requests import chain
from kgitops.plan.removal import Fate, Removal, find_removals
from kgitops.plan.virtual_clusters.copied_acls import AclTranslation, Copy, find_copies, of_source
from kgitops.plan.virtual_clusters.migrated_acls import plan_migrated


def plan_acls(
    desired: DesiredState,
    current: ClusterState,
    ownership: Ownership,
    links: LinksAfter | None = None,
) -> Outcome:
    """Every difference between the declared bindings and the cluster's.

    ``links`` are those of virtual clusters once the plan is applied.
    """
    planning = Planning(
        desired=desired,
        current=current,
        ownership=ownership,
        links=index_links(desired, current),
    )
    in_use = ResourcesInUse(current)
    links = links or LinksAfter(current, ())
    translation = AclTranslation(current, links)
    copies = find_copies(planning, translation, links)
    for acl in desired.acls:
        if planning.may_plan(acl) and _has_scope(planning, acl):
            _plan(planning, acl, in_use, None)
    for copy in copies:
        if copy.planned and _may_copy(planning, copy):
            _plan(planning, copy.acl, in_use, copy)
    declared = frozenset((*(a.address for a in desired.acls), *(c.acl.address for c in copies)))
    found = {acl_address(binding): binding for binding in current.acls}
    missing = {acl_address(binding): binding for binding in current.partial_acls}
    for removal in find_removals(("acl",), declared, planning):
        _remove(planning, removal, found.get(removal.address), missing.get(removal.address))
    planning.keep_others(dict.fromkeys(found), declared)
    plan_migrated(planning, translation, _Afterwards(planning))
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


def _has_scope(planning: Planning, acl: DesiredAcl) -> bool:
    """Whether the one virtual cluster that it names is there, or made by this plan."""
    binding = acl.binding
    if binding.resource_type is ResourceType.CLUSTER:
        return _has_cluster(planning, acl)
    exact = binding.virtual_cluster_pattern_type is PatternType.LITERAL
    if not binding.scoped or not exact or binding.virtual_cluster == "*":
        return True
    source = acl.located.at("spec", "virtualCluster")
    return planning.has_virtual_cluster(binding.virtual_cluster, source, acl.address)


def _has_cluster(planning: Planning, acl: DesiredAcl) -> bool:
    """True if the resource cluster is the physical one, or a virtual one that there is.

    To Kafka any name but kafka-cluster is wrong. Rights that only virtual clusters know may come
    before what they are about, and a binding that is there already outlives it.
    """
    binding, name = acl.binding, acl.binding.resource_name
    if name == CLUSTER_NAME or binding.operation in VIRTUAL_CLUSTER_OPERATIONS:
        return True
    pattern = binding.pattern_type is PatternType.PREFIXED or name == "*"
    known = {*planning.current.virtual_clusters, *planning.links.declared}
    if binding in planning.current.acls or (known if pattern else name in known):
        return True
    planning.outcome.findings.append(
        Finding(
            source=acl.located.at("spec", "resource", "name"),
            problem=f"{acl.address} is about {'virtual clusters' if pattern else name}, and there "
            f"{'are none' if pattern else 'is no virtual cluster of that name'}, neither on the "
            "cluster nor in this plan",
            advice=f"write {CLUSTER_NAME}, which is what Kafka calls the cluster itself, or "
            "declare the VirtualCluster",
        )
    )
    return False


def _may_copy(planning: Planning, copy: Copy) -> bool:
    address = copy.acl.address
    if planning.ownership.standing(address) is not Standing.FOREIGN:
        return True
    planning.outcome.refuse(
        f"{copy.acl.located.source}: {address}, which would be copied for {copy.member}, belongs "
        f"to the project {planning.ownership.label(address)!r}; remove copyAclsFrom, or the ACL "
        "there"
    )
    return False


class _Afterwards:
    """The bindings once a plan is applied; nothing is copied to ask for one."""

    def __init__(self, planning: Planning) -> None:
        requests = [
            planned.request for change in planning.outcome.changes for planned in change.requests
        ]
        self._found = planning.current.acls
        self._made = {r.binding for r in requests if isinstance(r, CreateAclRequest)}
        self._gone = {r.binding for r in requests if isinstance(r, DeleteAclRequest)}

    def __contains__(self, binding: object) -> bool:
        return binding in self._made or (binding in self._found and binding not in self._gone)


def _plan(planning: Planning, acl: DesiredAcl, in_use: ResourcesInUse, copy: Copy | None) -> None:
    if acl.binding in planning.current.acls:
        _keep_or_adopt(planning, acl, copy)
    else:
        _create(planning, acl, in_use, copy)


def _owner_after(planning: Planning, acl: DesiredAcl, copy: Copy | None, *, adopted: bool) -> Owner:
    """What the registry remembers; of a copy also where it came from (VC-197)."""
    owner = planning.owner_after(acl, adopted=adopted)
    if copy is None:
        return owner
    return replace(owner, last_applied={**owner.last_applied, "origin": dict(copy.origin)})


def _create(planning: Planning, acl: DesiredAcl, in_use: ResourcesInUse, copy: Copy | None) -> None:
    address = acl.address
    missing = bool(planning.ownership.last_applied(address))
    if missing:
        planning.report_missing(address)
    expects = Precondition(object=address, exists=False, owner=planning.owner_label(address))
    owner_before = planning.ownership.owner(address)
    owner_after = _owner_after(planning, acl, copy, adopted=False)
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
            because=_because(copy, missing=missing),
            source=acl.located.source,
            before=None,
            after=acl_view(acl.binding),
            fields=fields,
            preconditions=(expects,),
            requests=chain([CreateAclRequest(binding=acl.binding)], expects),
            owner_before=owner_before,
            owner_after=owner_after,
            derived_from=(copy.member,) if copy else (),
        )
    )


def _because(copy: Copy | None, *, missing: bool) -> str:
    if missing:
        return "it was deleted outside of kgitops"
    if copy is None:
        return "it is declared"
    source = of_source(str(copy.origin["copiedFrom"]))
    return f"{copy.acl.binding.principal} has the right in {source}, and takes it along"


def _keep_or_adopt(planning: Planning, acl: DesiredAcl, copy: Copy | None) -> None:
    address = acl.address
    owner = planning.ownership.owner(address)
    adopts = planning.ownership.standing(address) is not Standing.MINE
    adopted = adopts or bool(owner and owner.adopted)
    after = _owner_after(planning, acl, copy, adopted=adopted)
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
            else because_remembered(owner, after),
            source=acl.located.source,
            before=acl_view(acl.binding),
            after=acl_view(acl.binding),
            fields=fields,
            preconditions=(expects,),
            owner_before=owner,
            owner_after=after,
            derived_from=(copy.member,) if copy else (),
        )
    )


def _remove(
    planning: Planning, removal: Removal, binding: AclBinding | None, missing: AclBinding | None
) -> None:
    """One that is ``missing`` still counts for its virtual cluster, and part of it may be there."""
    deleted = (binding or missing) if removal.fate is Fate.DELETE else None
    gone = "" if binding else "; it is already gone from the cluster"
    if missing and deleted:
        gone = "; not all that stands for it is as it should be, and what is left goes as well"
    expects = Precondition(
        object=removal.address, exists=binding is not None, owner=removal.owner.project
    )
    risk = risks.ACL_FORGET
    if deleted:
        denies = deleted.permission_type is PermissionType.DENY
        risk = risks.ACL_DENY_LIFTED if denies else risks.ACL_REVOKE
    view = acl_view(binding) if binding else None
    origin = removal.owner.last_applied.get("origin")
    because = removal.because
    if origin and not removal.tombstone:
        because = f"it was copied for {origin['member']}, which no longer asks for it"
    planning.outcome.changes.append(
        Change(
            address=removal.address,
            kind=Kind.ACL,
            actions=(Action.DELETE if deleted else Action.FORGET,),
            risks=(risk,),
            because=f"{because}{gone}",
            source=removal.source,
            before=view,
            after=None if deleted else view,
            preconditions=(expects,),
            requests=chain([DeleteAclRequest(binding=deleted)], expects) if deleted else (),
            owner_before=removal.owner,
            owner_after=removal.owner_after,
            derived_from=(origin["member"],) if origin else (),
        )
    )


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
