"""The verdict of the policies on one request, as values, and the denials that waivers lift."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from kgitops.model.resources.addresses import split_scoped_address
from kgitops.policy.evaluate.bundle import Level, Waiver


class Outcome(StrEnum):
    """What a policy said of a request, whatever its level: only soft and hard denials stop it."""

    PASSED = "passed"
    DENIED = "denied"
    WAIVED = "waived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What one policy said of one request; a policy that found two things wrong has two rulings.

    ``crashed``: the policy itself failed or took too long, so nothing is known: it denies, and
    can't be waived. ``fingerprint`` names the violation, None where there is none. ``rule`` is the
    number of the validation that denies, for those who count which of them do.
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
        """Whether the request may not be carried out because of this."""
        return self.outcome is Outcome.DENIED and self.level.denies


@dataclass(frozen=True)
class Judgement:
    """All rulings on one request, in the order of the bundle's policies."""

    rulings: tuple[Ruling, ...] = ()

    @cached_property
    def stops(self) -> bool:
        """Whether the request may not be carried out."""
        return any(ruling.stops for ruling in self.rulings)

    @property
    def message(self) -> str | None:
        """What a broker answers: the words of what stops the request, None where there are none."""
        words = [ruling.message for ruling in self.rulings if ruling.stops and ruling.message]
        return "; ".join(words) or None


def fingerprint(policy: str, address: str, message: str) -> str:
    """The name of a violation: the same words of the same policy about the same object.

    16 hexadecimal digits. Neither the place in a file nor the api is part of it.
    """
    text = "\0".join((policy, address, message))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


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
