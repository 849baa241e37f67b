"""Judges a plan by the policies: when it is made, and again when it is applied."""

from collections.abc import Callable, Collection, Iterator
from datetime import date

from msgspec.structs import replace

from kgitops.approval.rulings import (
    PlanRulings,
    SourceLookup,
    judge_changes,
    loaded_policies,
    with_results,
)
from kgitops.approval.waivers import use_of_waivers
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.model.resources.addresses import broker_address
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Change, Plan, denials
from kgitops.plan.document.policies import PolicyResult
from kgitops.policy.evaluate.bundle import Bundle, Level
from kgitops.policy.evaluate.protocol import PolicyEvaluator


def judge_plan(
    plan: Plan,
    evaluator: PolicyEvaluator | None,
    state: ClusterState,
    desired: DesiredState,
    bundle: Bundle,
) -> Plan:
    """Add the policies' results to each change of the plan, and the findings about waivers.

    ``state`` is the whole cluster that the plan was made from. ``evaluator`` judges by ``bundle``;
    None if the bundle has no policy.
    """
    plan_rulings = (
        judge_changes(plan.changes, evaluator, state, principal=plan.principal, today=bundle.today)
        if evaluator is not None
        else PlanRulings()
    )
    return replace(
        plan,
        policies_loaded=loaded_policies(bundle),
        changes=with_results(plan.changes, plan_rulings, SourceLookup(desired.objects)),
        warnings=(
            *plan.warnings,
            *bundle.warnings,
            *_use_of_waivers(bundle, plan_rulings, desired, state),
        ),
    )


def judge_again(
    plan: Plan,
    pending: Collection[str],
    evaluator: PolicyEvaluator,
    state: ClusterState,
    bundle: Bundle,
    *,
    today: date,
) -> tuple[Reason, ...]:
    """Return the reasons not to apply a plan, by the policies and the whole cluster as of now.

    ``pending`` are the ids of the requests that may still be sent.
    """
    changes = [
        replace(change, requests=requests)
        for change in plan.changes
        if (requests := tuple(planned for planned in change.requests if planned.id in pending))
    ]
    plan_rulings = judge_changes(changes, evaluator, state, principal=plan.principal, today=today)
    again = with_results(changes, plan_rulings, SourceLookup(()))
    return tuple(
        denials(
            [
                replace(now, policies=tuple(_as_reviewed(row, before) for row in now.policies))
                for now, before in zip(again, changes, strict=True)
            ],
            loaded_policies(bundle),
        )
    )


def _as_reviewed(result: PolicyResult, before: Change) -> PolicyResult:
    """Give the result the source of the reviewed plan's row, and name a waiver that ended."""
    for row in before.policies:
        if (row.policy, row.fingerprint) != (result.policy, result.fingerprint):
            continue
        message = result.message
        if row.waiver is not None and result.stops:
            message = f"{message} (the waiver {row.waiver.name} no longer lifts it)"
        return replace(result, source=row.source, message=message)
    return result


def denial_check(
    evaluator: PolicyEvaluator | None, state: ClusterState, *, principal: str
) -> Callable[[Request], bool]:
    """Return a function that tells if the policies deny a request on ``state`` as it is."""
    begun = False

    def denies(request: Request) -> bool:
        nonlocal begun
        if evaluator is None:
            return False
        if not begun:
            evaluator.begin(state, principal=principal)
            begun = True
        return evaluator.judge(request).stops

    return denies


def missing_policies(plan: Plan, bundle: Bundle) -> Iterator[Reason]:
    """Yield a reason for each policy of the plan that is missing or weaker now (contract §6)."""
    levels = {policy.name: policy.level for policy in bundle.policies}
    for recorded in plan.policies_loaded:
        level = levels.get(recorded.name, Level.OFF)
        if not level.weaker_than(recorded.level):
            continue
        now = f"is {level} now" if recorded.name in levels else "is not loaded any more"
        yield Reason(
            exit=ExitCode.DENIED,
            sentence=f"the policy {recorded.name}, which was {recorded.level} when the plan was "
            f"made, {now}; restore it, or make a new plan and have it reviewed",
        )


def _use_of_waivers(
    bundle: Bundle, plan_rulings: PlanRulings, desired: DesiredState, state: ClusterState
) -> Iterator[Finding]:
    # Collecting all addresses of a cluster is only worth it if a waiver may name one.
    if bundle.waivers:
        yield from use_of_waivers(bundle, plan_rulings, addresses=_addresses(desired, state))


def _addresses(desired: DesiredState, state: ClusterState) -> frozenset[str] | None:
    """Addresses that a waiver may name; None if only a part of the project was loaded."""
    scope = desired.scope
    if not scope.whole:
        return None
    owned = state.registry.owners if state.registry else {}
    brokers = {broker_address(broker.id) for broker in state.brokers}
    return frozenset(desired.addresses | scope.other_clusters | set(owned) | brokers)
