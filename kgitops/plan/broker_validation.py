"""What the brokers said of a plan's requests under validate_only, written into the plan."""

from collections.abc import Mapping
from dataclasses import replace

from kgitops.model.capabilities import Validation
from kgitops.model.requests import AlterStep, AlterTopicRequest, api_name
from kgitops.model.results import RequestResult
from kgitops.model.source import Finding
from kgitops.plan.plan import Change, Plan, PlannedRequest


def checkable(plan: Plan) -> tuple[PlannedRequest, ...]:
    """The requests that a broker can judge on the cluster as it is now.

    A step that builds on an earlier one of this plan is not among them: the broker would judge
    it on a state that the plan is about to change. Kafka can't check a reassignment at all.
    """
    return tuple(
        planned
        for planned in plan.requests
        if not planned.depends_on
        and not (
            isinstance(planned.request, AlterTopicRequest)
            and planned.request.step is AlterStep.REPLICAS
        )
    )


def record_validation(plan: Plan, results: Mapping[str, RequestResult]) -> Plan:
    """The plan with each judged request labelled, and each refusal as a finding at its source."""
    findings = [
        _finding(change, planned, results[planned.id])
        for change in plan.changes
        for planned in change.requests
        if planned.id in results and not results[planned.id].ok
    ]
    return replace(
        plan,
        changes=tuple(_labelled(change, results) for change in plan.changes),
        findings=tuple(sorted([*plan.findings, *findings], key=lambda finding: finding.sort_key)),
    )


def _labelled(change: Change, results: Mapping[str, RequestResult]) -> Change:
    if not any(planned.id in results for planned in change.requests):
        return change
    return replace(
        change,
        requests=tuple(
            replace(planned, validated=Validation.BROKER) if planned.id in results else planned
            for planned in change.requests
        ),
    )


def _finding(change: Change, planned: PlannedRequest, result: RequestResult) -> Finding:
    return Finding(
        source=change.source,
        problem=f"the broker refuses {api_name(planned.request)} of {change.address}: {result}",
        advice="change the document so that the broker accepts it",
    )
