"""Parses a file to its documents with plain Python values; errors of syntax are findings."""

import re
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import yaml
from msgspec import Struct

from kgitops.manifests.yaml.document import (
    EMPTY,
    ITEMS,
    MAX_DEPTH,
    Document,
    MappingNode,
    Node,
    NoValue,
    Scalar,
    ScalarNode,
    SequenceNode,
    SourceText,
    TooDeepError,
    child_of,
    compose_all,
    is_plain,
    plain_value,
    shown,
)
from kgitops.model.source import Finding, Severity

Content = Any
"""The content of a document: dicts, lists, text, numbers, booleans, None for null, and EMPTY."""

_EVERY_DOCUMENT = {"apiVersion", "kind", "metadata", "spec"}
_MAX_ADDED = 20_000
"""The values that aliases and << may stand for, besides one for each character."""
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")
_STANDARD = "tag:yaml.org,2002:"
_TAGGED_TYPES: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "null": type(None),
}


class PlainPlaceholder(str):
    """A scalar that is one placeholder without quotes: its value is read as YAML again."""

    __slots__ = ()


class QuotedPlaceholder(str):
    """A scalar that is one placeholder in quotes: its value has the type that the field wants."""

    __slots__ = ()


class Mistake(NamedTuple):
    """A mistake at a character of the parsed text; ``first`` is that of the key it repeats."""

    at: int
    problem: str
    advice: str
    first: int | None = None

    def finding(self, file: SourceText, offset: int) -> Finding:
        """The finding in the file whose text from ``offset`` on was parsed."""
        first = "" if self.first is None else f", first at {file.place(offset + self.first)}"
        return Finding(
            source=file.place(offset + self.at),
            problem=f"{self.problem}{first}",
            advice=self.advice,
        )


