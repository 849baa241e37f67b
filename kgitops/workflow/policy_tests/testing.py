"""A whole run of policy tests: the cases, then the rules that they cover, then mutants."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from msgspec import Struct

from kgitops.manifests.files import display_name
from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import Bundle, CelPolicy, Policy, PythonPolicy
from kgitops.policy.evaluator import open_evaluator
from kgitops.workflow.loading import OnStage, ignore_stage
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy
from kgitops.workflow.policy_tests.mutants.mutants import make_mutants, outcome_of
from kgitops.workflow.policy_tests.mutants.pool import TrialPool
from kgitops.workflow.policy_tests.project import TestProject, open_test_project
from kgitops.workflow.policy_tests.report import (
    Covered,
    MutationOutcome,
    PolicyTestReport,
    RuleObservation,
    SuiteOutcome,
)
from kgitops.workflow.policy_tests.running import run_case
from kgitops.workflow.project.selection import Workspace


class TestedRule(Struct, frozen=True, kw_only=True):
    """A rule: in CEL the validation with ``number``, in Python the method for ``api``.

    Several policies have it where tests configure one class in several ways.
    """

    policies: tuple[str, ...]
    name: str
    source: Source | None
    number: int | None = None
    api: str | None = None

    def judged(self, seen: RuleObservation) -> bool:
        """Return whether the rule was asked there."""
        return seen.policy in self.policies and self.api in (None, seen.api)

    def fired(self, seen: RuleObservation) -> bool:
        """Return whether it denied there."""
        return seen.denied if self.number is None else self.number in seen.rules


def cover(
    policies: Iterable[Policy],
    anatomies: Mapping[str, Anatomy],
    seen: Sequence[RuleObservation],
    *,
    of_project: Collection[str],
) -> tuple[Covered, ...]:
    """The coverage of each rule of each policy by the tests.

    Those of ``policies`` that the project does not name count as one where they are of one class:
    tests configure it in several ways to cover all of it.
    """
    return tuple(
        Covered(
            policy=rule.policies[0],
            rule=rule.name,
            source=rule.source,
            fired=any(rule.fired(item) for item in seen if rule.judged(item)),
            silent=any(not rule.fired(item) for item in seen if rule.judged(item)),
        )
        for alike in _alike(policies, of_project)
        for rule in _rules(alike, anatomies)
    )


def _alike(policies: Iterable[Policy], of_project: Collection[str]) -> Iterable[Sequence[Policy]]:
    together: dict[str, list[Policy]] = {}
    for policy in policies:
        key = policy.name
        if isinstance(policy, PythonPolicy) and policy.name not in of_project:
            key = policy.class_
        together.setdefault(key, []).append(policy)
    return together.values()


def _rules(policies: Sequence[Policy], anatomies: Mapping[str, Anatomy]) -> Iterator[TestedRule]:
    names = tuple(policy.name for policy in policies)
    match policies[0]:
        case CelPolicy(validations=validations, source=source):
            for number, validation in enumerate(validations):
                yield TestedRule(
                    policies=names,
                    name=f"validation {number + 1}",
                    source=validation.source or source,
                    number=number,
                )
        case PythonPolicy(name=name):
            for method in anatomies[name].methods:
                place = Source(display_name(Path(method.file)), method.line, 1)
                yield TestedRule(policies=names, name=method.api, source=place, api=method.api)


class PolicyTestOptions(Struct, frozen=True, kw_only=True):
    """The options of a run; the two ``least`` are required percentages, None for none."""

    coverage: bool = False
    least_covered: float | None = None
    mutate: bool = False
    least_score: float | None = None


def run_policy_tests(
    workspace: Workspace, options: PolicyTestOptions, on_stage: OnStage = ignore_stage
) -> PolicyTestReport:
    """Run the tests below the paths that were given; policies run in processes of their own.

    Raises:
        FindingsError: with every finding of policies and tests.
        UsageError: there is no test.
    """
    on_stage("reading policies and tests")
    project = open_test_project(workspace)
    on_stage("running the cases")
    suites = _run(project)
    failed = any(suite.failed for suite in suites)
    tested = {suite.policy for suite in project.suites}
    of_project = project.of_project if workspace.whole else ()
    untested = tuple(name for name in of_project if name not in tested)
    mutate = options.mutate and not failed
    looked_at = [
        policy for policy in project.policies if policy.name in tested or policy.name in untested
    ]
    covered = mutation = None
    with ExitStack() as stack:
        pool = TrialPool(project.policies, project.suites)
        anatomies: Mapping[str, Anatomy] = {}
        is_python = any(not isinstance(policy, CelPolicy) for policy in looked_at)
        if mutate or (options.coverage and is_python):
            on_stage("looking at the policies")
            anatomies = stack.enter_context(pool).anatomies
        if options.coverage:
            seen = [item for suite in suites for case in suite.cases for item in case.seen]
            covered = cover(looked_at, anatomies, seen, of_project=project.of_project)
        if mutate:
            under_test = [policy for policy in looked_at if policy.name in tested]
            mutation = _mutation(pool, project, under_test, on_stage)
    return PolicyTestReport(
        suites=suites,
        untested=untested,
        covered=covered,
        least_covered=options.least_covered,
        mutation=mutation,
        least_score=options.least_score if options.mutate else None,
        not_mutated=options.mutate and failed,
    )


def _run(project: TestProject) -> tuple[SuiteOutcome, ...]:
    """The suites' outcomes, judged by one worker that holds all policies."""
    with closing(open_evaluator(Bundle(policies=project.policies))) as evaluator:
        return tuple(
            SuiteOutcome(
                name=suite.name,
                policy=suite.policy,
                source=suite.source,
                cases=tuple(run_case(case, suite, evaluator) for case in suite.cases),
            )
            for suite in project.suites
        )


def _mutation(
    pool: TrialPool, project: TestProject, policies: Sequence[Policy], on_stage: OnStage
) -> MutationOutcome:
    mutants = make_mutants(policies, pool.anatomies, of_project=project.of_project)
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        on_stage(f"trying mutants: {done} of {len(mutants)}")

    return outcome_of(mutants, pool.try_all(mutants, count))
