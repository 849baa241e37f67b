"""The rulings of policies on one request, and the waivers that lift denials."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.resources.addresses import split_scoped_address
from kgitops.policy.evaluate.bundle import Level, Waiver


class Outcome(StrEnum):
    """The outcome of one policy on one request; the level decides if DENIED stops the request."""

    PASSED = "passed"
    DENIED = "denied"
    WAIVED = "waived"


class Ruling(Struct, frozen=True, kw_only=True):
    """One policy's ruling on one request; a policy that found two violations has two rulings.

    ``crashed``: the policy itself failed or took too long, so nothing is known: it denies, and
    can't be waived. ``fingerprint`` names the violation, None where there is none. ``rule`` is the
    number of the validation that denies, by which coverage counts them.
    """

    policy: str
    level: Level
    outcome: Outcome
    message: str = ""
    field: str | None = None
    fingerprint: str | None = None
    waiver: Waiver | None = None
    crashed: bool = False
    rule: int | None = None

    @property
    def stops(self) -> bool:
        """True if the request may not be carried out because of this ruling."""
        return self.outcome is Outcome.DENIED and self.level.denies


class RequestRulings(tuple[Ruling, ...]):
    """All rulings on one request, in the order of the bundle's policies."""

    @cached_property
    def stops(self) -> bool:
        """True if the request may not be carried out."""
        return any(ruling.stops for ruling in self)

    @property
    def message(self) -> str | None:
        """The messages of the rulings that stop the request, as a broker answers; None without."""
        messages = [ruling.message for ruling in self if ruling.stops and ruling.message]
        return "; ".join(messages) or None


def fingerprint(policy: str, address: str, message: str) -> str:
    """Name a violation: the same words of the same policy about the same object.

    16 hexadecimal digits. Neither the place in a file nor the api is part of it.
    """
    text = "\0".join((policy, address, message))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def apply_waivers(
    rulings: Sequence[Ruling], address: str, waivers: Sequence[Waiver]
) -> RequestRulings:
    """The rulings on one request, with those that a waiver covers marked as waived.

    Only a soft policy's violation can be waived: never a hard one's, never a policy that crashed.
    A waiver without a fingerprint covers the policy's only violation of the object, or none.
    """
    if not waivers or not any(ruling.outcome is Outcome.DENIED for ruling in rulings):
        return RequestRulings(rulings)
    return RequestRulings(_waived(ruling, rulings, address, waivers) for ruling in rulings)


def _waived(
    ruling: Ruling, rulings: Sequence[Ruling], address: str, waivers: Sequence[Waiver]
) -> Ruling:
    if ruling.outcome is not Outcome.DENIED or ruling.level is not Level.SOFT or ruling.crashed:
        return ruling
    fingerprints = {other.fingerprint for other in rulings if other.policy == ruling.policy}
    addresses = _waivable_addresses(address)
    for waiver in waivers:
        if waiver.policy != ruling.policy or waiver.address not in addresses:
            continue
        if waiver.fingerprint == ruling.fingerprint or (
            waiver.fingerprint is None and len(fingerprints) == 1
        ):
            return replace(ruling, outcome=Outcome.WAIVED, waiver=waiver)
    return ruling


def _waivable_addresses(address: str) -> tuple[str, ...]:
    """The address, and a link's topic: plans show a forgotten topic's link below the topic."""
    parts = split_scoped_address(address)
    if parts is None or parts.segment != "link":
        return (address,)
    return address, address.replace("/link/", "/topic/", 1)