class Constructor:
    """Builds the values of one file's documents.

    ``problems`` are in the order met. ``empty`` is the value of a key or item without one; other
    tools read it as null.
    """

    def __init__(self, *, empty: NoValue | None = EMPTY) -> None:
        self.problems: list[Mistake] = []
        self._plain: dict[str, Scalar | NoValue] = {"": empty}
        self._built: dict[int, Content] = {}
        self._open: set[int] = set()
        self._items: Node | None = None
        self._has_aliases = False
        self._merged = 0
        self._most = 0

    def build(self, root: Node) -> Content:
        """The value of a document; a list's names are text, exactly as written (contract §15)."""
        self._built.clear()
        self._open.clear()
        self._items = child_of(root, "spec", ITEMS)
        self._has_aliases = False
        self._merged = 0
        self._most = _MAX_ADDED + root.end_mark.index - root.start_mark.index
        value = self._value(root)
        if isinstance(root, MappingNode) and self.problems:
            self._find_joined(root)
        if (self._has_aliases or self._merged) and not self.problems:
            self._check_expansion(root)
        return value

    def _find_joined(self, root: MappingNode) -> None:
        """Report keys that come again because a ``---`` is missing as what they are."""
        seen: set[str] = set()
        again: list[Node] = []
        for key, _ in root.value:
            if isinstance(key, ScalarNode):
                again += [key] if key.value in seen else []
                seen.add(key.value)
        if len(_EVERY_DOCUMENT & {key.value for key in again}) < 2:
            return
        marks = {key.start_mark.index for key in again}
        self.problems[:] = [it for it in self.problems if it.at not in marks]
        for key in again:
            if key.value == again[0].value:
                self._add(key, "another document begins here", "write a line --- above it")

    def _value(self, node: Node) -> Content:
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        identity = id(node)
        if identity in self._built:
            self._has_aliases = True
            return self._built[identity]
        if identity in self._open:
            self._add(node, "an alias is inside the value that it repeats", "write the value out")
            return None
        self._open.add(identity)
        if isinstance(node, MappingNode):
            value: Content = self._mapping(node)
            expected = "map"
        else:
            assert isinstance(node, SequenceNode)  # noqa: S101 (YAML has three kinds of node)
            value = [self._value(item) for item in node.value]
            expected = "seq"
        if node.tag and node.tag != _STANDARD + expected:
            self._add_tag(node)
        self._open.discard(identity)
        self._built[identity] = value
        return value

    def _scalar(self, node: ScalarNode) -> Scalar | NoValue:
        text: str = node.value
        if node.tag:  # None unless it was written
            return self._tagged(node)
        if node.style:
            is_placeholder = node.style in "'\"" and _PLACEHOLDER.fullmatch(text)
            return QuotedPlaceholder(text) if is_placeholder else text
        try:
            return self._plain[text]
        except KeyError:
            pass
        if text.startswith("${") and _PLACEHOLDER.fullmatch(text):
            return PlainPlaceholder(text)
        value = self._plain[text] = self._plain_value(node)
        return value

    def _plain_value(self, node: ScalarNode) -> Scalar:
        try:
            return plain_value(node.value)
        except ValueError:
            self._add(node, "the number has too many digits", "write a shorter number")
            return None

    def _tagged(self, node: ScalarNode) -> Scalar:
        name = node.tag.removeprefix(_STANDARD)
        if node.tag == "!" or name == "str":
            return str(node.value)
        if name not in _TAGGED_TYPES or name == node.tag:
            self._add_tag(node)
            return None
        value = self._plain_value(node)
        is_number_for_bool = isinstance(value, bool) and name != "bool"
        if not isinstance(value, _TAGGED_TYPES[name]) or is_number_for_bool:
            self._add(node, f"{shown(node.value)} is not of the type !!{name}", "remove the tag")
        return value

    def _mapping(self, node: MappingNode) -> dict[Hashable, Content]:
        result: dict[Hashable, Content] = {}
        merged: list[Content] = []
        has_names = node is self._items
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._add(key_node, "a key can't be a mapping or a list", "write a plain key")
                continue
            if key_node.value == "<<" and is_plain(key_node):
                merged += self._merged_mappings(value_node)
                continue
            key = self._scalar(key_node)
            if has_names:
                key = key_node.value
            if key in result:
                scalars = (it for it, _ in node.value if isinstance(it, ScalarNode))
                first = next(
                    it for it in scalars if key == (it.value if has_names else self._scalar(it))
                )
                problem = f"the key {shown(key)} appears twice"
                self._add(key_node, problem, "keep one of them", first)
                continue
            result[key] = (
                self._scalar(value_node)
                if isinstance(value_node, ScalarNode)
                else self._value(value_node)
            )
        for values in merged:
            self._merged += len(values)
            if self._merged > self._most:
                break
            for key, value in values.items():
                result.setdefault(key, value)
        return result

    def _merged_mappings(self, node: Node) -> Iterator[dict[Hashable, Content]]:
        for source in node.value if isinstance(node, SequenceNode) else [node]:
            if not isinstance(source, MappingNode):
                self._add(node, "<< can only merge mappings", "give it an alias of a mapping")
                return
            yield self._value(source) or {}  # None inside itself

    def _check_expansion(self, root: Node) -> None:
        """Report values beyond the bounds, with all aliases written out."""
        sizes: dict[int, tuple[int, int]] = {}
        size = depth = 0
        for value in self._built.values():  # the root is the last, as each is after its children
            children = value.values() if isinstance(value, dict) else value
            measured = [sizes.get(id(child), (1, 0)) for child in children]
            size = 1 + sum(inner for inner, _ in measured)
            depth = 1 + max((inner for _, inner in measured), default=0)
            sizes[id(value)] = size, depth
        if max(size, self._merged) > self._most or depth > MAX_DEPTH:
            self._add(
                root,
                f"the aliases of this document stand for more than {self._most} values "
                f"or {MAX_DEPTH} levels",
                "write the values out",
            )

    def _add_tag(self, node: Node) -> None:
        self._add(node, f"the tag {_written_tag(node.tag)} is not allowed", "remove the tag")

    def _add(self, node: Node, problem: str, advice: str, first: Node | None = None) -> None:
        before = first.start_mark.index if first else None
        self.problems.append(Mistake(node.start_mark.index, problem, advice, before))


def _written_tag(tag: str) -> str:
    return tag.replace(_STANDARD, "!!", 1)


MAX_BROKEN = 50
_CONFLICT = re.compile(r"^(<{7}|>{7})(?= )", re.MULTILINE)
_DOCUMENT_START = re.compile(r"^---(?=\s|$)", re.MULTILINE)


class ParsedDocument(Struct, frozen=True):
    """A document and its content, which is not yet checked against any model.

    ``templated``: it holds a placeholder.
    """

    document: Document
    content: Content
    templated: bool = False
    root: Node | None = None


def parse(file: SourceText, findings: list[Finding]) -> Iterator[ParsedDocument]:
    """The documents of ``file`` that are YAML, in order; problems are added to ``findings``."""
    if marker := _CONFLICT.search(file.text):
        problem = f"git's conflict marker {marker[1]} is in the file"
        advice = "resolve the conflict, and remove its three markers"
        source = file.place(marker.start())
        findings.append(Finding(source=source, problem=problem, advice=advice))
        return
    constructor = Constructor()
    count = 0
    for root, offset in compose_file(file, findings):
        count += 1
        if root is not None and (parsed := _construct(root, file, offset, constructor, findings)):
            yield parsed
    if count == 0:
        findings.append(_nothing_finding(file))


