"""Decides about a plan: policies judge it, people waive what they deny, and approve the rest.

A waiver without effect leaves its denial standing, so the run stops without these findings.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import (
    DeniedError,
    FindingsError,
    KgitopsError,
    LockedError,
    SafetyError,
    StaleError,
    UnreachableError,
    UntrustedPlanError,
    UsageError,
)
from kgitops.model.json.declared import DesiredObject
from kgitops.model.json.objects import like
from kgitops.model.requests import Request
from kgitops.model.resources.addresses import broker_address
from kgitops.model.source import Finding, Located, Severity, Source
from kgitops.model.verdict import ExitCode, Reason, Verdict
from kgitops.model.wording import nearest
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Change, LoadedPolicy, Plan, PolicyResult, WaiverUse, denials
from kgitops.plan.phases import in_waves
from kgitops.policy.evaluate.bundle import Bundle, Level, Outcome, Ruling, Waiver
from kgitops.policy.evaluate.protocol import PolicyEvaluator


class PlanRulings(Struct, frozen=True, dict=True):
    """The policies' rulings on the requests of a plan, and the addresses of their objects."""

    by_request: Mapping[str, Sequence[Ruling]] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def failed(self) -> Sequence[tuple[str, Ruling]]:
        """Rulings of policies that did not pass, waived or not, each with the object's address."""
        return [
            (self.addresses[request], ruling)
            for request, rulings in self.by_request.items()
            for ruling in rulings
            if ruling.outcome is not Outcome.PASSED
        ]


def judge_changes(
    changes: Sequence[Change],
    evaluator: PolicyEvaluator,
    state: ClusterState,
    *,
    principal: str,
    today: date,
) -> PlanRulings:
    """Judge the requests of ``changes``; without requests no policy is called (P201-80).

    Each request is judged on the state that those before it leave behind (P201-41), even if one
    that it depends on is denied. A waiver that has ended, or covers too much, lifts nothing.
    """
    addresses = {planned.id: change.address for change in changes for planned in change.requests}
    if not addresses:
        return PlanRulings()
    ordered = in_waves([planned for change in changes for planned in change.requests])
    evaluator.begin(state, principal=principal)
    judged = evaluator.judge_all([planned.request for planned in ordered])
    plan_rulings = PlanRulings(
        {planned.id: rulings for planned, rulings in zip(ordered, judged, strict=True)},
        addresses,
    )
    # Midnight may have passed since the waivers were read.
    ended = [waiver for waiver in waived_violations(plan_rulings) if waiver.expires < today]
    return _without(plan_rulings, [*ended, *_too_wide(plan_rulings)])


def waived_violations(plan_rulings: PlanRulings) -> Mapping[Waiver, set[str]]:
    """Return the fingerprints of the violations that each waiver lifts."""
    waived: dict[Waiver, set[str]] = defaultdict(set)
    for _, ruling in plan_rulings.failed:
        if ruling.waiver is not None and ruling.fingerprint is not None:
            waived[ruling.waiver].add(ruling.fingerprint)
    return waived


def violation_fingerprints(plan_rulings: PlanRulings) -> Mapping[tuple[str, str], list[str]]:
    """Return the fingerprints of each policy's violations per object, waived or not.

    The key is the policy's name and the object's address. A policy that failed has no fingerprint.
    """
    by_object: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for address, ruling in plan_rulings.failed:
        if ruling.fingerprint is not None:
            by_object[ruling.policy, address][ruling.fingerprint] = None
    return {key: list(fingerprints) for key, fingerprints in by_object.items()}


def _too_wide(plan_rulings: PlanRulings) -> Iterator[Waiver]:
    """Waivers without a fingerprint for objects with several violations: they cover only one."""
    violations = violation_fingerprints(plan_rulings)
    for waiver in waived_violations(plan_rulings):
        if waiver.fingerprint is None and len(violations[waiver.policy, waiver.address]) > 1:
            yield waiver


