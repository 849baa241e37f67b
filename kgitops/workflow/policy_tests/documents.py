"""Files → the documents of kind PolicyTest in them; what else is in them is others' business."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from kgitops.manifests.check import kind_of
from kgitops.manifests.files import find_files
from kgitops.manifests.kind_models import adapter
from kgitops.manifests.policies.policy_test import PolicyTest
from kgitops.manifests.problems import dotted, model_findings
from kgitops.manifests.yaml.construct import Content
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.parse import ParsedDocument, parse
from kgitops.manifests.yaml.text import read_text
from kgitops.model.source import Finding

KIND = "PolicyTest"


@dataclass(frozen=True, slots=True)
class ParsedTest:
    """A checked document and where it stands."""

    test: PolicyTest
    document: Document


def find_documents(
    paths: Sequence[Path], cluster: str, findings: list[Finding], *, may_be_empty: bool
) -> list[ParsedTest]:
    """The tests below ``paths`` for ``cluster``, in the order of their files.

    What is wrong is a finding; that a path holds no files is none where it ``may_be_empty``.
    """
    found: list[ParsedTest] = []
    for file in find_files(paths, findings, may_be_empty=may_be_empty):
        text = read_text(file.path, file.name)
        if isinstance(text, Finding):
            findings.append(text)
        elif KIND in text.text:  # of a fleet's manifests none is parsed for nothing
            for parsed in parse(text, findings):
                found += _document(parsed, findings)
    return [one for one in found if cluster in (one.test.metadata.clusters or [cluster])]


def _document(parsed: ParsedDocument, findings: list[Finding]) -> list[ParsedTest]:
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
    """Where the first one stands, None where there is none."""
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
