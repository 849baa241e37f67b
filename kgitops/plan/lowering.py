"""Adds to a plan the physical requests that it takes on a Kafka without virtual clusters."""

import re
from collections.abc import Mapping
from itertools import count

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.lowering.lowerer import Lowerer
from kgitops.lowering.report import lowering_report, native_report, super_users
from kgitops.lowering.topics import lost_registry
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.model.lowered import DeclaredGateway, LoweringLine
from kgitops.model.requests import NEW_UUID, CreateVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Change, Plan, PlannedRequest
from kgitops.plan.phases import in_groups

_NUMBERED = re.compile(re.escape(NEW_UUID) + r"#[0-9]+")


class _LoweringResult(Struct):
    """The result of lowering for each request, by its id.

    ``skipped`` are the requests that were refused, and those that depend on one.
    """

    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refused: dict[str, RequestResult] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)


def with_lowering(
    plan: Plan,
    current: ClusterState,
    support: VirtualClusterSupport,
    gateway: DeclaredGateway | None = None,
) -> Plan:
    """Add a line for each physical request to the plan, and the report of inexact ones (VC-411).

    A request that can't be lowered becomes a finding at its declaration. ``current`` is the state
    that the plan was made from. With a ``gateway`` the report is about its clients.
    """
    match support:
        case VirtualClusterSupport.NONE:
            return plan
        case VirtualClusterSupport.NATIVE:
            return replace(plan, lowering=native_report(_with_created(plan, current)))
        case VirtualClusterSupport.LOWERED:
            return _lower(plan, current, gateway)


def _lower(plan: Plan, current: ClusterState, gateway: DeclaredGateway | None) -> Plan:
    if plan.findings:
        # Requests that are known to fail say nothing about the result of the plan.
        return replace(plan, lowering=lowering_report(current, gateway))
    lost = lost_registry(current)
    if lost is not None and any(map(_creates, plan.requests)):
        refusal = Reason(exit=ExitCode.REFUSED, sentence=lost)
        lines = lowering_report(current, gateway)
        return replace(plan, refusals=(*plan.refusals, refusal), lowering=lines)
    numbers = count()
    # Topics of one local name in two virtual clusters must stay distinct during the computation.
    lowering = Lowerer(
        current, lambda: f"{NEW_UUID}#{next(numbers)}", super_users(current), plan.principal
    )
    involved = current.virtual_clusters or any(
        lowering.involves_virtual_clusters(planned.request) for planned in plan.requests
    )
    if not involved and gateway is None:
        return plan
    done, state = _steps(plan, lowering, current)
    findings = [
        _finding(change, done.refused[planned.id])
        for change in plan.changes
        for planned in change.requests
        if planned.id in done.refused
    ]
    return replace(
        plan,
        changes=tuple(_with_lines(change, done.lines) for change in plan.changes),
        findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)),
        lowering=tuple(dict.fromkeys(map(_named, lowering_report(state, gateway)))),
    )


def _creates(planned: PlannedRequest) -> bool:
    return isinstance(planned.request, CreateVirtualClusterRequest)


def _steps(
    plan: Plan, lowering: Lowerer, current: ClusterState
) -> tuple[_LoweringResult, ClusterState]:
    """Lower every request of the plan in the order of an apply."""
    done, state = _LoweringResult(), current
    for group in in_groups(plan.requests):
        ready = [p for p in group if done.skipped.isdisjoint(p.depends_on)]
        done.skipped |= {planned.id for planned in group} - {planned.id for planned in ready}
        concerned = [lowering.involves_virtual_clusters(planned.request) for planned in ready]
        step = lowering.lower_batch([planned.request for planned in ready])
        state = step.state
        for planned, concerns, result, lines in zip(
            ready, concerned, step.results, step.lines, strict=True
        ):
            if not result.ok:
                done.refused[planned.id] = result
                done.skipped.add(planned.id)
            elif concerns:
                done.lines[planned.id] = tuple(map(_unnumbered, lines))
    return done, state


def _with_lines(change: Change, lines: Mapping[str, tuple[str, ...]]) -> Change:
    if not any(lines.get(planned.id) for planned in change.requests):
        return change
    return replace(
        change,
        requests=tuple(_with_line(planned, lines) for planned in change.requests),
    )


def _with_line(planned: PlannedRequest, lines: Mapping[str, tuple[str, ...]]) -> PlannedRequest:
    return replace(planned, physical=lines.get(planned.id, ()))


def _finding(change: Change, result: RequestResult) -> Finding:
    problem, _, advice = (result.message or result.code.name).partition("; ")
    unauthorized = result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    refused = "is denied" if unauthorized else "is not possible on a Kafka without virtual clusters"
    return Finding(
        source=change.source,
        problem=f"{change.address} {refused}: {problem}",
        advice=advice or "change the document, or leave it out for this cluster",
    )


def _with_created(plan: Plan, current: ClusterState) -> ClusterState:
    """Return the state with the virtual clusters that the plan creates, by name."""
    created = {
        planned.request.virtual_cluster: VirtualCluster(name=planned.request.virtual_cluster)
        for planned in plan.requests
        if isinstance(planned.request, CreateVirtualClusterRequest)
    }
    return replace(current, virtual_clusters={**current.virtual_clusters, **created})


def _named(line: LoweringLine) -> LoweringLine:
    return replace(
        line,
        subject=_unnumbered(line.subject),
        reason=_unnumbered(line.reason),
        remedy=_unnumbered(line.remedy),
    )


def _unnumbered(text: str) -> str:
    return _NUMBERED.sub(NEW_UUID, text)
