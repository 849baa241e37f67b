"""Policies and waivers as values, and the rulings of policies on one request.

A bundle travels to a worker process: everything here can be pickled, and nothing here is code.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model.resources.addresses import split_scoped_address
from kgitops.model.source import Finding, Source

_NAME_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z]|\b)|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def kebab_case(name: str) -> str:
    """``TeamPrefix`` as ``team-prefix``: the name of a policy in Python that is given none."""
    return "-".join(word.lower() for word in _NAME_PARTS.findall(name)) or name


class Level(StrEnum):
    """The level at which a policy binds on a cluster, from the weakest to the strongest."""

    OFF = "off"
    INFO = "info"
    ADVISORY = "advisory"
    SOFT = "soft"
    HARD = "hard"

    @property
    def denies(self) -> bool:
        """True if a violation stops the run: soft may be waived, hard may not."""
        return self in (Level.SOFT, Level.HARD)

    def rank(self) -> int:
        """The position among the levels, 0 for the weakest."""
        return tuple(Level).index(self)

    def weaker_than(self, other: "Level") -> bool:
        """Return whether this level binds less."""
        return self.rank() < other.rank()


class RequestMatch(Struct, frozen=True, kw_only=True):
    """The requests that a CEL policy judges; an empty field matches everything.

    ``requests`` are api names (``CreateTopic``); ``names`` patterns of the object's name, with
    ``*`` and ``?``.
    """

    requests: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class CelExpression(Struct, frozen=True, kw_only=True):
    """A CEL expression with a name; ``source`` is its place in a file."""

    name: str
    expression: str
    source: Source | None = None


class CelValidation(Struct, frozen=True, kw_only=True):
    """A condition in CEL that must be true; ``field`` is the part of the object that it is about.

    ``message`` or, computed, ``message_expression`` tells the user that it is not true. ``source``
    is the place of the expression, ``message_source`` that of the message's.
    """

    expression: str
    message: str | None = None
    message_expression: str | None = None
    field: str | None = None
    source: Source | None = None
    message_source: Source | None = None


class CelPolicy(Struct, frozen=True, kw_only=True):
    """A ``kind: Policy`` document, in the shape of Kubernetes' ValidatingAdmissionPolicy.

    ``digest`` covers all that it decides by, not its place.
    """

    name: str
    level: Level
    digest: str
    description: str = ""
    remediation: str = ""
    source: Source | None = None
    match: RequestMatch = RequestMatch()
    match_conditions: tuple[CelExpression, ...] = ()
    variables: tuple[CelExpression, ...] = ()
    validations: tuple[CelValidation, ...] = ()


class PythonPolicy(Struct, frozen=True, kw_only=True):
    """A class that implements one or more of the interfaces, by ``module:Class``.

    ``folder`` is put first on the import path, so that a project's own modules are found.
    ``configure`` gets the ``configs``.
    """

    name: str
    level: Level
    digest: str
    class_: str
    description: str = ""
    remediation: str = ""
    source: Source | None = None
    folder: Path | None = None
    configs: Mapping[str, str] = field(default_factory=dict)


Policy = CelPolicy | PythonPolicy


class Waiver(Struct, frozen=True, kw_only=True):
    """An exception from a soft policy for one object, through the end of ``expires`` (UTC).

    ``fingerprint`` binds it to one violation; without one it covers an object's only violation.
    """

    name: str
    policy: str
    address: str
    owner: str
    reason: str
    ticket: str
    expires: date
    fingerprint: str | None = None
    source: Source | None = None


class Bundle(Struct, frozen=True, kw_only=True):
    """The policies of one cluster, at their levels there, with the waivers that hold and the day.

    ``today`` is the UTC day for which waivers were checked; ``waivers`` are those that hold on it,
    and ``warnings`` explain why others don't. ``hidden_env`` are environment variables that hold
    passwords of users: the process that judges is started without them.
    """

    policies: tuple[Policy, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    warnings: tuple[Finding, ...] = ()
    hidden_env: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.policies)


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
