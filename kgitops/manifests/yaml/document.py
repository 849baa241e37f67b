"""A manifest file's text and nodes, and its documents with the place of each of their scalars.

The composer is libyaml's, bounded in depth; scalars are those of YAML 1.2's core schema, and not of
YAML 1.1, as PyYAML resolves them. A document keeps no node tree: its slice of the file is parsed
again when a place is needed.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser

from kgitops.model.source import Finding, Source

MAX_DEPTH = 100
Node = yaml.Node
ScalarNode = yaml.ScalarNode
MappingNode = yaml.MappingNode
SequenceNode = yaml.SequenceNode


class TooDeepError(yaml.MarkedYAMLError):
    """Collections are nested deeper than MAX_DEPTH: libyaml would overrun the C stack."""


class Parser(CParser):
    """Composes nodes whose ``tag`` is None unless one was written."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def resolve(self, _kind: Any, _value: Any, _implicit: Any) -> None:  # noqa: ANN401
        """Leave the type of a scalar to ``plain_value``."""

    def descend_resolver(self, parent: Node | None, _index: Any) -> None:  # noqa: ANN401
        """Count the nesting; libyaml calls this before each node."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            mark = parent.start_mark if parent else None
            raise TooDeepError(problem="nested too deeply", problem_mark=mark)

    def ascend_resolver(self) -> None:
        """Count back; libyaml calls this after each node."""
        self.depth -= 1


def compose_all(text: str) -> Iterator[Node]:
    """The root node of each document of ``text``.

    Raises:
        yaml.YAMLError: the text is not YAML from here on.
    """
    parser = Parser(text)
    while parser.check_node():
        node = parser.get_node()
        if node is not None:
            yield node


def is_plain(node: ScalarNode) -> bool:
    """Return whether the scalar has neither quotes nor a tag."""
    return not node.style and not node.tag


def is_merge(key: Node) -> bool:
    """Return whether a key is YAML's merge, ``<<``."""
    return isinstance(key, ScalarNode) and key.value == "<<" and is_plain(key)


Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAY_BE_NUMBER = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEXADECIMAL = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class NoValue:
    """The content of a key or an item that has no value: no field of any kind accepts it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "EMPTY"


EMPTY = NoValue()


def plain_value(text: str) -> Scalar:
    """The value of ``text`` as a scalar without quotes.

    Raises:
        ValueError: it is a number of thousands of digits.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _OCTAL_OR_HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text


def scalar_text(value: str | int | float | bool) -> str:
    """A scalar as text: ``true``, ``3``, ``0.5``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


MAX_SHOWN = 60
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
# The characters that YAML forbids, and those that YAML 1.1, and so libyaml, takes for line breaks
# and YAML 1.2 does not: text after one in a comment would be read, though no editor shows it so.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_OTHER_ENCODINGS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


class SourceText:
    """The text of one file, without a byte order mark, and its name in findings."""

    __slots__ = ("_line_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._line_starts: list[int] | None = None

    def place(self, index: int) -> Source:
        """The line and column of the character at ``index``."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        line = bisect_right(self._line_starts, index)
        return Source(self.name, line, index - self._line_starts[line - 1] + 1)


def read_text(path: Path, name: str) -> SourceText | Finding:
    """The text of the file, or the finding that it has none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return Finding(
            source=None,
            problem=f"{name} can't be read: {error.strerror or error}",
            advice="correct its permissions or remove it",
        )
    return decode(data, name)


def decode(data: bytes, name: str) -> SourceText | Finding:
    """The text of ``data``, which must be UTF-8 and printable."""
    for mark, encoding in _OTHER_ENCODINGS:
        if data.startswith(mark):
            return Finding(
                source=Source(name, 1, 1),
                problem=f"the file is encoded as {encoding}",
                advice="save it as UTF-8",
            )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = SourceText(name, data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        return Finding(
            source=before.place(len(before.text)),
            problem=f"the file is not UTF-8: the byte 0x{data[error.start]:02x} is not allowed",
            advice="save the file as UTF-8",
        )
    source = SourceText(name, text.removeprefix("\ufeff"))
    if forbidden := _FORBIDDEN.search(source.text):
        return Finding(
            source=source.place(forbidden.start()),
            problem=f"the control character U+{ord(forbidden[0]):04X} is not allowed",
            advice="remove it, or write it as an escape in double quotes",
        )
    return source


def shown(value: object) -> str:
    """A value of a manifest as a sentence shows it: short, and on one line."""
    match value:
        case None:
            return "null"
        case NoValue():
            return "empty"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            text = repr(value) if isinstance(value, str) else str(value)
            return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


Step = str | int
ITEMS = "items"
"""The field of a list's ``spec`` that has its items."""
_NAME = ("metadata", "name")
_OWN_PLACES = ((), _NAME)


class ListItem(NamedTuple):
    """The place of an item: the document that is the list, and the item's name."""

    list: "Document"
    name: str