def _without(plan_rulings: PlanRulings, waivers: Sequence[Waiver]) -> PlanRulings:
    """Deny again what these waivers lifted."""
    if not waivers:
        return plan_rulings
    return replace(
        plan_rulings,
        by_request={
            request: [
                replace(ruling, outcome=Outcome.DENIED, waiver=None)
                if ruling.waiver in waivers
                else ruling
                for ruling in rulings
            ]
            for request, rulings in plan_rulings.by_request.items()
        },
    )


Steps = tuple[str | int, ...]

_SPEC: Steps = ("spec",)
_KEYED = ("configs", "quotas")
"""Mappings whose keys may contain dots."""
_PLURALS: Mapping[str, str] = {"principal": "principals", "operation": "operations"}
"""Fields of which a request has one and a document may list several."""


class SourceLookup:
    """Finds the source of a field of a declared object, for policy results."""

    def __init__(self, declared: Sequence[DesiredObject]) -> None:
        self._declared = declared

    @cached_property
    def _located(self) -> Mapping[str, Located]:
        # Built on the first lookup: a plan without violations needs none.
        return {item.address: item.located for item in self._declared}

    def of(self, change: Change, field: str | None) -> Source | None:
        """Return the source of ``field`` of the object, or of the nearest value that contains it.

        Without a field, and for an object that is not declared, it is the change's own source: for
        a deletion the Tombstone's.
        """
        located = self._located.get(change.address)
        if located is None or not field:
            return change.source
        path = _path(field)
        place = located.at(*path)
        plural = _PLURALS.get(field)
        if plural and place == located.at(*_SPEC):
            return located.at(*_SPEC, plural)
        return place


def _path(field: str) -> Steps:
    """Split ``configs.retention.ms`` into the keys that lead to it in the document."""
    if field == "name":
        return "metadata", "name"
    head, _, rest = field.partition(".")
    if not rest:
        return *_SPEC, head
    if head in _KEYED:
        return *_SPEC, head, rest
    steps: Steps = tuple(int(step) if step.isdecimal() else step for step in field.split("."))
    return steps if head == "metadata" else _SPEC + steps


Row = tuple[str, PolicyResult]


def loaded_policies(bundle: Bundle) -> tuple[LoadedPolicy, ...]:
    """Return the policies that judge, as a plan records them."""
    return tuple(
        like(LoadedPolicy, policy) for policy in bundle.policies if policy.level is not Level.OFF
    )


def with_results(
    changes: Sequence[Change], plan_rulings: PlanRulings, sources: SourceLookup
) -> tuple[Change, ...]:
    """Add a row to each change for each policy that passed, and for each violation.

    A violation that several requests of an object share is listed once, for the first of them. Rows
    of policies that passed, which are nearly all, are shared between changes.
    """
    if not plan_rulings.by_request:
        return tuple(changes)
    passed: dict[tuple[Ruling, ...], tuple[PolicyResult, ...]] = {}
    return tuple(_with_results(change, plan_rulings, sources, passed) for change in changes)


def _with_results(
    change: Change,
    plan_rulings: PlanRulings,
    sources: SourceLookup,
    passed: dict[tuple[Ruling, ...], tuple[PolicyResult, ...]],
) -> Change:
    rulings = [
        (planned.id, ruling)
        for planned in change.requests
        for ruling in plan_rulings.by_request.get(planned.id, ())
    ]
    if not rulings:
        return change
    if all(ruling.outcome is Outcome.PASSED for _, ruling in rulings):
        alike = tuple(dict.fromkeys(ruling for _, ruling in rulings))
        if alike not in passed:
            passed[alike] = tuple(map(_passed, alike))
        return replace(change, policies=passed[alike])
    return replace(change, policies=tuple(_rows(change, rulings, sources)))


