"""What the policies said, as the rows of a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgitops.approval.places import Places
from kgitops.approval.rulings import Judged
from kgitops.plan.document.plan import Change
from kgitops.plan.document.policies import LoadedPolicy, PolicyResult, WaiverUse
from kgitops.policy.evaluate.judgement import Outcome, Ruling
from kgitops.policy.evaluate.rules import Bundle, Level, Waiver

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


def with_results(changes: Sequence[Change], judged: Judged, places: Places) -> tuple[Change, ...]:
    """The changes with one row for each policy that passed, and one for each violation.

    What two requests of an object have wrong alike is said once, of the first. The rows of policies
    that passed are shared: nearly all are.
    """
    if not judged.rulings:
        return tuple(changes)
    passed: dict[tuple[Ruling, ...], tuple[PolicyResult, ...]] = {}
    return tuple(_with_results(change, judged, places, passed) for change in changes)


def _with_results(
    change: Change,
    judged: Judged,
    places: Places,
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
    return replace(change, policies=tuple(_rows(change, said, places)))


def _rows(
    change: Change, said: Sequence[tuple[str, Ruling]], places: Places
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
                source=places.of(change, ruling.field),
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
