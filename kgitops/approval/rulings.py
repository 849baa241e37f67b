"""The policies' rulings on a plan's requests, and the rows that a plan shows of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredObject
from kgitops.model.json.objects import like
from kgitops.model.source import Located, Source
from kgitops.plan.document.plan import Change
from kgitops.plan.document.policies import LoadedPolicy, PolicyResult, WaiverUse
from kgitops.plan.order.waves import in_waves
from kgitops.policy.evaluate.bundle import Bundle, Level, Waiver
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.evaluate.ruling import Outcome, Ruling


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
