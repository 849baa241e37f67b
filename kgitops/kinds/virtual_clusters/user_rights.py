"""Refuses changes of users that an administrator of virtual clusters has no right to (VC-160c).

Names of users are the whole cluster's, so an administrator touches members of its virtual clusters
alone. Brokers judge requests; a change that only makes a project the user's owner has none.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from msgspec.structs import replace

from kgitops.lowering.admins import Administrator
from kgitops.lowering.report import super_users
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, VirtualCluster
from kgitops.model.source import Finding
from kgitops.plan.document.plan import Action, Change, Plan

_PREFIX = "user/"


def with_foreign_users_refused(plan: Plan, current: ClusterState) -> Plan:
    """Add a finding for each user that the principal of the plan may not touch.

    Requests that lowering has refused already are not told twice.
    """
    denied = [
        _finding(change, reason) for change, reason in foreign_users(plan, plan.changes, current)
    ]
    new = [finding for finding in denied if finding not in plan.findings]
    if not new:
        return plan
    findings = sorted([*plan.findings, *new], key=lambda finding: finding.sort_key)
    return replace(plan, findings=tuple(findings))


def foreign_users(
    plan: Plan, changes: Iterable[Change], state: ClusterState
) -> Iterator[tuple[Change, str]]:
    """Yield each change of a user that the principal of the plan may not touch, and the reason.

    A user that the principal may let into its virtual cluster by this very plan is none of them,
    and neither is one that the project only lets go.
    """
    touching = [
        change
        for change in changes
        if change.kind is Kind.USER and (change.requests or Action.FORGET not in change.actions)
    ]
    if not touching or not state.virtual_clusters:
        return
    users = super_users(state)
    before = Administrator(state, plan.principal, users)
    after = Administrator(_with_members(plan, state, before), plan.principal, users)
    for change in touching:
        request = req.AlterUserScramCredentialsRequest(
            user=unquote(change.address.removeprefix(_PREFIX)), mechanism=ScramMechanism.SHA_512
        )
        reason = before.refusal(request)
        if reason is not None and after.refusal(request) is not None:
            yield change, reason


def _finding(change: Change, reason: str) -> Finding:
    problem, _, advice = reason.partition("; ")
    return Finding(
        source=change.source, problem=f"{change.address} is denied: {problem}", advice=advice
    )


def _with_members(plan: Plan, state: ClusterState, administrator: Administrator) -> ClusterState:
    """Return the state with the virtual clusters and users that the principal may add to it."""
    found = dict(state.virtual_clusters)
    for request in (planned.request for planned in plan.requests):
        if not isinstance(request, req.VirtualClusterRequest) or administrator.refusal(request):
            continue
        match request:
            case req.CreateVirtualClusterRequest(virtual_cluster=name):
                found[name] = VirtualCluster(name=name)
            case req.AlterVirtualClusterRequest(
                virtual_cluster=name,
                change=ChangeType.ADD,
                entity_type=EntityType.USER,
                entity_name=str() as user,
            ) if name in found:
                for other in found.values():
                    if user in other.users and other.name == request.moved_from:
                        found[other.name] = replace(other, users=other.users - {user})
                found[name] = replace(found[name], users=found[name].users | {user})
    return replace(state, virtual_clusters=found)
