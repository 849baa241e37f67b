"""Plans virtual clusters themselves: created first, deleted last and only when empty."""

from kgitops.desired.findings import counted
from kgitops.desired.state import DesiredState
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredVirtualCluster
from kgitops.model.resources.addresses import virtual_cluster_address
from kgitops.model.resources.virtual_clusters import VirtualCluster, physical_id
from kgitops.model.source import Finding, Severity
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Drift, Kind
from kgitops.plan.draft import PlanDraft
from kgitops.plan.normal_form import option_texts, virtual_cluster_view
from kgitops.plan.ownership import Ownership
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove_whole

_SHOWN = 5


def plan_virtual_clusters(
    desired: DesiredState, current: ClusterState, ownership: Ownership
) -> PlanDraft:
    """Plan every difference between the declared virtual clusters and the existing ones."""
    context = PlanContext(desired=desired, current=current, ownership=ownership)
    for declared in desired.virtual_clusters:
        if not context.may_plan(declared):
            continue
        existing = current.virtual_clusters.get(declared.name)
        if existing is None:
            _create(context, declared)
        else:
            _keep_or_change(context, declared, existing)
    addresses = frozenset(item.address for item in desired.virtual_clusters)
    for removal in find_removals(("vc",), addresses, context):
        _remove(context, removal)
    listed = map(virtual_cluster_address, sorted(current.virtual_clusters))
    context.keep_others(dict.fromkeys(listed), addresses)
    return context.draft


def _create(context: PlanContext, declared: DesiredVirtualCluster) -> None:
    context.create(
        declared,
        Kind.VIRTUAL_CLUSTER,
        [req.CreateVirtualClusterRequest(virtual_cluster=declared.name, options=declared.options)],
    )


def _keep_or_change(
    context: PlanContext, declared: DesiredVirtualCluster, current: VirtualCluster
) -> None:
    context.draft.drift += _drift(context, declared, current)
    now, wanted = option_texts(current.options), option_texts(declared.options)
    expected = {path: now[path] for path in now if now[path] != wanted[path]}
    request = req.AlterVirtualClusterRequest(
        virtual_cluster=declared.name, options=declared.options
    )
    context.adopt_or_update(
        declared,
        Kind.VIRTUAL_CLUSTER,
        [request] if expected else (),
        before=virtual_cluster_view(declared.name, current.options),
        expects=context.expect(declared.address, fields=expected),
    )


def _remove(context: PlanContext, removal: Removal) -> None:
    name = removal.owner.last_applied["name"]
    current = context.current.virtual_clusters.get(name)
    if current is not None and removal.kind is RemovalKind.DELETE:
        _warn_of_lost_offsets(context, removal, current)
    remove_whole(
        context,
        removal,
        Kind.VIRTUAL_CLUSTER,
        req.DeleteVirtualClusterRequest(virtual_cluster=name),
        before=virtual_cluster_view(name, current.options) if current else None,
    )


def _warn_of_lost_offsets(
    context: PlanContext, removal: Removal, virtual_cluster: VirtualCluster
) -> None:
    """Warn of offsets that a renamed virtual cluster would not have (VC-009).

    A group's id on the cluster begins with the name of the virtual cluster.
    """
    copied = {member.adopt for member in context.desired.members if member.copy_offsets}
    groups = sorted(
        {physical_id(virtual_cluster.name, group) for group in virtual_cluster.groups} - copied
    )
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
            "name that is shown here",
            severity=Severity.WARNING,
        )
    )


def _drift(
    context: PlanContext, declared: DesiredVirtualCluster, existing: VirtualCluster
) -> list[Drift]:
    last = context.ownership.last_applied(declared.address).get("lowering")
    if not last:
        return []
    applied = {
        "options.capLowering": last["capLowering"],
        "options.denyWins": str(last["denyWins"]).lower(),
    }
    now, wanted = option_texts(existing.options), option_texts(declared.options)
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