def compose_file(file: SourceText, findings: list[Finding]) -> Iterator[tuple[Node | None, int]]:
    """The root of each document, and the index that its marks count from; None if it isn't YAML.

    After a document that is not YAML, which is added to ``findings``, comes the next one.
    """
    offset = broken = 0
    while offset >= 0:
        try:
            for root in compose_all(file.text[offset:]):
                if not _is_empty(root):
                    yield root, offset
            offset = -1
        except yaml.YAMLError as error:
            index = offset + _error_index(error, len(file.text) - offset)
            findings.append(_syntax_finding(error, file, offset, index))
            yield None, offset
            offset = _next_document(file.text, after=max(index, offset + 1))
            broken += 1
            if broken == MAX_BROKEN and offset >= 0:
                findings.append(_too_many_finding(file, offset))
                return


def _construct(
    root: Node, file: SourceText, offset: int, constructor: Constructor, findings: list[Finding]
) -> ParsedDocument | None:
    start, end = offset + root.start_mark.index, offset + root.end_mark.index
    content = constructor.build(root)
    if not constructor.problems:
        templated = file.text.find("${", start, end) >= 0
        return ParsedDocument(Document(file, start, end), content, templated, root)
    findings += (mistake.finding(file, offset) for mistake in constructor.problems)
    constructor.problems.clear()
    return None


def _is_empty(root: Node) -> bool:
    return isinstance(root, ScalarNode) and not root.value and is_plain(root)


def _nothing_finding(file: SourceText) -> Finding:
    """An empty file may be an accident, and is an error; one with comments is only a warning."""
    empty = not file.text.strip()
    return Finding(
        source=file.place(0),
        problem="the file is empty" if empty else "the file declares nothing",
        advice="delete it if nothing is declared here any more",
        severity=Severity.ERROR if empty else Severity.WARNING,
    )


def _too_many_finding(file: SourceText, offset: int) -> Finding:
    """The finding that ends a file: after each broken document its rest is parsed once more."""
    return Finding(
        source=file.place(offset),
        problem=f"{MAX_BROKEN} documents above are not YAML, so the rest is not read",
        advice="correct those first",
    )


def _next_document(text: str, after: int) -> int:
    """The index at which the next document begins; -1 if there is none."""
    match = _DOCUMENT_START.search(text, after)
    return match.start() if match else -1


def _error_index(error: yaml.YAMLError, end: int) -> int:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return min(mark.index, end) if mark else 0


def _syntax_finding(error: yaml.YAMLError, file: SourceText, offset: int, index: int) -> Finding:
    """The finding at ``index``; unclosed text is reported at its beginning."""
    problem = getattr(error, "problem", None) or "it can't be read"
    if isinstance(error, TooDeepError):
        problem = f"collections are nested more than {MAX_DEPTH} deep"
        advice = "flatten the document"
    elif "'\t'" in problem or file.text[index : index + 1] == "\t" or "tab" in problem:
        problem, advice = "a tab can't indent YAML", "indent with spaces"
    elif "${" in file.text[file.text.rfind("\n", 0, index) + 1 : index + 1]:
        advice = (
            "put the placeholder in quotes, or write it on a line of its own without {…} or […]"
        )
    else:
        if problem in _NOT_CLOSED and (mark := getattr(error, "context_mark", None)):
            index = offset + mark.index
        problem, advice = _EXPLAINED.get(
            problem, (f"this is not YAML: {problem}", "correct the syntax")
        )
    return Finding(source=file.place(index), problem=problem, advice=advice)


# libyaml's messages, each with the problem and advice that findings give in its place.
_EXPLAINED = {
    "mapping values are not allowed in this context": (
        "a ':' is not allowed here",
        "correct the indentation, or put the text in quotes",
    ),
    "could not find expected ':'": ("a ':' is missing", "write 'key: value' on one line"),
    "found character that cannot start any token": (
        "no value can start with this character",
        "put the text in quotes",
    ),
    "found undefined alias": ("the alias is not defined", "define its anchor (&name) before it"),
    "found unexpected end of stream": ("the quotes are not closed", "close them"),
    "found unexpected document indicator": ("the quotes are not closed before ---", "close them"),
    "did not find expected key": ("a key is expected here", "correct the indentation"),
    "did not find expected node content": (
        "a value is expected here",
        "write it, or close the bracket",
    ),
    "did not find expected ',' or '}'": ("a ',' or '}' is missing", "close the mapping"),
    "did not find expected ',' or ']'": ("a ',' or ']' is missing", "close the list"),
    "did not find expected '-' indicator": ("a '-' is expected here", "correct the indentation"),
    "did not find expected <document start>": (
        "another document begins here",
        "separate documents by a line ---",
    ),
    "found unknown escape character": (
        "the text has an unknown escape",
        "write \\\\ for a backslash, or use single quotes",
    ),
    "found invalid Unicode character escape code": (
        "the text has an escape that is not a character",
        "write the character itself",
    ),
    "second occurrence": ("the anchor is defined twice", "give it another name"),
}
_NOT_CLOSED = ("found unexpected end of stream", "found unexpected document indicator")
