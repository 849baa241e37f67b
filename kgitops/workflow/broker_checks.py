"""Lets the brokers judge a plan ahead (``validate_only``), in batches; nothing is changed."""

from collections.abc import Callable

from kgitops.apply.context import ApplySettings
from kgitops.apply.steps.steps import batches, build_steps
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import Validator
from kgitops.model.requests import Request, api_name
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.model.wording import counted
from kgitops.plan.document.broker_validation import checkable, record_validation
from kgitops.plan.document.plan import Plan
from kgitops.workflow.stages import OnStage, in_silence

_EMBEDDED = "embedded"


def validate_on_brokers(
    plan: Plan,
    cluster: Cluster,
    on_stage: OnStage = in_silence,
    *,
    is_said: Callable[[Request], bool] = lambda _: False,
) -> Plan:
    """Let the brokers judge what they can (``validate_only``); nothing is changed.

    The batches are those of an apply: a controller limits what it only judges as well (A4-03).
    Embedded brokers judge by the project's policies too, without what is planned before a
    request: what ``is_said`` by those to be denied is not said again.
    """
    capabilities = cluster.capabilities
    own = capabilities.backend == _EMBEDDED
    denied = _denied(plan) if own else frozenset()
    asked = {
        planned.id: planned.request
        for planned in checkable(plan)
        if planned.id not in denied
        and capabilities.validation.get(api_name(planned.request)) is Validator.BROKER
    }
    if not asked:
        return plan
    steps = build_steps(plan)
    results: dict[str, RequestResult] = {}
    for batch in batches([steps[name] for name in asked], ApplySettings()):
        on_stage(f"asking the brokers ({len(results):,} of {counted(len(asked), 'request')})")
        answers = cluster.execute(
            [asked[step.id] for step in batch], validate_only=True, principal=plan.principal
        )
        results |= {step.id: answer for step, answer in zip(batch, answers, strict=True)}
    if own:
        results = {
            name: answer
            for name, answer in results.items()
            if answer.code is not ErrorCode.POLICY_VIOLATION or not is_said(asked[name])
        }
    return record_validation(plan, results)


def _denied(plan: Plan) -> frozenset[str]:
    """The requests that policies deny already."""
    return frozenset(
        result.request
        for change in plan.changes
        for result in change.policies
        if result.stops and result.request is not None
    )
