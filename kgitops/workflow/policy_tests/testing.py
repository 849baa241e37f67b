"""A whole run of policy tests: the cases, then what they cover, then mutants."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from kgitops.policy.evaluate.rules import Bundle, CelPolicy, Policy
from kgitops.policy.opening import open_judging
from kgitops.workflow.policy_tests.coverage import cover
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy
from kgitops.workflow.policy_tests.mutants.mutants import make_mutants, outcome_of
from kgitops.workflow.policy_tests.mutants.pool import TrialPool
from kgitops.workflow.policy_tests.project import TestProject, open_test_project
from kgitops.workflow.policy_tests.report import MutationOutcome, PolicyTestReport, SuiteOutcome
from kgitops.workflow.policy_tests.results import CaseResult
from kgitops.workflow.policy_tests.running import run_case
from kgitops.workflow.project.selection import Workspace
from kgitops.workflow.stages import OnStage, in_silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is wanted beside the cases; the two ``least`` are percentages, None for none."""

    coverage: bool = False
    least_covered: float | None = None
    mutate: bool = False
    least_score: float | None = None


def run_policy_tests(
    workspace: Workspace, wishes: Wishes, on_stage: OnStage = in_silence
) -> PolicyTestReport:
    """Run the tests below the paths that were given; policies run in processes of their own.

    Raises:
        FindingsError: with every finding of policies and tests.
        UsageError: there is no test.
    """
    on_stage("reading policies and tests")
    project = open_test_project(workspace)
    on_stage("running the cases")
    results = _run(project)
    failed = any(not result.passed for ran in results for result in ran)
    tested = {suite.policy for suite in project.suites}
    untested = _without(project.of_project, tested) if workspace.whole else ()
    mutate = wishes.mutate and not failed
    looked_at = [
        policy for policy in project.policies if policy.name in tested or policy.name in untested
    ]
    covered = mutation = None
    with ExitStack() as stack:
        pool = TrialPool(project.policies, project.suites)
        anatomies: Mapping[str, Anatomy] = {}
        is_python = any(not isinstance(policy, CelPolicy) for policy in looked_at)
        if mutate or (wishes.coverage and is_python):
            on_stage("looking at the policies")
            anatomies = stack.enter_context(pool).anatomies
        if wishes.coverage:
            seen = [item for ran in results for result in ran for item in result.seen]
            covered = cover(looked_at, anatomies, seen, of_project=project.of_project)
        if mutate:
            under_test = [policy for policy in looked_at if policy.name in tested]
            mutation = _mutation(pool, project, under_test, on_stage)
    return PolicyTestReport(
        suites=_outcomes(project, results),
        untested=untested,
        covered=covered,
        least_covered=wishes.least_covered,
        mutation=mutation,
        least_score=wishes.least_score if wishes.mutate else None,
        not_mutated=wishes.mutate and failed,
    )


def _run(project: TestProject) -> list[list[CaseResult]]:
    """The results of each suite's cases, judged by one worker that holds all policies."""
    with closing(open_judging(Bundle(policies=project.policies))) as judging:
        return [
            [run_case(case, suite, judging) for case in suite.cases] for suite in project.suites
        ]


def _mutation(
    pool: TrialPool, project: TestProject, policies: Sequence[Policy], on_stage: OnStage
) -> MutationOutcome:
    mutants = make_mutants(policies, pool.anatomies, of_project=project.of_project)
    done = 0

    def told() -> None:
        nonlocal done
        done += 1
        on_stage(f"trying mutants: {done} of {len(mutants)}")

    return outcome_of(mutants, pool.fates(mutants, told))


def _outcomes(
    project: TestProject, results: Sequence[Sequence[CaseResult]]
) -> tuple[SuiteOutcome, ...]:
    return tuple(
        SuiteOutcome(
            name=suite.name,
            policy=suite.policy,
            source=suite.source,
            cases=tuple(result.outcome for result in ran),
        )
        for suite, ran in zip(project.suites, results, strict=True)
    )


def _without(names: Sequence[str], others: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)
