"""Writes the brokers' answers to a plan's requests under validate_only into the plan."""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kgitops.model.cluster_state import Validator
from kgitops.model.json.canonical import sha256
from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterStep,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
    Request,
    api_name,
)
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.results import RETRIABLE, ErrorCode, RequestResult
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Change, LoadedPolicy, Plan, PlannedRequest, PolicyResult
from kgitops.policy.evaluate.bundle import Level, Outcome, fingerprint

BROKER_POLICY = LoadedPolicy(
    name="broker",
    level=Level.HARD,
    digest=sha256(b""),
    description="A policy that the cluster's own brokers run, such as a CreateTopicPolicy.",
    remediation="Change the document so that the brokers' own policy accepts it.",
)
"""Stands for a broker's own policy, of which a client learns only its message."""
_NO_RIGHT = frozenset(
    {ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
)
_NOT_JUDGED = _NO_RIGHT | RETRIABLE | {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNSUPPORTED_VERSION}
"""Answers that say nothing about the request itself."""


def checkable(plan: Plan) -> tuple[PlannedRequest, ...]:
    """Return the requests that a broker can validate on the cluster as it is now.

    A request that depends on an earlier one of this plan is not among them: the broker would judge
    it on a state that the plan is about to change. Kafka can't validate a reassignment at all.
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
    """Mark each validated request in the plan, and add a finding for each refusal.

    A denial by a broker's own policy (44) counts as one by a policy of the project. A request that
    was not validated, for example because a right is missing, is neither marked nor refused: a
    warning says how many there are, and why.
    """
    judged = {name: result for name, result in results.items() if result.code not in _NOT_JUDGED}
    findings = [
        _finding(change, planned, judged[planned.id])
        for change in plan.changes
        for planned in change.requests
        if planned.id in judged and not judged[planned.id].ok and not _denied(judged[planned.id])
    ]
    denies = any(map(_denied, judged.values()))
    return replace(
        plan,
        policies_loaded=(*plan.policies_loaded, *([BROKER_POLICY] if denies else [])),
        changes=tuple(_labelled(change, judged) for change in plan.changes),
        findings=tuple(sorted([*plan.findings, *findings], key=lambda finding: finding.sort_key)),
        warnings=(*plan.warnings, *_unchecked(plan, results)),
    )


def _labelled(change: Change, judged: Mapping[str, RequestResult]) -> Change:
    if not any(planned.id in judged for planned in change.requests):
        return change
    return replace(
        change,
        requests=tuple(
            replace(planned, validated=Validator.BROKER) if planned.id in judged else planned
            for planned in change.requests
        ),
        policies=(
            *change.policies,
            *(
                _denial(change, planned, judged[planned.id])
                for planned in change.requests
                if planned.id in judged and _denied(judged[planned.id])
            ),
        ),
    )


def _denied(result: RequestResult) -> bool:
    return result.code is ErrorCode.POLICY_VIOLATION


def _denial(change: Change, planned: PlannedRequest, result: RequestResult) -> PolicyResult:
    message = result.message or ""
    return PolicyResult(
        policy=BROKER_POLICY.name,
        level=BROKER_POLICY.level,
        outcome=Outcome.DENIED,
        message=message,
        request=planned.id,
        source=change.source,
        fingerprint=fingerprint(BROKER_POLICY.name, change.address, message),
    )


def _finding(change: Change, planned: PlannedRequest, result: RequestResult) -> Finding:
    return Finding(
        source=change.source,
        problem=f"the broker refuses {api_name(planned.request)} of {change.address}: {result}",
        advice="change the document so that the broker accepts it",
    )


def _unchecked(plan: Plan, results: Mapping[str, RequestResult]) -> Iterator[Finding]:
    """Yield a warning for each api and reason."""
    counts = Counter(
        (api_name(planned.request), _right(planned.request), results[planned.id].code)
        for planned in plan.requests
        if planned.id in results and results[planned.id].code in _NOT_JUDGED
    )
    for (api, right, code), count in sorted(counts.items()):
        requests = f"{count:,} {api} request{'s' if count > 1 else ''}"
        yield Finding(
            source=None,
            severity=Severity.WARNING,
            problem=f"the brokers did not validate {requests}: they answered {code.name} ({code})",
            advice=f"they check {'them' if count > 1 else 'it'} for a principal with {right}"
            if code in _NO_RIGHT
            else "plan again later to have it checked",
        )


def _right(request: Request) -> str:
    """Name the right that a request needs, as an administrator would grant it."""
    match request:
        case CreateTopicRequest():
            return "Create on the cluster or on the topic"
        case AlterTopicRequest(step=AlterStep.PARTITIONS):
            return "Alter on the topic"
        case AlterTopicRequest():
            return "AlterConfigs on the topic"
        case AlterConfigResourceRequest(resource_type=ConfigResourceType.GROUP):
            return "AlterConfigs on the group"
        case AlterClientQuotaRequest() | AlterBrokerRequest() | AlterConfigResourceRequest():
            return "AlterConfigs on the cluster"
        case CreateVirtualClusterRequest(virtual_cluster=name):
            return f"CreateVirtualCluster on {name}"
        case AlterVirtualClusterRequest(virtual_cluster=name):
            return f"AlterVirtualCluster on {name}"
        case DeleteVirtualClusterRequest(virtual_cluster=name):
            return f"DeleteVirtualCluster on {name}"
        case _:
            return "the right to do it"