class Document:
    """A document from character ``start`` to ``end`` of its file (see ``model.source.Located``).

    That of a list's ``item`` begins at its name. Paths are as in a document that is no item.
    """

    __slots__ = ("end", "file", "item", "start")

    def __init__(
        self, file: SourceText, start: int, end: int, item: ListItem | None = None
    ) -> None:
        self.file = file
        self.start = start
        self.end = end
        self.item = item

    def __repr__(self) -> str:
        return f"Document({self.source})"

    @property
    def source(self) -> Source:
        """The place of the document's first character."""
        return self.file.place(self.start)

    @property
    def whole(self) -> "Document":
        """The document as the file has it: that of an item is its list."""
        return self.item.list if self.item else self

    def written_path(self, path: tuple[Step, ...]) -> tuple[Step, ...]:
        """The path in the document as the file has it."""
        if self.item is not None and path == _NAME:
            return ("spec", ITEMS, self.item.name)
        if self.item is not None and path[:1] == ("spec",):
            return ("spec", ITEMS, self.item.name, *path[1:])
        return path

    def at(self, *path: Step) -> Source:
        """The place of the value under ``path``; of the nearest parent if it is absent."""
        value, _ = self._find(path)
        return self._place(value)

    def key_at(self, *path: Step) -> Source:
        """The place of the key that ``path`` ends in; if there is none, as :meth:`at`."""
        value, key = self._find(path)
        return self._place(key or value)

    def written(self, *path: Step) -> str | None:
        """The scalar under ``path`` as it is written in the file, with its placeholders."""
        value, _ = self._find(path)
        return value.value if isinstance(value, ScalarNode) else None

    def _find(self, path: tuple[Step, ...]) -> tuple[Node | None, Node | None]:
        whole = self.whole
        node = _compose(whole.file, whole.start, whole.end)
        key: Node | None = None
        if self.item is not None and (path[:1] == ("spec",) or path in _OWN_PLACES):
            items = _items(whole.file, whole.start, whole.end)
            key, node = items.get(self.item.name, (None, None))
            if path in _OWN_PLACES:
                return key, None
            path = path[1:]
        for step in path:
            child = _child(node, step)
            if child is None:
                return node, None
            key, node = child
        return node, key

    def _place(self, node: Node | None) -> Source:
        if node is None:
            return self.source
        whole = self.whole
        indent = whole.source.column - 1
        return whole.file.place(whole.start - indent + node.start_mark.index)


class DocumentPart:
    """A part of a document that declares an object of its own; paths begin there."""

    __slots__ = ("document", "path")

    def __init__(self, document: Document, *path: Step) -> None:
        self.document = document
        self.path = path

    def __repr__(self) -> str:
        return f"DocumentPart({self.source})"

    @property
    def source(self) -> Source:
        """The place of the part's first character."""
        return self.document.at(*self.path)

    def at(self, *path: Step) -> Source:
        """As :meth:`Document.at`."""
        return self.document.at(*self.path, *path)

    def key_at(self, *path: Step) -> Source:
        """As :meth:`Document.key_at`."""
        return self.document.key_at(*self.path, *path)


@lru_cache(maxsize=8)
def _compose(file: SourceText, start: int, end: int) -> Node | None:
    # The first line keeps its column, on which YAML's block structure depends.
    indent = " " * (file.place(start).column - 1)
    try:
        return next(compose_all(indent + file.text[start:end]), None)
    except yaml.YAMLError:  # a document that depends on its %TAG directive
        return None


@lru_cache(maxsize=8)
def _items(file: SourceText, start: int, end: int) -> Mapping[str, tuple[Node, Node]]:
    """The names of a list's items, and what is written under them."""
    items = child_of(_compose(file, start, end), "spec", ITEMS)
    pairs = items.value if isinstance(items, MappingNode) else []
    return {key.value: (key, value) for key, value in pairs if isinstance(key, ScalarNode)}


def child_of(node: Node | None, *path: Step) -> Node | None:
    """The node under ``path``; None if there is none."""
    for step in path:
        _, node = _child(node, step) or (None, None)
    return node


def _reads_as(key: ScalarNode, step: Step) -> bool:
    """Return whether the key's value is ``step``; a number may be written in several ways."""
    return (plain_value(key.value) if is_plain(key) else key.value) == step


def _child(node: Node | None, step: Step) -> tuple[Node | None, Node] | None:
    if isinstance(node, SequenceNode):
        inside = isinstance(step, int) and 0 <= step < len(node.value)
        return (None, node.value[step]) if inside else None
    if not isinstance(node, MappingNode):
        return None
    is_text = isinstance(step, str)
    for key, value in node.value:
        if is_text and key.value != step:
            continue  # most keys: what is read as text is that text
        if isinstance(key, ScalarNode) and _reads_as(key, step) and not is_merge(key):
            return key, value
    for key, value in node.value:
        if key.value == "<<" and is_merge(key):
            for merged in value.value if isinstance(value, SequenceNode) else [value]:
                if child := _child(merged, step):
                    return child
    return None
