"""A whole run of policy tests: those that are selected, the rules that they cover, and mutants."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter

from kgitops.manifests.files import display_name
from kgitops.manifests.load import ManifestSet, load_manifests
from kgitops.manifests.project_document import PythonPolicy as PythonPolicyWritten
from kgitops.manifests.project_file import python_policy
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.source import Finding, Source
from kgitops.policy.evaluate.bundle import Bundle, CelPolicy, Level, Policy, PythonPolicy
from kgitops.policy.evaluator import open_evaluator
from kgitops.workflow.loading import OnStage, ignore_stage
from kgitops.workflow.policies import load_policies
from kgitops.workflow.policy_tests.cases import Suite
from kgitops.workflow.policy_tests.mutants.inspection import Anatomy
from kgitops.workflow.policy_tests.mutants.mutants import make_mutants, outcome_of
from kgitops.workflow.policy_tests.mutants.pool import TrialPool
from kgitops.workflow.policy_tests.reading import (
    ParsedTest,
    find_documents,
    read_suite,
    unknown_policy,
)
from kgitops.workflow.policy_tests.report import (
    Covered,
    MutationOutcome,
    PolicyTestReport,
    RuleObservation,
    SuiteOutcome,
)
from kgitops.workflow.policy_tests.running import run_case
from kgitops.workflow.project.selection import Workspace


class TestProject(Struct, frozen=True, kw_only=True):
    """The policies and tests of a run: ``policies`` are the project's and the tests' own ones.

    All of them are at the level hard: a policy's outcome is the same on every level.
    """

    __test__ = False  # for pytest, by its name

    policies: tuple[Policy, ...]
    of_project: tuple[str, ...]
    suites: tuple[Suite, ...]


def open_test_project(workspace: Workspace) -> TestProject:
    """Read the policies of the project and the tests below the paths that were given.

    Raises:
        FindingsError: with every finding of policies and tests.
        UsageError: there is no test, or nowhere to look for one.
    """
    paths = _paths(workspace)
    findings: list[Finding] = []
    documents = find_documents(
        paths,
        workspace.target_name,
        findings,
        may_be_empty=workspace.whole,
    )
    policies: dict[str, Policy] = {
        policy.name: replace(policy, level=Level.HARD)
        for policy in load_policies(workspace, _beside(workspace)).policies
    }
    of_project = tuple(policies)
    suites = [
        suite
        for parsed in documents
        if (suite := _suite(parsed, workspace, policies, of_project, findings))
    ]
    findings += _named_twice(documents)
    if findings:
        raise FindingsError(findings)
    if not suites:
        where = f"for {workspace.target_name} in {', '.join(map(str, paths))}"
        raise UsageError(
            f"there is no PolicyTest {where}; write one next to the policies: "
            "docs/guides/policy-tests.md shows how"
        )
    return TestProject(
        policies=tuple(policies.values()), of_project=of_project, suites=tuple(suites)
    )


def _paths(workspace: Workspace) -> Sequence[Path]:
    """The paths that may hold tests: those of the policies, which include the manifests."""
    if workspace.file is None or not workspace.whole:
        if not workspace.manifests:
            raise UsageError(
                "there is no kgitops.yaml here and no PATH was given; run kgitops init, or name "
                "the files or folders of the tests"
            )
        return workspace.manifests
    return (*workspace.file.policies, *workspace.file.existing_manifests)


def _beside(workspace: Workspace) -> ManifestSet | None:
    """The policies next to the tests, if there is no project file that names them."""
    if workspace.file is not None:
        return None
    loaded = load_manifests(
        workspace.manifests,
        cluster=workspace.target_name,
        variables=workspace.variables,
        env=workspace.selection.environ,
        only=("Policy",),
    )
    if loaded.findings:
        raise FindingsError(loaded.findings)
    return loaded


def _suite(
    parsed: ParsedTest,
    workspace: Workspace,
    policies: dict[str, Policy],
    of_project: Sequence[str],
    findings: list[Finding],
) -> Suite | None:
    spec, document = parsed.test.spec, parsed.document
    if (spec.policy is None) == (spec.class_ is None):
        findings.append(
            Finding(
                source=document.at("spec"),
                problem="a test names exactly one of policy and class",
                advice="write policy: NAME for one of the project, or class: module:Class",
            )
        )
        return None
    if spec.policy is not None:
        if spec.configs:
            findings.append(
                Finding(
                    source=document.key_at("spec", "configs"),
                    problem="spec.configs can't be combined with spec.policy",
                    advice="the project configures its policies: remove them here",
                )
            )
        if spec.policy not in of_project:
            problem, advice = unknown_policy(spec.policy, of_project)
            place = document.at("spec", "policy")
            findings.append(Finding(source=place, problem=problem, advice=advice))
            return None
        return read_suite(parsed, spec.policy, of_project, findings)
    own = _of_class(parsed, workspace)
    same = [other for other in policies.values() if replace(other, source=own.source) == own]
    if not same:
        own = replace(own, name=_free_name(own.name, policies))
        policies[own.name] = own
    name = same[0].name if same else own.name
    return read_suite(parsed, name, (*of_project, name), findings)


def _of_class(parsed: ParsedTest, workspace: Workspace) -> Policy:
    """The policy that a test defines by its class."""
    spec = parsed.test.spec
    content = {"class": spec.class_, "configs": spec.configs}
    written = TypeAdapter(PythonPolicyWritten).validate_python(content)
    return python_policy(written, parsed.document.at("spec", "class"), workspace.base)


def _free_name(name: str, taken: dict[str, Policy]) -> str:
    """The name with a number, for a class that is tested with several configs."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def _named_twice(documents: Sequence[ParsedTest]) -> list[Finding]:
    first: dict[str, ParsedTest] = {}
    findings = []
    for parsed in documents:
        name = parsed.test.metadata.name
        if first.setdefault(name, parsed) is not parsed:
            place = first[name].document.at("metadata", "name")
            findings.append(
                Finding(
                    source=parsed.document.at("metadata", "name"),
                    problem=f"the test {name} is here and at {place}",
                    advice="rename or remove one of them",
                )
            )
    return findings


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
