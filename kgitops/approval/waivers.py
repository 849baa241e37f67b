"""Which waivers hold today, and what is to be said about waivers: each is a finding, none an error.

A waiver that does not hold leaves the denial standing, so the run stops without any help of these.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from difflib import get_close_matches

from kgitops.approval.rulings import PlanRulings, violations, waived_violations
from kgitops.model.source import Finding, Severity
from kgitops.policy.evaluate.rules import Bundle, Level, Waiver

LONGEST = timedelta(days=90)
_SOON = timedelta(days=14)
_NOT_NEEDED = "remove it, or limit it to other clusters with metadata.clusters"


def waiver_problem(
    waiver: Waiver, levels: Mapping[str, Level], today: date
) -> tuple[str, str, str] | None:
    """Why a waiver does not hold: the field that says so, the problem, the advice; None if it does.

    ``levels`` are the policies' on this cluster, ``today`` is a UTC day.
    """
    said = f"the waiver {waiver.name}"
    if waiver.policy not in levels:
        near = get_close_matches(waiver.policy, levels, n=1)
        advice = f"did you mean {near[0]}?" if near else "correct it, or remove the waiver"
        return "policy", f"{said} names {waiver.policy}, which is no policy here", advice
    level = levels[waiver.policy]
    if level is Level.HARD:
        return (
            "policy",
            f"{said} lifts nothing: {waiver.policy} is hard here, and a hard policy can't be "
            "waived",
            f"remove it, or make {waiver.policy} soft in the cluster's policyLevels",
        )
    if level is not Level.SOFT:
        problem = f"{said} is not needed: {waiver.policy} is {level} here, so it stops nothing"
        return "policy", problem, _NOT_NEEDED
    if waiver.expires < today:
        problem = f"{said} ended with {waiver.expires} (UTC), so it lifts nothing"
        return "expires", problem, "remove it, or renew it where it is still needed"
    if waiver.expires - today > LONGEST:
        return (
            "expires",
            f"{said} lifts nothing: it lasts until {waiver.expires}, longer than "
            f"{LONGEST.days} days",
            f"let it end by {today + LONGEST}",
        )
    return None


def expiry_notice(waiver: Waiver, today: date) -> tuple[str, str, str] | None:
    """That a waiver which holds has few days left: the field, the problem, the advice."""
    left = waiver.expires - today
    if left > _SOON:
        return None
    when = {0: "today", 1: "tomorrow"}.get(left.days, f"in {left.days} days")
    return (
        "expires",
        f"the waiver {waiver.name} ends {when}, with {waiver.expires} (UTC)",
        f"mend {waiver.address} until then, or renew the waiver",
    )


def use_of_waivers(
    bundle: Bundle, judged: PlanRulings, *, known: Collection[str] | None
) -> Iterator[Finding]:
    """What is to be said of the waivers that hold, once the requests were judged.

    ``known`` are the addresses that a waiver may name, None where only a part of them was loaded.
    """
    used = waived_violations(judged)
    found = violations(judged)
    heard = _heard(judged, {waiver.address for waiver in bundle.waivers})
    for waiver in bundle.waivers:
        key = waiver.policy, waiver.address
        if waiver in used:
            continue
        if key in found:
            problem, advice = _of_another(waiver, found[key])
        elif key in heard:
            problem = f"is not needed: {waiver.policy} does not deny {waiver.address}"
            advice = "remove it"
        elif known is not None and waiver.address not in known:
            near = get_close_matches(waiver.address, sorted(known), n=1)
            problem = f"names {waiver.address}, which nothing here has for an address"
            advice = f"did you mean {near[0]}?" if near else "correct it, or remove the waiver"
        else:  # nothing changes there, so nothing is known
            continue
        yield Finding(
            source=waiver.source,
            problem=f"the waiver {waiver.name} {problem}",
            advice=advice,
            severity=Severity.WARNING,
        )


def _heard(judged: PlanRulings, addresses: Collection[str]) -> set[tuple[str, str]]:
    """What policies, by name, said anything but a failure of which of these objects."""
    return {
        (ruling.policy, judged.addresses[request])
        for request, rulings in judged.rulings.items()
        if judged.addresses[request] in addresses
        for ruling in rulings
        if not ruling.crashed
    }


def _of_another(waiver: Waiver, fingerprints: Sequence[str]) -> tuple[str, str]:
    """It holds, the policy denies there, and yet it was not used."""
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
