"""The report of a run of policy tests, as values for every format."""

from collections.abc import Sequence

from msgspec import Struct

from kgitops.model.source import Source


class Failure(Struct, frozen=True, kw_only=True):
    """An unmet expectation at ``source``: expected, actual, and advice where it is not plain."""

    source: Source
    expected: str
    came: str
    advice: str = ""


class RuleObservation(Struct, frozen=True, kw_only=True):
    """The outcome of a policy on one request; ``rules`` are the validations that denied.

    ``api`` is the request's, which in Python names the method.
    """

    policy: str
    api: str
    denied: bool
    rules: frozenset[int] = frozenset()


class CaseOutcome(Struct, frozen=True, kw_only=True):
    """One case; it passed where nothing failed. ``seen`` is what policies said, for coverage."""

    name: str
    source: Source
    failures: tuple[Failure, ...] = ()
    seen: tuple[RuleObservation, ...] = ()


class SuiteOutcome(Struct, frozen=True, kw_only=True):
    """One test document and the policy that it tests."""

    name: str
    policy: str
    source: Source
    cases: tuple[CaseOutcome, ...]

    @property
    def failed(self) -> tuple[CaseOutcome, ...]:
        """The cases that did not pass."""
        return tuple(case for case in self.cases if case.failures)


class Covered(Struct, frozen=True, kw_only=True):
    """A rule of a policy, and whether a test saw it deny and saw it let something pass.

    In CEL each validation is a rule, in Python each method that judges.
    """

    policy: str
    rule: str
    source: Source | None
    fired: bool
    silent: bool


class Survivor(Struct, frozen=True, kw_only=True):
    """A mistake in a policy that no test noticed: where, ``what → other``, and the code there."""

    source: Source
    what: str
    excerpt: str


class MutationOutcome(Struct, frozen=True, kw_only=True):
    """The number of mutants, the number that tests caught, and those that survived.

    Of the caught ones ``timed_out`` had an endless loop.
    """

    total: int
    caught: int
    timed_out: int
    survivors: tuple[Survivor, ...]

    @property
    def score(self) -> float:
        """The percentage of mutants that were caught."""
        return 100 * self.caught / self.total if self.total else 100.0


class PolicyTestReport(Struct, frozen=True, kw_only=True):
    """One run: the suites, and the coverage and mutation score where they are requested.

    ``untested`` are policies of the project that no document tests. ``covered`` is None where
    coverage was not asked for. ``least_covered`` and ``least_score`` are percentages that are
    required, None where none is. ``not_mutated`` says that mutants make no sense while cases fail.
    """

    suites: tuple[SuiteOutcome, ...]
    untested: tuple[str, ...] = ()
    covered: tuple[Covered, ...] | None = None
    least_covered: float | None = None
    mutation: MutationOutcome | None = None
    least_score: float | None = None
    not_mutated: bool = False

    @property
    def cases(self) -> int:
        """The number of cases."""
        return sum(len(suite.cases) for suite in self.suites)

    @property
    def failed(self) -> int:
        """The number of cases that failed."""
        return sum(len(suite.failed) for suite in self.suites)

    @property
    def uncovered(self) -> bool:
        """True if less is covered than required."""
        required = self.least_covered
        return required is not None and percent_covered(self.covered or ()) < required

    @property
    def survived(self) -> bool:
        """True if fewer mutants were caught than required."""
        mutation, required = self.mutation, self.least_score
        return mutation is not None and required is not None and mutation.score < required

    @property
    def passed(self) -> bool:
        """True if nothing failed and the required percentages are met: the exit code."""
        return not (self.failed or self.uncovered or self.survived)


def percent_covered(covered: Sequence[Covered]) -> float:
    """The share of what there is to see that was seen: each rule firing, and staying silent."""
    seen = sum(item.fired + item.silent for item in covered)
    return 100 * seen / (2 * len(covered)) if covered else 100.0
