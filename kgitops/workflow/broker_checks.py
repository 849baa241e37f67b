"""Lets the brokers judge a plan ahead (``validate_only``), in batches; nothing is changed."""

from itertools import groupby

from kgitops.cluster.port import Cluster
from kgitops.model.capabilities import Validation
from kgitops.model.requests import api_name
from kgitops.model.results import RequestResult
from kgitops.plan.broker_validation import checkable, record_validation
from kgitops.plan.plan import Plan
from kgitops.workflow.stages import OnStage, in_silence

_BATCH = 500


def validate_on_brokers(plan: Plan, cluster: Cluster, on_stage: OnStage = in_silence) -> Plan:
    """Let the brokers judge what they can (``validate_only``); nothing is changed."""
    asked = [
        planned
        for planned in checkable(plan)
        if cluster.capabilities.validation.get(api_name(planned.request)) is Validation.BROKER
    ]
    results: dict[str, RequestResult] = {}
    for _, group in groupby(asked, key=lambda planned: api_name(planned.request)):
        requests = list(group)
        for start in range(0, len(requests), _BATCH):
            batch = requests[start : start + _BATCH]
            on_stage(f"asking the brokers ({len(results):,} of {len(asked):,} requests)")
            answers = cluster.execute(
                [planned.request for planned in batch],
                validate_only=True,
                principal=plan.principal,
            )
            results |= {planned.id: answer for planned, answer in zip(batch, answers, strict=True)}
    return record_validation(plan, results)
