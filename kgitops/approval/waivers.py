"""Checks which waivers are in effect today, and reports findings about waivers as warnings.

A waiver without effect leaves its denial standing, so the run stops without these findings.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta

from kgitops.approval.rulings import PlanRulings, violation_fingerprints, waived_violations
from kgitops.model.source import Finding, Severity
from kgitops.model.wording import nearest
from kgitops.policy.evaluate.bundle import Bundle, Level, Waiver

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