def _rows(
    change: Change, rulings: Sequence[tuple[str, Ruling]], sources: SourceLookup
) -> Iterator[PolicyResult]:
    for policy in dict.fromkeys(ruling.policy for _, ruling in rulings):
        of_policy = [(request, ruling) for request, ruling in rulings if ruling.policy == policy]
        broken: dict[tuple[str | None, str], tuple[str, Ruling]] = {}
        for request, ruling in of_policy:
            if ruling.outcome is not Outcome.PASSED:
                broken.setdefault((ruling.fingerprint, ruling.message), (request, ruling))
        if not broken:
            yield _passed(of_policy[0][1])
        for request, ruling in broken.values():
            yield PolicyResult(
                policy=ruling.policy,
                level=ruling.level,
                outcome=ruling.outcome,
                message=_whole(ruling.message),
                request=request,
                field=ruling.field and _whole(ruling.field),
                source=sources.of(change, ruling.field),
                fingerprint=ruling.fingerprint,
                waiver=_use(ruling.waiver) if ruling.waiver else None,
            )


def _passed(ruling: Ruling) -> PolicyResult:
    return PolicyResult(policy=ruling.policy, level=ruling.level, outcome=Outcome.PASSED)


def _whole(text: str) -> str:
    """Escape lone surrogates in ``text``, which no file could hold."""
    return text.encode(errors="backslashreplace").decode()


def _use(waiver: Waiver) -> WaiverUse:
    return WaiverUse(
        name=waiver.name,
        owner=waiver.owner,
        reason=waiver.reason,
        ticket=waiver.ticket,
        expires=waiver.expires.isoformat(),
    )


LONGEST = timedelta(days=90)
_SOON = timedelta(days=14)
_NOT_NEEDED = "remove it, or limit it to other clusters with metadata.clusters"


def waiver_problem(
    waiver: Waiver, levels: Mapping[str, Level], today: date
) -> tuple[str, str, str] | None:
    """Explain why a waiver has no effect: the field, the problem, the advice; None if it has.

    ``levels`` are those of the policies on this cluster, ``today`` is a UTC day.
    """
    name = f"the waiver {waiver.name}"
    if waiver.policy not in levels:
        near = nearest(waiver.policy, levels)
        advice = f"did you mean {near}?" if near else "correct it, or remove the waiver"
        return "policy", f"{name} names {waiver.policy}, which is not a policy here", advice
    level = levels[waiver.policy]
    if level is Level.HARD:
        return (
            "policy",
            f"{name} lifts nothing: {waiver.policy} is hard here, and a hard policy can't be "
            "waived",
            f"remove it, or make {waiver.policy} soft in the cluster's policyLevels",
        )
    if level is not Level.SOFT:
        problem = f"{name} is not needed: {waiver.policy} is {level} here, so it stops nothing"
        return "policy", problem, _NOT_NEEDED
    if waiver.expires < today:
        problem = f"{name} ended with {waiver.expires} (UTC), so it lifts nothing"
        return "expires", problem, "remove it, or renew it where it is still needed"
    if waiver.expires - today > LONGEST:
        return (
            "expires",
            f"{name} lifts nothing: it lasts until {waiver.expires}, longer than "
            f"{LONGEST.days} days",
            f"let it end by {today + LONGEST}",
        )
    return None


def expiry_notice(waiver: Waiver, today: date) -> tuple[str, str, str] | None:
    """Warn of a waiver in effect that ends soon: the field, the problem, the advice."""
    remaining = waiver.expires - today
    if remaining > _SOON:
        return None
    when = {0: "today", 1: "tomorrow"}.get(remaining.days, f"in {remaining.days} days")
    return (
        "expires",
        f"the waiver {waiver.name} ends {when}, with {waiver.expires} (UTC)",
        f"fix {waiver.address} by then, or renew the waiver",
    )


