"""Suites of policies in Python and in CEL, as tests of the product need them."""

from pathlib import Path

from kgitops.manifests.kind_models import adapter
from kgitops.manifests.policies.policy_test import PolicyTest
from kgitops.manifests.yaml.document import SourceText
from kgitops.manifests.yaml.parse import parse
from kgitops.policy.evaluate.bundle import (
    CelPolicy,
    CelValidation,
    Level,
    PythonPolicy,
    RequestMatch,
)
from kgitops.workflow.policy_tests.cases import Suite
from kgitops.workflow.policy_tests.reading import ParsedTest, read_suite

HEAD = "apiVersion: kgitops/v1\nkind: PolicyTest\nmetadata: {name: t}\nspec:\n  policy: p\n"


def parsed(spec: str) -> ParsedTest:
    """A test of the policy ``p`` whose spec goes on like this."""
    (document,) = parse(SourceText("t.yaml", HEAD + spec), [])
    test: PolicyTest = adapter("PolicyTest").validator.validate_python(document.content)
    return ParsedTest(test, document.document)


def suite(spec: str, *others: str) -> Suite:
    """The suite of such a document, which must be right."""
    findings: list[object] = []
    read = read_suite(parsed(spec), "p", ("p", *others), findings)  # type: ignore[arg-type]
    assert findings == []
    return read


def cel(*expressions: str, name: str = "p", api: str = "CreateTopic") -> CelPolicy:
    """A policy on these requests whose validations these are."""
    return CelPolicy(
        name=name,
        level=Level.HARD,
        digest="",
        match=RequestMatch(requests=(api,) if api else ()),
        validations=tuple(CelValidation(expression=text, message=text) for text in expressions),
    )


def python(folder: Path, body: str, *, name: str = "p", module: str = "mine") -> PythonPolicy:
    """A policy in ``folder`` whose method for a new topic has this body."""
    indented = body.replace("\n", "\n        ")
    (folder / f"{module}.py").write_text(
        "from kgitops.policy import BaseTopicPolicy, PolicyViolation\n\n\n"
        "class P(BaseTopicPolicy):\n"
        "    def validate_create_topic(self, request, cluster_state):\n"
        f"        {indented}\n"
    )
    return PythonPolicy(name=name, level=Level.HARD, digest="", class_=f"{module}:P", folder=folder)
