"""One document of a manifest file, with the place of each of its scalars.

It keeps no node tree: its slice of the file is parsed again when a place is needed.
"""

from functools import lru_cache

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


class Document:
    """A document from character ``start`` to ``end`` of its file (see ``model.source.Located``)."""

    __slots__ = ("end", "file", "start")

    def __init__(self, file: SourceText, start: int, end: int) -> None:
        self.file = file
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        return f"Document({self.source})"

    @property
    def source(self) -> Source:
        """The place of the document's first character."""
        return self.file.place(self.start)

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
        node = _compose(self.file, self.start, self.end)
        key: Node | None = None
        for step in path:
            child = _child(node, step)
            if child is None:
                return node, None
            key, node = child
        return node, key

    def _place(self, node: Node | None) -> Source:
        if node is None:
            return self.source
        return self.file.place(self.start - self._indent + node.start_mark.index)

    @property
    def _indent(self) -> int:
        return self.source.column - 1


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


def _matches(key: ScalarNode, step: Step) -> bool:
    """Return whether the key reads as ``step``; a number may be written in several ways."""
    if key.value == step:
        return not is_merge(key)
    return not isinstance(step, str) and is_plain(key) and plain_value(key.value) == step


def _child(node: Node | None, step: Step) -> tuple[Node | None, Node] | None:
    if isinstance(node, SequenceNode):
        inside = isinstance(step, int) and 0 <= step < len(node.value)
        return (None, node.value[step]) if inside else None
    if not isinstance(node, MappingNode):
        return None
    for key, value in node.value:
        if isinstance(key, ScalarNode) and _matches(key, step):
            return key, value
    for key, value in node.value:
        if is_merge(key):
            for merged in value.value if isinstance(value, SequenceNode) else [value]:
                if child := _child(merged, step):
                    return child
    return None
