"""The policies and the test documents that a command line selects, brought together."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter

from kgitops.manifests.load import ManifestSet, load_manifests
from kgitops.manifests.project_document import PythonPolicy as PythonPolicyWritten
from kgitops.manifests.project_file import python_policy
from kgitops.model.errors import FindingsError, UsageError
from kgitops.model.source import Finding
from kgitops.policy.evaluate.bundle import Level, Policy
from kgitops.workflow.policies import load_policies
from kgitops.workflow.policy_tests.cases import Suite
from kgitops.workflow.policy_tests.reading import (
    ParsedTest,
    find_documents,
    read_suite,
    unknown_policy,
)
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
