"""Plans virtual clusters themselves: created first, deleted last and only when empty."""

from kgitops.desired.findings import counted
from kgitops.desired.state import DesiredState, DesiredVirtualCluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
)
from kgitops.model.resources.addresses import virtual_cluster_address
from kgitops.model.resources.virtual_clusters import LoweringOptions, VirtualCluster, physical_id
from kgitops.model.source import Finding, Severity
from kgitops.plan.context import (
    PlanContext,
    PlanDraft,
    because_adopted,
    because_remembered,
    protection_fields,
    registry_fields,
    takeover_risks,
)
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Drift, FieldChange, Kind, Precondition
from kgitops.plan.document.risks import worst_first
from kgitops.plan.normal_form import virtual_cluster_view
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.planned_requests import chain
from kgitops.plan.removal import Removal, RemovalKind, find_removals, removed

_SHOWN = 5


def plan_virtual_clusters(
    desired: DesiredState, current: ClusterState, ownership: Ownership
) -> PlanDraft:
    """Plan every difference between the declared virtual clusters and the existing ones."""
    context = PlanContext(desired=desired, current=current, ownership=ownership)
    for declared in desired.virtual_clusters:
        if not context.may_plan(declared):
            continue
        found = current.virtual_clusters.get(declared.name)
        if found is None:
            _create(context, declared)
        else:
            _keep_or_change(context, declared, found)
    addresses = frozenset(item.address for item in desired.virtual_clusters)
    for removal in find_removals(("vc",), addresses, context):
        _remove(context, removal)
    listed = map(virtual_cluster_address, sorted(current.virtual_clusters))
    context.keep_others(dict.fromkeys(listed), addresses)
    return context.draft


def _create(context: PlanContext, declared: DesiredVirtualCluster) -> None:
    address = declared.address
    missing = bool(context.ownership.last_applied(address))
    if missing:
        context.report_missing(address)
    expects = Precondition(object=address, exists=False, owner=context.owner_label(address))
    before, after = context.ownership.owner(address), context.owner_after(declared, adopted=False)
    fields = protection_fields(before, after)
    found = {risks.VIRTUAL_CLUSTER_CREATE, *takeover_risks(context.ownership, address)}
    found |= {field.risk for field in fields if field.risk}
    request = CreateVirtualClusterRequest(virtual_cluster=declared.name, options=declared.options)
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.VIRTUAL_CLUSTER,
            actions=(Action.CREATE,),
            risks=worst_first(found),
            because="it was deleted outside of kgitops" if missing else "it is declared",
            source=declared.located.source,
            before=None,
            after=virtual_cluster_view(declared.name, declared.options),
            fields=fields,
            preconditions=(expects,),
            requests=chain([request], expects),
            owner_before=before,
            owner_after=after,
        )
    )


def _keep_or_change(
    context: PlanContext, declared: DesiredVirtualCluster, found: VirtualCluster
) -> None:
    address = declared.address
    owner = context.ownership.owner(address)
    mine = context.ownership.status(address) is OwnershipStatus.MINE
    after = context.owner_after(declared, adopted=not mine or bool(owner and owner.adopted))
    options = _option_fields(found.options, declared.options)
    context.draft.drift += _drift(context, declared, found)
    if mine and not options and owner == after:
        return
    fields = (*options, *protection_fields(owner, after))
    if mine and not options:
        fields = registry_fields(owner, after)
    risky = {field.risk for field in fields if field.risk}
    if not mine:
        risky |= {risks.VIRTUAL_CLUSTER_ADOPT, *takeover_risks(context.ownership, address)}
    actions = (() if mine else (Action.ADOPT,)) + ((Action.UPDATE,) if options else ())
    expects = Precondition(
        object=address,
        exists=True,
        owner=context.owner_label(address),
        fields={field.path: field.before for field in options},
    )
    request = AlterVirtualClusterRequest(virtual_cluster=declared.name, options=declared.options)
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.VIRTUAL_CLUSTER,
            actions=actions or (Action.UPDATE,),
            risks=worst_first(risky or {risks.REGISTRY_ONLY}),
            because=because_adopted(context.ownership, address)
            if not mine
            else "it differs from its document"
            if options
            else because_remembered(owner, after),
            source=declared.located.source,
            before=virtual_cluster_view(declared.name, found.options),
            after=virtual_cluster_view(declared.name, declared.options),
            fields=fields,
            preconditions=(expects,),
            requests=chain([request], expects) if options else (),
            owner_before=owner,
            owner_after=after,
        )
    )


def _remove(context: PlanContext, removal: Removal) -> None:
    name = removal.owner.last_applied["name"]
    found = context.current.virtual_clusters.get(name)
    if found is not None and removal.kind is RemovalKind.DELETE:
        _warn_of_lost_offsets(context, removal, found)
    context.draft.changes.append(
        removed(
            removal,
            Kind.VIRTUAL_CLUSTER,
            virtual_cluster_view(name, found.options) if found else None,
            DeleteVirtualClusterRequest(virtual_cluster=name),
            deleted=risks.VIRTUAL_CLUSTER_DELETE,
            forgotten=risks.VIRTUAL_CLUSTER_FORGET,
        )
    )


def _warn_of_lost_offsets(context: PlanContext, removal: Removal, found: VirtualCluster) -> None:
    """Warn of offsets that a renamed virtual cluster would not have (VC-009).

    A group's id on the cluster begins with the name of the virtual cluster.
    """
    copied = {member.adopt for member in context.desired.members if member.copy_offsets}
    groups = sorted({physical_id(found.name, group) for group in found.groups} - copied)
    if not groups:
        return
    more = f" and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    context.draft.warnings.append(
        Finding(
            source=removal.source,
            problem=f"{removal.address} is deleted, and a virtual cluster of another name begins "
            f"without the offsets of {counted(len(groups), 'group')}: "
            f"{', '.join(groups[:_SHOWN])}{more}",
            advice="keep the name; or declare the groups in the new one, each with adopt and the "
            "name that stands here",
            severity=Severity.WARNING,
        )
    )


def _texts(options: LoweringOptions) -> dict[str, str]:
    """Write the options as text fields."""
    return {
        "options.capLowering": options.cap_lowering.value,
        "options.denyWins": str(options.deny_wins).lower(),
    }


def _option_fields(before: LoweringOptions, after: LoweringOptions) -> tuple[FieldChange, ...]:
    old, new = _texts(before), _texts(after)
    return tuple(
        FieldChange(path=path, before=old[path], after=new[path], risk=risks.LOWERING_OPTIONS)
        for path in old
        if old[path] != new[path]
    )


def _drift(
    context: PlanContext, declared: DesiredVirtualCluster, found: VirtualCluster
) -> list[Drift]:
    last = context.ownership.last_applied(declared.address).get("lowering")
    if not last:
        return []
    applied = {
        "options.capLowering": last["capLowering"],
        "options.denyWins": str(last["denyWins"]).lower(),
    }
    now, wanted = _texts(found.options), _texts(declared.options)
    return [
        Drift(
            address=declared.address,
            path=path,
            last_applied=applied[path],
            found=now[path],
            rule="accepted" if wanted[path] == now[path] else "restored",
        )
        for path in applied
        if applied[path] != now[path]
    ]
