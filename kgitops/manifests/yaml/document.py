"""One document of a manifest file, with the place of each of its scalars.

It keeps no node tree: its slice of the file is parsed again when a place is needed.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import yaml

from kgitops.manifests.yaml.nodes import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    compose_all,
    is_merge,
    is_plain,
    plain_value,
)
from kgitops.manifests.yaml.text import SourceText
from kgitops.model.source import Source

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
