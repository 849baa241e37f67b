"""Lets the brokers judge a plan ahead (``validate_only``), in batches; nothing is changed."""

from kgitops.apply.settings import ApplySettings
from kgitops.apply.steps import batches, build_steps
from kgitops.cluster.port import Cluster
from kgitops.model.capabilities import Validation
from kgitops.model.requests import api_name
from kgitops.model.results import RequestResult
from kgitops.plan.broker_validation import checkable, record_validation
from kgitops.plan.plan import Plan
from kgitops.workflow.stages import OnStage, in_silence


def validate_on_brokers(plan: Plan, cluster: Cluster, on_stage: OnStage = in_silence) -> Plan:
    """Let the brokers judge what they can (``validate_only``); nothing is changed.

    The batches are those of an apply: a controller limits what it only judges as well (A4-03).
    """
    asked = {
        planned.id: planned.request
        for planned in checkable(plan)
        if cluster.capabilities.validation.get(api_name(planned.request)) is Validation.BROKER
    }
    if not asked:
        return plan
    steps = build_steps(plan)
    results: dict[str, RequestResult] = {}
    for batch in batches([steps[name] for name in asked], ApplySettings()):
        on_stage(f"asking the brokers ({len(results):,} of {len(asked):,} requests)")
        answers = cluster.execute(
            [asked[step.id] for step in batch], validate_only=True, principal=plan.principal
        )
        results |= {step.id: answer for step, answer in zip(batch, answers, strict=True)}
    return record_validation(plan, results)
