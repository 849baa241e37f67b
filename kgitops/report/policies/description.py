"""What there is to say of a policy of a project, as values for every format."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from kgitops.policy.evaluate.rules import CelPolicy, Level, Policy, Waiver


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOf:
    """A config of a policy in Python: what it means, its default, and what the project gives."""

    key: str
    meaning: str
    default: str | None = None
    given: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDescription:
    """A policy as it judges on ``cluster``; its ``default`` level is that of no cluster's own.

    ``levels`` are those on each cluster of the project, None where its settings can't be read.
    ``judges`` are the requests, empty for all, None where its class can't be loaded.
    ``waivers`` are those that hold on the cluster ``today``.
    """

    policy: Policy
    cluster: str
    default: Level
    levels: Mapping[str, Level | None]
    judges: tuple[str, ...] | None
    docstring: str = ""
    settings: tuple[SettingOf, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min

    @property
    def form(self) -> str:
        """What it is written in."""
        return "CEL" if isinstance(self.policy, CelPolicy) else "Python"

    @property
    def requests(self) -> str:
        """The requests that it judges, as a list in one text."""
        if self.judges is None:
            return "unknown: it can't be loaded"
        return ", ".join(self.judges) or "every request"

    def days_left(self, waiver: Waiver) -> int:
        """The days until the waiver ends, 0 on its last one."""
        return (waiver.expires - self.today).days
