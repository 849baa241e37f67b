"""Test documents, read into suites of which every request can be made."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from pydantic import ValidationError

from kgitops.manifests.files import find_files
from kgitops.manifests.kind_models import adapter
from kgitops.manifests.policies.policy_test import (
    ExpectedOutcome,
    GivenCluster,
    PolicyTest,
    PolicyTestCase,
)
from kgitops.manifests.problems import dotted, model_findings
from kgitops.manifests.reading import kind_of
from kgitops.manifests.yaml.document import Document, read_text
from kgitops.manifests.yaml.parse import Content, ParsedDocument, parse
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.names import is_principal
from kgitops.model.source import Finding
from kgitops.model.wording import nearest
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.serve.patterns import InvalidPatternError, compile_pattern
from kgitops.workflow.policy_tests.cases import (
    Case,
    CaseStep,
    DocumentPath,
    Expected,
    StepError,
    Suite,
    cluster_of,
    listed,
)
from kgitops.workflow.policy_tests.running import rehearse

KIND = "PolicyTest"
_NO_STATE = ClusterState(cluster_id="", backend="")


class ParsedTest(Struct, frozen=True):
    """A checked document and its place."""

    test: PolicyTest
    document: Document


def find_documents(
    paths: Sequence[Path], cluster: str, findings: list[Finding], *, may_be_empty: bool
) -> list[ParsedTest]:
    """Find the tests below ``paths`` for ``cluster``, in the order of their files.

    Problems become findings; a path without files is one unless it ``may_be_empty``.
    """
    tests: list[ParsedTest] = []
    for file in find_files(paths, findings, may_be_empty=may_be_empty):
        text = read_text(file.path, file.name)
        if isinstance(text, Finding):
            findings.append(text)
        elif KIND in text.text:  # a fleet's many other manifests are not parsed
            for parsed in parse(text, findings):
                tests += checked_test(parsed, findings)
    return [parsed for parsed in tests if cluster in (parsed.test.metadata.clusters or [cluster])]


def checked_test(parsed: ParsedDocument, findings: list[Finding]) -> list[ParsedTest]:
    """Check a document; the list is empty if it is no test, or a wrong one."""
    content, document = parsed.content, parsed.document
    if not (isinstance(content, dict) and content.get("kind") == KIND):
        return []
    if kind_of(content, document, findings) is None:
        return []
    try:
        test: PolicyTest = adapter(KIND).validator.validate_python(content)
    except ValidationError as error:
        findings.extend(model_findings(error, KIND, document, content))
        return []
    if place := _placeholder(content, ()):
        findings.append(
            Finding(
                source=document.at(*place),
                problem=f"{dotted(place)} holds a placeholder",
                advice="write the value: a test says the same on every cluster",
            )
        )
        return []
    return [ParsedTest(test, document)]


def _placeholder(content: Content, path: tuple[str | int, ...]) -> tuple[str | int, ...] | None:
    """The path of the first placeholder; None where there is none."""
    items: Sequence[tuple[str | int, Content]] = ()
    if isinstance(content, str):
        return path if "${var:" in content or "${env:" in content else None
    if isinstance(content, dict):
        items = list(content.items())
    elif isinstance(content, list):
        items = list(enumerate(content))
    for step, item in items:
        if place := _placeholder(item, (*path, step)):
            return place
    return None


def read_suite(
    parsed: ParsedTest, policy: str, policy_names: Collection[str], findings: list[Finding]
) -> Suite:
    """The suite of a document, which tests ``policy``.

    ``policy_names`` are the names of all policies that cases may ask about.
    """
    reader = _Reader(parsed, policy, policy_names, findings)
    return Suite(
        name=parsed.test.metadata.name,
        source=parsed.document.source,
        policy=policy,
        asked=frozenset({policy, *reader.named}),
        cases=tuple(reader.cases()),
    )


class _Reader:
    """Reads one document."""

    def __init__(
        self,
        parsed: ParsedTest,
        policy: str,
        policy_names: Collection[str],
        findings: list[Finding],
    ) -> None:
        self._spec = parsed.test.spec
        self._document = parsed.document
        self._policy = policy
        self._policy_names = policy_names
        self._findings = findings
        self.named = {
            name
            for case in self._spec.cases
            for name in (*case.never, *(item.policy for item in case.expect))
            if name is not None and name in policy_names
        }

    def cases(self) -> Iterator[Case]:
        shared = self._cluster(("spec", "cluster"), self._spec.cluster)
        names: dict[str, DocumentPath] = {}
        for index, case in enumerate(self._spec.cases):
            path: DocumentPath = ("spec", "cases", index)
            if case.name in names:
                self._error(
                    (*path, "name"),
                    f"another case of this test is called {case.name!r} too",
                    "give each case a name of its own",
                )
            names[case.name] = path
            own = case.cluster
            state = shared if own is None else self._cluster((*path, "cluster"), own)
            yield self._case(case, path, state)

    def _case(self, case: PolicyTestCase, path: DocumentPath, state: ClusterState | None) -> Case:
        """Read a case; without ``state``, which is reported, its requests can't be judged."""
        if not is_principal(case.principal):
            self._error(
                (*path, "principal"),
                f"{case.principal!r} is not a principal",
                "write it as Type:name, such as User:sales",
            )
        steps = tuple(
            CaseStep(written=step, source=self._document.at(*path, "requests", index))
            for index, step in enumerate(case.requests)
        )
        addresses: set[str] = set()
        for inner, outcome in rehearse(case.requests, state) if state else ():
            if isinstance(outcome, StepError):
                self._step_error((*path, "requests", *inner), outcome)
            else:
                addresses.add(outcome)
        for index, name in enumerate(case.never):
            self._check_known((*path, "never", index), name)
        return Case(
            name=case.name,
            source=self._document.at(*path, "name"),
            principal=case.principal,
            state=state or _NO_STATE,
            steps=steps,
            expect=tuple(
                self._expected(item, (*path, "expect", index), addresses)
                for index, item in enumerate(case.expect)
            ),
            never=tuple(case.never),
        )

    def _expected(self, item: ExpectedOutcome, path: DocumentPath, addresses: set[str]) -> Expected:
        if item.policy is not None:
            self._check_known((*path, "policy"), item.policy)
        if addresses and item.address not in addresses:
            near = nearest(item.address, sorted(addresses))
            self._error(
                (*path, "address"),
                f"no request of this case is about {item.address}",
                f"did you mean {near}?" if near else f"they are about {listed(sorted(addresses))}",
            )
        if item.message is not None:
            self._check_message(item, path)
        return Expected(
            address=item.address,
            policy=item.policy or self._policy,
            outcome=Outcome(item.outcome),
            message=item.message,
            source=self._document.at(*path),
        )

    def _check_message(self, item: ExpectedOutcome, path: DocumentPath) -> None:
        try:
            compile_pattern(item.message or "", capture=False)
        except InvalidPatternError as error:
            self._error(
                (*path, "message"),
                f"the message is not a regular expression (RE2): {error}",
                "correct it, or write a backslash before what stands for itself",
            )
        if item.outcome != "denied":
            self._error(
                (*path, "message"),
                "a request that passes has no message",
                "remove the message, or expect the outcome denied",
            )

    def _check_known(self, path: DocumentPath, name: str) -> None:
        if name not in self._policy_names:
            problem, advice = unknown_policy(name, self._policy_names)
            self._error(path, problem, advice)

    def _cluster(self, path: DocumentPath, described: GivenCluster) -> ClusterState | None:
        try:
            return cluster_of(described)
        except StepError as error:
            self._step_error(path, error)
            return None

    def _step_error(self, path: DocumentPath, error: StepError) -> None:
        self._error((*path, *error.path), error.problem, error.advice)

    def _error(self, path: DocumentPath, problem: str, advice: str) -> None:
        self._findings.append(
            Finding(source=self._document.at(*path), problem=problem, advice=advice)
        )


def unknown_policy(name: str, policies: Collection[str]) -> tuple[str, str]:
    """The problem and the advice for a name that no policy has."""
    near = nearest(name, sorted(policies))
    advice = f"did you mean {near}?" if near else f"it has {listed(sorted(policies)) or 'none'}"
    return f"the project has no policy {name!r}", advice
