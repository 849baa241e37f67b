"""What planning one kind yields; the kinds' outcomes add up to a plan."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Change, Drift, Kept


@dataclass(slots=True)
class Outcome:
    """Gathers while one kind is planned; nothing stops at the first problem."""

    changes: list[Change] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    refusals: list[Reason] = field(default_factory=list)

    def refuse(self, sentence: str) -> None:
        """A safety rule says no (exit 5)."""
        self.refusals.append(Reason(exit=ExitCode.REFUSED, sentence=sentence))

    def keep(self, address: str, rule: str) -> None:
        """The object is left alone because of ``rule``."""
        self.kept.append(Kept(address=address, rule=rule))


def merge(outcomes: Iterable[Outcome]) -> Outcome:
    """All outcomes as one, in their order."""
    total = Outcome()
    for outcome in outcomes:
        total.changes += outcome.changes
        total.drift += outcome.drift
        total.kept += outcome.kept
        total.findings += outcome.findings
        total.warnings += outcome.warnings
        total.refusals += outcome.refusals
    return total
