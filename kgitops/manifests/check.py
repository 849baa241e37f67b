"""A document as it is written: what of it is the same for every cluster, worked out once."""

from typing import TYPE_CHECKING

from pydantic import ValidationError

from kgitops.manifests.kind_models import DOCUMENT_KINDS, KINDS
from kgitops.manifests.kinds.fields import API_VERSION
from kgitops.manifests.problems import model_findings, validated, written_value
from kgitops.manifests.yaml.construct import Content
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.parse import ParsedDocument
from kgitops.manifests.yaml.text import shown
from kgitops.model.source import Finding
from kgitops.model.wording import nearest

if TYPE_CHECKING:
    from kgitops.manifests.kind_models import Declaration

_NOT_DECLARED = frozenset({"Project", "PolicyTest"})
_TOOLS = {
    **dict.fromkeys(("kafka.strimzi.io/", "core.strimzi.io/", "eventstreams.ibm.com/"), "strimzi"),
    **dict.fromkeys(("kafka.jikkou.io/", "core.jikkou.io/"), "jikkou"),
}


def kind_of(content: Content, document: Document, findings: list[Finding]) -> str | None:
    """The kind of a document, if kgitops has such a kind; else None, and a finding."""
    if not isinstance(content, dict):
        findings.append(
            Finding(
                source=document.source,
                problem=f"a document must be a mapping, not {shown(content)}",
                advice="begin it with apiVersion, kind, metadata and spec",
            )
        )
        return None
    kind, version = content.get("kind"), content.get("apiVersion")
    if version != API_VERSION:
        tool = _tool_of(version)
        advice = (
            f"kgitops convert --from {tool} writes manifests of it"
            if tool
            else f"write {API_VERSION}"
        )
        findings.append(_wrong("apiVersion", content, document, advice))
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        near = nearest(kind, DOCUMENT_KINDS)
        known = ", ".join(KINDS)
        advice = f"did you mean {near}?" if near else f"write one of {known}"
        findings.append(_wrong("kind", content, document, advice))
        return None
    return kind


def check(
    kind: str, content: Content, document: Document, findings: list[Finding]
) -> "Declaration | None":
    """The declaration that a document makes; None, and findings, if it is not valid."""
    try:
        model = validated(kind, content)
    except ValidationError as error:
        findings.extend(model_findings(error, kind, document, content))
        return None
    if kind == "Project":
        findings.append(
            Finding(
                source=document.at("kind"),
                problem="a Project is among the manifests",
                advice="move it to kgitops.yaml in the project's folder",
            )
        )
    declares: Declaration | None = model if kind not in _NOT_DECLARED else None
    return declares


def _tool_of(version: object) -> str | None:
    """The tool whose ``apiVersion`` that is, as ``kgitops convert --from`` has it."""
    return next((tool for begin, tool in _TOOLS.items() if str(version).startswith(begin)), None)


def _wrong(field: str, content: dict[object, object], document: Document, advice: str) -> Finding:
    if field not in content:
        begin = document.whole.source
        return Finding(source=begin, problem=f"{field} is missing", advice=advice)
    value = written_value(document, (field,), content[field])
    known = API_VERSION if field == "apiVersion" else "a kind that kgitops knows"
    return Finding(
        source=document.at(field), problem=f"{field} must be {known}, not {value}", advice=advice
    )


class RawDocument:
    """A parsed document that remembers its kind, its declaration, and the findings about them.

    ``clusters`` are the ones in its metadata, if they have the right shape. ``templated``: it holds
    a placeholder, so its declaration depends on the cluster.
    """

    __slots__ = ("_checked", "_content", "_kind", "clusters", "document", "named", "templated")

    def __init__(self, parsed: ParsedDocument) -> None:
        content, document = parsed.content, parsed.document
        self.document: Document = document
        self.named: Content = content.get("kind") if isinstance(content, dict) else None
        self.clusters: list[Content] | None = _clusters(content)
        self.templated = parsed.templated
        self._content = content
        self._kind: tuple[str | None, tuple[Finding, ...]] | None = None
        self._checked: tuple[Declaration | None, tuple[Finding, ...]] | None = None

    @property
    def content(self) -> Content:
        """The content, for replacing its placeholders; it must not be modified."""
        return self._content

    def kind(self, findings: list[Finding]) -> str | None:
        """As ``check.kind_of``."""
        if self._kind is None:
            kind_findings: list[Finding] = []
            kind = kind_of(self._content, self.document, kind_findings)
            self._kind = kind, tuple(kind_findings)
        findings += self._kind[1]
        return self._kind[0]

    def declared(self, kind: str, findings: list[Finding]) -> "Declaration | None":
        """As ``check.check``, of a document without placeholders."""
        if self._checked is None:
            check_findings: list[Finding] = []
            declared = check(kind, self._content, self.document, check_findings)
            self._checked = declared, tuple(check_findings)
            self._content = None  # the declaration holds the same values
        findings += self._checked[1]
        return self._checked[0]


def _clusters(content: Content) -> list[Content] | None:
    metadata = content.get("metadata") if isinstance(content, dict) else None
    clusters = metadata.get("clusters") if isinstance(metadata, dict) else None
    return clusters if isinstance(clusters, list) else None
