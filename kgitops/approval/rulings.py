"""The policies' rulings on a plan's requests, and the rows that a plan shows of them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property

from kgitops.desired.state import DesiredObject
from kgitops.model.cluster_state import ClusterState
from kgitops.model.source import Located, Source
from kgitops.plan.document.plan import Change
from kgitops.plan.document.policies import LoadedPolicy, PolicyResult, WaiverUse
from kgitops.plan.order.waves import in_waves
from kgitops.policy.evaluate.protocol import Judging
from kgitops.policy.evaluate.rules import Bundle, Level, Waiver
from kgitops.policy.evaluate.verdict import Outcome, Ruling


@dataclass(frozen=True)
class PlanRulings:
    """The rulings on each judged request by its id, and the address of its object."""

    rulings: Mapping[str, Sequence[Ruling]] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def broken(self) -> Sequence[tuple[str, Ruling]]:
        """Every ruling of a policy that did not pass, waived or not, with the object's address."""
        return [
            (self.addresses[request], ruling)
            for request, rulings in self.rulings.items()
            for ruling in rulings
            if ruling.outcome is not Outcome.PASSED
        ]


def judge_changes(
    changes: Sequence[Change],
    judging: Judging,
    state: ClusterState,
    *,
    principal: str,
    today: date,
) -> PlanRulings:
    """Let the policies judge what ``changes`` send; without any request nobody is asked (P201-80).

    A request is judged on what those before it leave behind (P201-41), also where one that it
    depends on is denied. A waiver that no longer holds, or covers too much, lifts nothing.
    """
    addresses = {planned.id: change.address for change in changes for planned in change.requests}
    if not addresses:
        return PlanRulings()
    ordered = in_waves([planned for change in changes for planned in change.requests])
    judging.begin(state, principal=principal)
    judgements = judging.judge_all([planned.request for planned in ordered])
    judged = PlanRulings(
        {
            planned.id: judgement.rulings
            for planned, judgement in zip(ordered, judgements, strict=True)
        },
        addresses,
    )
    return _without(judged, [*_ended(judged, today), *_too_wide(judged)])


def waived_violations(judged: PlanRulings) -> Mapping[Waiver, set[str]]:
    """The violations that each waiver lifts, by their fingerprints."""
    found: dict[Waiver, set[str]] = defaultdict(set)
    for _, ruling in judged.broken:
        if ruling.waiver is not None and ruling.fingerprint is not None:
            found[ruling.waiver].add(ruling.fingerprint)
    return found


def violations(judged: PlanRulings) -> Mapping[tuple[str, str], list[str]]:
    """The fingerprints of what each policy (by name) found wrong with each object, waived or not.

    Where a policy failed there is none.
    """
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for address, ruling in judged.broken:
        if ruling.fingerprint is not None:
            found[ruling.policy, address][ruling.fingerprint] = None
    return {key: list(fingerprints) for key, fingerprints in found.items()}


def _ended(judged: PlanRulings, today: date) -> Iterator[Waiver]:
    """Midnight may have passed since the waivers were read."""
    return (waiver for waiver in waived_violations(judged) if waiver.expires < today)


def _too_wide(judged: PlanRulings) -> Iterator[Waiver]:
    """Without a fingerprint it covers an object's only violation; requests may differ in theirs."""
    found = violations(judged)
    for waiver in waived_violations(judged):
        if waiver.fingerprint is None and len(found[waiver.policy, waiver.address]) > 1:
            yield waiver


def _without(judged: PlanRulings, waivers: Sequence[Waiver]) -> PlanRulings:
    """The same where these waivers lift nothing."""
    if not waivers:
        return judged
    return replace(
        judged,
        rulings={
            request: [
                replace(ruling, outcome=Outcome.DENIED, waiver=None)
                if ruling.waiver in waivers
                else ruling
                for ruling in rulings
            ]
            for request, rulings in judged.rulings.items()
        },
    )


Steps = tuple[str | int, ...]

_SPEC: Steps = ("spec",)
_KEYED = ("configs", "quotas")
"""Below these a key may hold dots."""
_PLURALS: Mapping[str, str] = {"principal": "principals", "operation": "operations"}
"""What a request has one of and a document may list."""


class SourceLookup:
    """The declared objects by address, to look places up in."""

    def __init__(self, declared: Sequence[DesiredObject]) -> None:
        self._declared = declared

    @cached_property
    def _located(self) -> Mapping[str, Located]:
        # Made when the first is looked up: where nothing is wrong nobody asks.
        return {item.address: item.located for item in self._declared}

    def of(self, change: Change, field: str | None) -> Source | None:
        """Where ``field`` of the object stands, or the nearest that holds it.

        Without a field, and where the object is not declared, it is the change's own place: of a
        deletion the Tombstone.
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
    """``configs.retention.ms`` as steps into the document."""
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
    """The policies that judge, as a plan records them."""
    return tuple(
        LoadedPolicy(
            name=policy.name,
            level=policy.level,
            digest=policy.digest,
            description=policy.description,
            remediation=policy.remediation,
            source=policy.source,
        )
        for policy in bundle.policies
        if policy.level is not Level.OFF
    )


def with_results(
    changes: Sequence[Change], judged: PlanRulings, sources: SourceLookup
) -> tuple[Change, ...]:
    """The changes with one row for each policy that passed, and one for each violation.

    What two requests of an object have wrong alike is said once, of the first. The rows of policies
    that passed are shared: nearly all are.
    """
    if not judged.rulings:
        return tuple(changes)
    passed: dict[tuple[Ruling, ...], tuple[PolicyResult, ...]] = {}
    return tuple(_with_results(change, judged, sources, passed) for change in changes)


def _with_results(
    change: Change,
    judged: PlanRulings,
    sources: SourceLookup,
    passed: dict[tuple[Ruling, ...], tuple[PolicyResult, ...]],
) -> Change:
    said = [
        (planned.id, ruling)
        for planned in change.requests
        for ruling in judged.rulings.get(planned.id, ())
    ]
    if not said:
        return change
    if all(ruling.outcome is Outcome.PASSED for _, ruling in said):
        alike = tuple(dict.fromkeys(ruling for _, ruling in said))
        if alike not in passed:
            passed[alike] = tuple(map(_passed, alike))
        return replace(change, policies=passed[alike])
    return replace(change, policies=tuple(_rows(change, said, sources)))


def _rows(
    change: Change, said: Sequence[tuple[str, Ruling]], sources: SourceLookup
) -> Iterator[PolicyResult]:
    for policy in dict.fromkeys(ruling.policy for _, ruling in said):
        rulings = [(request, ruling) for request, ruling in said if ruling.policy == policy]
        broken: dict[tuple[str | None, str], tuple[str, Ruling]] = {}
        for request, ruling in rulings:
            if ruling.outcome is not Outcome.PASSED:
                broken.setdefault((ruling.fingerprint, ruling.message), (request, ruling))
        if not broken:
            yield _passed(rulings[0][1])
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
    """``text`` without halves of characters, which no file could hold."""
    return text.encode(errors="backslashreplace").decode()


def _use(waiver: Waiver) -> WaiverUse:
    return WaiverUse(
        name=waiver.name,
        owner=waiver.owner,
        reason=waiver.reason,
        ticket=waiver.ticket,
        expires=waiver.expires.isoformat(),
    )
