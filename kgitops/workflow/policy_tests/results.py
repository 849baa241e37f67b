"""What came of a case, and what it saw of the policies' rules."""

from dataclasses import dataclass

from kgitops.workflow.policy_tests.report import CaseOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a policy said of one request; ``rules`` are the validations that denied.

    ``api`` is the request's, which in Python names the method.
    """

    policy: str
    api: str
    denied: bool
    rules: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case that ran."""

    outcome: CaseOutcome
    seen: tuple[Seen, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.outcome.failures
