"""What the policies say of a plan's requests, in the order in which they are carried out."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property

from kgitops.model.cluster_state import ClusterState
from kgitops.plan.document.plan import Change
from kgitops.plan.order.waves import in_waves
from kgitops.policy.evaluate.judgement import Outcome, Ruling
from kgitops.policy.evaluate.protocol import Judging
from kgitops.policy.evaluate.rules import Waiver


@dataclass(frozen=True)
class Judged:
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
) -> Judged:
    """Let the policies judge what ``changes`` send; without any request nobody is asked (P201-80).

    A request is judged on what those before it leave behind (P201-41), also where one that it
    depends on is denied. A waiver that no longer holds, or covers too much, lifts nothing.
    """
    addresses = {planned.id: change.address for change in changes for planned in change.requests}
    if not addresses:
        return Judged()
    ordered = in_waves([planned for change in changes for planned in change.requests])
    judging.begin(state, principal=principal)
    judgements = judging.judge_all([planned.request for planned in ordered])
    judged = Judged(
        {
            planned.id: judgement.rulings
            for planned, judgement in zip(ordered, judgements, strict=True)
        },
        addresses,
    )
    return _without(judged, [*_ended(judged, today), *_too_wide(judged)])


def lifted(judged: Judged) -> Mapping[Waiver, set[str]]:
    """The violations that each waiver lifts, by their fingerprints."""
    found: dict[Waiver, set[str]] = defaultdict(set)
    for _, ruling in judged.broken:
        if ruling.waiver is not None and ruling.fingerprint is not None:
            found[ruling.waiver].add(ruling.fingerprint)
    return found


def violations(judged: Judged) -> Mapping[tuple[str, str], list[str]]:
    """The fingerprints of what each policy (by name) found wrong with each object, waived or not.

    Where a policy failed there is none.
    """
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for address, ruling in judged.broken:
        if ruling.fingerprint is not None:
            found[ruling.policy, address][ruling.fingerprint] = None
    return {key: list(fingerprints) for key, fingerprints in found.items()}


def _ended(judged: Judged, today: date) -> Iterator[Waiver]:
    """Midnight may have passed since the waivers were read."""
    return (waiver for waiver in lifted(judged) if waiver.expires < today)


def _too_wide(judged: Judged) -> Iterator[Waiver]:
    """Without a fingerprint it covers an object's only violation; requests may differ in theirs."""
    found = violations(judged)
    for waiver in lifted(judged):
        if waiver.fingerprint is None and len(found[waiver.policy, waiver.address]) > 1:
            yield waiver


def _without(judged: Judged, waivers: Sequence[Waiver]) -> Judged:
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
