"""Which denials a waiver lifts."""

from collections.abc import Sequence
from dataclasses import replace

from kgitops.model.resources.addresses import split_scoped_address
from kgitops.policy.evaluate.judgement import Outcome, Ruling
from kgitops.policy.evaluate.rules import Level, Waiver


def waived(
    rulings: Sequence[Ruling], address: str, waivers: Sequence[Waiver]
) -> tuple[Ruling, ...]:
    """The rulings on one request, those that a waiver covers as waived.

    Only a soft policy's violation can be: never a hard one's, never a policy that crashed. A
    waiver without a fingerprint covers the policy's only violation of the object, or none.
    """
    if not waivers or not any(ruling.outcome is Outcome.DENIED for ruling in rulings):
        return tuple(rulings)
    return tuple(_waived(ruling, rulings, address, waivers) for ruling in rulings)


def _waived(
    ruling: Ruling, rulings: Sequence[Ruling], address: str, waivers: Sequence[Waiver]
) -> Ruling:
    if ruling.outcome is not Outcome.DENIED or ruling.level is not Level.SOFT or ruling.crashed:
        return ruling
    found = {item.fingerprint for item in rulings if item.policy == ruling.policy}
    addresses = _addresses(address)
    for waiver in waivers:
        if waiver.policy != ruling.policy or waiver.address not in addresses:
            continue
        if waiver.fingerprint == ruling.fingerprint or (
            waiver.fingerprint is None and len(found) == 1
        ):
            return replace(ruling, outcome=Outcome.WAIVED, waiver=waiver)
    return ruling


def _addresses(address: str) -> tuple[str, ...]:
    """A topic that is forgotten loses its link alone: plans show that below the topic's address."""
    found = split_scoped_address(address)
    if found is None or found.segment != "link":
        return (address,)
    return address, address.replace("/link/", "/topic/", 1)
