"""Tests of policies as values: the requests, their cluster, and the expected outcomes."""

from dataclasses import dataclass

from kgitops.manifests.policies.policy_test_requests import RequestStep
from kgitops.model.cluster_state import ClusterState
from kgitops.model.source import Source
from kgitops.policy.evaluate.ruling import Outcome
from kgitops.workflow.policy_tests.report import CaseOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """``policy`` must say ``outcome`` of ``address``; ``message`` is a regular expression."""

    address: str
    policy: str
    outcome: Outcome
    message: str | None
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStep:
    """One request of a case, not yet made: what it is depends on what was accepted before."""

    written: RequestStep
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Requests that are judged in order on ``state``, for ``principal``."""

    name: str
    source: Source
    principal: str
    state: ClusterState
    steps: tuple[CaseStep, ...]
    expect: tuple[Expected, ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A test document.

    ``policy`` is the one under test; ``asked`` are all policies whose rulings count: it, and those
    that cases name. Every other policy is ignored.
    """

    name: str
    source: Source
    policy: str
    asked: frozenset[str]
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleObservation:
    """The outcome of a policy on one request; ``rules`` are the validations that denied.

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
    seen: tuple[RuleObservation, ...]

    @property
    def passed(self) -> bool:
        """True if everything was as expected."""
        return not self.outcome.failures
