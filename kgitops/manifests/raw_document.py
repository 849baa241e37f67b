"""A document as it is written: what of it is the same for every cluster, worked out once."""

from kgitops.manifests.check import check, kind_of
from kgitops.manifests.kind_models import Declaration
from kgitops.manifests.yaml.construct import Content
from kgitops.manifests.yaml.document import Document
from kgitops.manifests.yaml.parse import ParsedDocument
from kgitops.model.source import Finding


class Written:
    """A parsed document that remembers what was found out about it.

    ``clusters`` are those that it says it is for, if it says so in the right shape. ``templated``:
    what it declares depends on the cluster, as it holds a placeholder.
    """

    __slots__ = ("_checked", "_content", "_kind", "clusters", "document", "named", "templated")

    def __init__(self, parsed: ParsedDocument) -> None:
        content, document = parsed.content, parsed.document
        self.document: Document = document
        self.named: Content = content.get("kind") if isinstance(content, dict) else None
        self.clusters: list[Content] | None = _clusters(content)
        self.templated = document.file.text.find("${", document.start, document.end) >= 0
        self._content = content
        self._kind: tuple[str | None, tuple[Finding, ...]] | None = None
        self._checked: tuple[Declaration | None, tuple[Finding, ...]] | None = None

    @property
    def content(self) -> Content:
        """What stands in it, for who replaces its placeholders; nobody may change it."""
        return self._content

    def kind(self, findings: list[Finding]) -> str | None:
        """As ``check.kind_of``."""
        if self._kind is None:
            found: list[Finding] = []
            kind = kind_of(self._content, self.document, found)
            self._kind = kind, tuple(found)
        findings += self._kind[1]
        return self._kind[0]

    def declared(self, kind: str, findings: list[Finding]) -> Declaration | None:
        """As ``check.check``, of a document without placeholders."""
        if self._checked is None:
            found: list[Finding] = []
            declared = check(kind, self._content, self.document, found)
            self._checked = declared, tuple(found)
            self._content = None  # what it declares holds the same once more
        findings += self._checked[1]
        return self._checked[0]


def _clusters(content: Content) -> list[Content] | None:
    metadata = content.get("metadata") if isinstance(content, dict) else None
    clusters = metadata.get("clusters") if isinstance(metadata, dict) else None
    return clusters if isinstance(clusters, list) else None
