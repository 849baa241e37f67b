"""The name of a policy in Python to which nobody gave one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path

from kgitops.model.source import Finding, Source

_NAME_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z]|\b)|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def kebab_case(name: str) -> str:
    """``TeamPrefix`` as ``team-prefix``."""
    return "-".join(word.lower() for word in _NAME_PARTS.findall(name)) or name


class Level(StrEnum):
    """How binding a policy is on a cluster; in this order, the first is the weakest."""

    OFF = "off"
    INFO = "info"
    ADVISORY = "advisory"
    SOFT = "soft"
    HARD = "hard"

    @property
    def denies(self) -> bool:
        """Whether a violation stops the run: soft may be waived, hard may not."""
        return self in (Level.SOFT, Level.HARD)

    def rank(self) -> int:
        """How much it binds, beside the other levels."""
        return tuple(Level).index(self)

    def weaker_than(self, other: "Level") -> bool:
        """Whether this level binds less."""
        return self.rank() < other.rank()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMatch:
    """Which requests a CEL policy judges; what is empty matches everything.

    ``requests`` are api names (``CreateTopic``); ``names`` patterns of the object's name, with
    ``*`` and ``?``.
    """

    requests: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CelExpression:
    """A CEL expression with a name; ``source`` is where it stands."""

    name: str
    expression: str
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CelValidation:
    """What must be true, in CEL; ``field`` says which part of the object is wrong where it is not.

    ``message`` or, computed, ``message_expression`` is what the user is told. ``source`` is where
    the expression stands, ``message_source`` where the message's does.
    """

    expression: str
    message: str | None = None
    message_expression: str | None = None
    field: str | None = None
    source: Source | None = None
    message_source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CelPolicy:
    """A ``kind: Policy`` document, in the shape of Kubernetes' ValidatingAdmissionPolicy.

    ``digest`` covers what it decides, not where it stands.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPolicy:
    """A class that implements one or more of the interfaces, by ``module:Class``.

    ``folder`` is put first on the import path, so that a project's own modules are found.
    ``configs`` is what ``configure`` gets.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """All that judges requests on one cluster: policies at their levels there, waivers, the day.

    ``today`` is the UTC day on which waivers are looked at; ``waivers`` holds those that hold on
    it, and ``warnings`` says why others don't.
    """

    policies: tuple[Policy, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    warnings: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.policies)