def use_of_waivers(
    bundle: Bundle, plan_rulings: PlanRulings, *, addresses: Collection[str] | None
) -> Iterator[Finding]:
    """Report waivers in effect that lifted nothing, after the requests were judged.

    ``addresses`` are those that a waiver may name, None if only a part of them was loaded.
    """
    used = waived_violations(plan_rulings)
    violations = violation_fingerprints(plan_rulings)
    heard = _judged_without_failure(plan_rulings, {waiver.address for waiver in bundle.waivers})
    for waiver in bundle.waivers:
        key = waiver.policy, waiver.address
        if waiver in used:
            continue
        if key in violations:
            problem, advice = _of_another(waiver, violations[key])
        elif key in heard:
            problem = f"is not needed: {waiver.policy} does not deny {waiver.address}"
            advice = "remove it"
        elif addresses is not None and waiver.address not in addresses:
            near = nearest(waiver.address, sorted(addresses))
            problem = f"names {waiver.address}, which is not the address of anything here"
            advice = f"did you mean {near}?" if near else "correct it, or remove the waiver"
        else:  # nothing changes there, so nothing is known
            continue
        yield Finding(
            source=waiver.source,
            problem=f"the waiver {waiver.name} {problem}",
            advice=advice,
            severity=Severity.WARNING,
        )


def _judged_without_failure(
    plan_rulings: PlanRulings, addresses: Collection[str]
) -> set[tuple[str, str]]:
    """Pairs of a policy's name and one of these addresses that it judged without failing."""
    return {
        (ruling.policy, plan_rulings.addresses[request])
        for request, rulings in plan_rulings.by_request.items()
        if plan_rulings.addresses[request] in addresses
        for ruling in rulings
        if not ruling.crashed
    }


def _of_another(waiver: Waiver, fingerprints: Sequence[str]) -> tuple[str, str]:
    """Explain why a waiver was not used although its policy denies the object."""
    named = ", ".join(fingerprints)
    if waiver.fingerprint is None and len(fingerprints) > 1:
        return (
            f"covers nothing: {waiver.policy} denies {waiver.address} for {len(fingerprints)} "
            "reasons, and it does not say which it means",
            f"write a waiver for each, with its fingerprint: {named}",
        )
    if waiver.fingerprint in (None, *fingerprints):
        return f"is not needed: another lifts what {waiver.policy} denies there", "remove one"
    return (
        f"is for another violation: none of {waiver.policy} on {waiver.address} has its "
        f"fingerprint {waiver.fingerprint}",
        f"where this one is to be lifted too, write the fingerprint {named}",
    )


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


_GATE: Final = object()


@dataclass(frozen=True, slots=True)
class ApprovedPlan:
    """A sealed plan that nothing stops; only :func:`approve` creates one."""

    sealed: SealedPlan
    gate: InitVar[object] = None

    def __post_init__(self, gate: object) -> None:
        if gate is not _GATE:
            raise TypeError("an ApprovedPlan comes from approve() only")


def approve(sealed: SealedPlan) -> ApprovedPlan:
    """Approve the plan, so that it can be applied.

    Raises:
        KgitopsError: the plan's own verdict refuses it; the error has the verdict's exit code.
    """
    plan = sealed.plan
    verdict = plan.verdict
    if verdict.stops and len(verdict.reasons) == len(plan.findings):
        raise FindingsError(plan.findings)
    if verdict.stops:
        raise refusal(verdict)
    return ApprovedPlan(sealed, _GATE)


def refusal(verdict: Verdict) -> KgitopsError:
    """Turn a verdict that stops into an error with its exit code and all its sentences."""
    errors: dict[ExitCode, type[KgitopsError]] = {
        error.exit: error
        for error in (
            DeniedError,
            LockedError,
            SafetyError,
            StaleError,
            UnreachableError,
            UntrustedPlanError,
            UsageError,
        )
    }
    sentences = "\n".join(reason.sentence for reason in verdict.reasons)
    return errors.get(verdict.exit, KgitopsError)(sentences, reasons=verdict.reasons)
