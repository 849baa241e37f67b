"""Manifest files, read, checked and parsed once for many clusters.

What of a document is the same for every cluster is worked out once. A list, such as
``kind: TopicList``, is as the documents of its items (contract §15). Nothing that depends on a
cluster is kept, and a file that has changed is read again.
"""

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from pydantic import ValidationError

from kgitops.manifests.kind_models import DOCUMENT_KINDS, KINDS, LISTS
from kgitops.manifests.kinds.fields import API_VERSION
from kgitops.manifests.problems import (
    dotted,
    model_findings,
    unknown_field,
    validated,
    written_value,
)
from kgitops.manifests.yaml.document import (
    ITEMS,
    Document,
    ListItem,
    MappingNode,
    SourceText,
    child_of,
    is_merge,
    read_text,
    shown,
)
from kgitops.manifests.yaml.parse import Content, ParsedDocument, parse
from kgitops.manifests.yaml.placeholders import has_placeholder
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


_FIELD = f"spec.{ITEMS}"
_EXAMPLE = f"write {_FIELD}.NAME for each item, with its spec below it"


def documents_of(parsed: ParsedDocument) -> Iterator[ParsedDocument | Finding]:
    """The document itself, or those of the items of a list.

    What a list has besides its items holds for each of them; a mistake there is found for each.
    """
    content, document = parsed.content, parsed.document
    written = content.get("kind") if isinstance(content, dict) else None
    kind = LISTS.get(written) if isinstance(written, str) else None
    if kind is None:
        yield parsed
        return
    node = child_of(parsed.root, "spec", ITEMS)
    yield from _wrong_shape(content, document, f"{kind}List")
    if parsed.root is None or not isinstance(node, MappingNode):
        return
    if any(is_merge(key) for key, _ in node.value):
        yield Finding(
            source=document.at("spec", ITEMS),
            problem=f"{_FIELD} can't have its names from <<",
            advice="write each name, and << below it",
        )
        return
    if not node.value:
        yield Finding(
            source=document.at("spec", ITEMS),
            problem=f"{_FIELD} must not be empty",
            advice="write its items, or remove the document",
        )
    begin = document.start - parsed.root.start_mark.index
    for (key, value), (name, spec) in zip(node.value, content["spec"][ITEMS].items(), strict=True):
        start = begin + key.start_mark.index
        end = max(start + len(name), begin + value.end_mark.index)
        place = Document(document.file, start, end, ListItem(document, name))
        metadata = content.get("metadata", {})
        if isinstance(metadata, dict):
            metadata = {**metadata, "name": name}
        whole = {**content, "kind": kind, "metadata": metadata, "spec": spec}
        yield ParsedDocument(place, whole, parsed.templated and has_placeholder(whole))


def _wrong_shape(content: Content, document: Document, kind: str) -> Iterator[Finding]:
    metadata = content.get("metadata")
    if isinstance(metadata, dict) and "name" in metadata:
        yield Finding(
            source=document.key_at("metadata", "name"),
            problem=f"metadata.name is not a field of {kind}",
            advice=f"remove it: {_FIELD} has the name of each object",
        )
    if "spec" not in content and ITEMS in content:
        yield unknown_field(kind, document, (ITEMS,))
        return
    if "spec" not in content:
        yield Finding(source=document.source, problem="spec is missing", advice=_EXAMPLE)
        return
    spec = content["spec"]
    if not isinstance(spec, dict):
        yield _not_a_mapping(document, ("spec",), spec)
        return
    others = spec.keys() - {ITEMS}
    for field in others:
        yield unknown_field(kind, document, ("spec", field))
    if ITEMS not in spec and not any(nearest(field, [ITEMS]) for field in others):
        yield Finding(source=document.at("spec"), problem=f"{_FIELD} is missing", advice=_EXAMPLE)
    elif ITEMS in spec and not isinstance(items := spec[ITEMS], dict):
        yield _not_a_mapping(document, ("spec", ITEMS), items)


def _not_a_mapping(document: Document, path: tuple[str, ...], value: Content) -> Finding:
    return Finding(
        source=document.at(*path),
        problem=f"{dotted(path)} must be a mapping, not {shown(value)}",
        advice=_EXAMPLE,
    )


Item = RawDocument | Finding
Stamp = tuple[int, int, int]
Key = tuple[int, int, str]

_SETTLED_NS = 1_000_000_000


class _Entry(Struct):
    stamp: Stamp
    text: SourceText
    documents: tuple[Item, ...] | None = None
    last_used: int = 0


class ManifestCache:
    """Remembers the texts and documents of files for as long as the files stay as they are.

    ``max_characters`` bounds the texts that are kept (the parsed documents take some ten times as
    much memory); 0 keeps nothing. A file that does not fit is read every time: only entries unused
    since the last two calls of ``next_cluster`` make room, so that a project larger than the cache
    does not push itself out over and over.
    """

    def __init__(self, max_characters: int = 0) -> None:
        self._room = max_characters
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._by_text: dict[int, _Entry] = {}
        self._round = 0
        self._is_enabled = max_characters > 0

    def next_cluster(self) -> None:
        """Note that another cluster is loaded from here on."""
        self._round += 1

    def text(self, path: Path, name: str) -> SourceText | Finding:
        """As ``text.read_text``; the same value as before if the file is the same."""
        if not self._is_enabled:
            return read_text(path, name)
        # Stat comes before reading: a file written meanwhile has another stamp the next time.
        status = _settled_status(path)
        if status is None:
            return read_text(path, name)
        key, stamp = _key(status, name), _stamp(status)
        entry = self._entries.get(key)
        if entry is not None and entry.stamp == stamp:
            entry.last_used = self._round
            self._entries.move_to_end(key)
            return entry.text
        if entry is not None:
            self._drop(key)
        text = read_text(path, name)
        if isinstance(text, SourceText):
            self._add(key, _Entry(stamp, text, last_used=self._round), len(text.text))
        return text

    def documents(self, file: SourceText) -> Iterable[Item]:
        """The documents of ``file`` and the findings about its YAML, in order."""
        entry = self._by_text.get(id(file))
        if entry is None:
            return _documents(file)
        if entry.documents is None:
            entry.documents = tuple(_documents(file))
        return entry.documents

    def _add(self, key: Key, entry: _Entry, size: int) -> None:
        while self._room < size and self._entries:
            oldest = next(iter(self._entries))
            if self._entries[oldest].last_used >= self._round - 1:
                return
            self._drop(oldest)
        if size <= self._room:
            self._room -= size
            self._entries[key] = entry
            self._by_text[id(entry.text)] = entry

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key)
        del self._by_text[id(entry.text)]
        self._room += len(entry.text.text)


NO_CACHE = ManifestCache()
"""Keeps nothing: for commands that load each file for one cluster."""


def _documents(file: SourceText) -> Iterator[Item]:
    findings: list[Finding] = []
    for parsed in parse(file, findings):
        yield from findings
        findings.clear()
        for item in documents_of(parsed):
            yield item if isinstance(item, Finding) else RawDocument(item)
    yield from findings


def _settled_status(path: Path) -> os.stat_result | None:
    """The status of a file; None if the file could change without another stamp."""
    try:
        status = path.stat()
    except OSError:
        return None  # reading it will say why
    # Within a tick of its file system's clock a file may change twice.
    is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS
    return status if stat.S_ISREG(status.st_mode) and is_settled else None


def _key(status: os.stat_result, name: str) -> Key:
    return status.st_dev, status.st_ino, name


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size
