"""Values of a YAML file that know their places."""

import re
from collections.abc import Iterator

import yaml
from msgspec import Struct, field

from kgitops.conversion.reading.budget import Budget
from kgitops.conversion.reading.comments import Comments, last_index
from kgitops.conversion.reading.scalars import Ambiguous, Dialect, differs, scalar_value
from kgitops.manifests.yaml.document import (
    MappingNode,
    Node,
    Scalar,
    ScalarNode,
    SequenceNode,
    SourceText,
    is_merge,
    is_plain,
    scalar_text,
    shown,
)
from kgitops.manifests.yaml.parse import Constructor, Content
from kgitops.model.source import Source

# Helm, Go and Jinja templates, Flux's and Terraform's ${…}, Kustomize's $(…).
TEMPLATE = re.compile(r"\{\{|\{%|\$[{(]|<%")


class SourceFile(Struct, frozen=True):
    """A file of the source: its text, its ``path`` below the converted folder, its comments.

    ``advice`` is what to do about a value that is not known here; ``dialect`` is that of the tool,
    and ``placeholder`` what it replaces by itself. ``budget`` is for the documents it becomes.
    """

    text: SourceText
    path: str
    comments: Comments
    advice: str = "convert what the template tool makes of it"
    dialect: Dialect = Dialect.YAML_12
    placeholder: re.Pattern[str] = TEMPLATE
    budget: Budget = field(default_factory=Budget)


class Value:
    """A value of a file; ``key`` is the node of its key in a mapping."""

    __slots__ = ("file", "key", "node", "offset")

    def __init__(self, file: SourceFile, node: Node, offset: int, key: Node | None = None) -> None:
        self.file = file
        self.node = node
        self.key = key
        self.offset = offset

    def __repr__(self) -> str:
        return f"Value({self.source})"

    @property
    def source(self) -> Source:
        """The place of its key, or of its first character."""
        node = self.key if self.key is not None else self.node
        return self.file.text.place(self.offset + node.start_mark.index)

    def take_comments(self) -> tuple[str, ...]:
        """The comments above it and inside it, which no other object gets then."""
        return self.file.comments.take(*self._lines())

    def take_inner_comments(self) -> None:
        """Give the comments inside it to nobody: they are in its ``written_text``."""
        first, last = self._lines()
        self.file.comments.drop(range(first, last + 1))

    def written_text(self) -> str:
        """The lines of a whole document as they stand in the file."""
        first, last = self._lines()
        text = "".join(self.file.text.text.splitlines(keepends=True)[first - 1 : last])
        return text[3:].lstrip(" ") if text.startswith("---") else text

    def _lines(self) -> tuple[int, int]:
        last = self.file.text.place(self.offset + last_index(self.node))
        return self.source.line, last.line

    @property
    def content(self) -> Content:
        """The whole value as Python: dicts, lists, text, numbers, booleans, None."""
        return Constructor(empty=None).build(self.node)

    @property
    def shown(self) -> str:
        """The value as a sentence shows it."""
        if not self._is_ambiguous():
            return shown(self.content)
        value = self._typed()
        read = "" if isinstance(value, Ambiguous) else f" and reads {scalar_text(value)!r}"  # type: ignore[arg-type]
        return f"{self.node.value}, which YAML 1.1 does not read as YAML 1.2 does{read}"

    def items(self) -> list["Value"]:
        """The items of a list; empty if it is none."""
        if not isinstance(self.node, SequenceNode):
            return []
        return [Value(self.file, node, self.offset) for node in self.node.value]

    def entries(self) -> Iterator[tuple[str, "Value"]]:
        """The keys and values of a mapping, with those that ``<<`` merges; none if it is none."""
        if not isinstance(self.node, MappingNode):
            return
        written = set()
        seen = {id(self.node)}
        merges: list[Node] = [self.node]
        while merges:
            merged = merges.pop(0)
            inner: list[Node] = []
            for key, node in merged.value if isinstance(merged, MappingNode) else ():
                if is_merge(key):
                    inner += node.value if isinstance(node, SequenceNode) else [node]
                elif key.value not in written:
                    written.add(key.value)
                    yield key.value, Value(self.file, node, self.offset, key)
            # Aliases may merge one mapping many times over; it says the same each time.
            new = [item for item in inner if id(item) not in seen]
            seen.update(map(id, new))
            merges[:0] = new

    def is_null(self) -> bool:
        """Return whether nothing, ``~`` or ``null`` is written."""
        return isinstance(self.node, ScalarNode) and self._typed() is None

    def is_empty(self) -> bool:
        """Return whether it is null, or a text, list or mapping with nothing in it."""
        return self.is_null() or not self.node.value

    def at(self, *path: str) -> "Value | None":
        """The value at a path of keys, which is looked at and not read; None if it is null."""
        found: Value | None = self
        for name in path:
            found = dict(found.entries()).get(name) if found is not None else None
        return None if found is None or found.is_null() else found

    def text_at(self, *path: str) -> str | None:
        """The text at a path of keys; None if there is none."""
        found = self.at(*path)
        return found.text() if found is not None else None

    def is_list(self) -> bool:
        return isinstance(self.node, SequenceNode)

    def is_mapping(self) -> bool:
        return isinstance(self.node, MappingNode)

    def text(self) -> str | None:
        """A scalar as text, ``true`` and ``3`` too; None if it is none, empty or null.

        None as well for what the tool does not read as text, while YAML 1.2 does: ``no``, ``010``.
        """
        if not isinstance(self.node, ScalarNode) or self.is_null() or self._is_ambiguous():
            return None
        value = self._typed()
        return scalar_text(value) if isinstance(value, bool) else str(self.node.value)

    def typed_text(self) -> str | None:
        """A scalar as the tool writes its value, ``false`` for ``no``; None if not known."""
        if not isinstance(self.node, ScalarNode) or self.is_null():
            return None
        value = self._typed()
        if isinstance(value, Ambiguous):
            return None
        is_written = self.file.dialect.writes_numbers and isinstance(value, int | float)
        if value is not None and (is_written or self._is_ambiguous()):
            return scalar_text(value)
        return self.text()

    def integer(self) -> int | None:
        """A whole number, also one in quotes; None if it is none."""
        text = self.typed_text()
        return int(text) if text is not None and re.fullmatch(r"[-+]?[0-9]{1,18}", text) else None

    def flag(self) -> bool | None:
        """A boolean, also one in quotes; None if it is none."""
        return {"true": True, "false": False}.get((self.typed_text() or "").lower())

    def template(self) -> str | None:
        """The first text in it that a template tool was to fill in; None if there is none."""
        node = self.node
        if isinstance(node, ScalarNode):
            return str(node.value) if self.file.placeholder.search(node.value) else None
        children = [value for _, value in self.entries()] + self.items()
        keys = (name for name, _ in self.entries() if self.file.placeholder.search(name))
        return next(keys, None) or next(filter(None, (item.template() for item in children)), None)

    def merges(self) -> list["Value"]:
        """The keys ``<<`` of a mapping, where the tool takes them for keys."""
        if self.file.dialect.merges or not isinstance(self.node, MappingNode):
            return []
        return [
            Value(self.file, node, self.offset, key)
            for key, node in self.node.value
            if is_merge(key)
        ]

    def has_ambiguous_key(self) -> bool:
        """Return whether its key is no text to the tool: ``on``."""
        key = self.key
        if not isinstance(key, ScalarNode) or not self.file.dialect.has_typed_keys:
            return False
        return is_plain(key) and differs(key.value, self.file.dialect)

    def _is_ambiguous(self) -> bool:
        """Return whether the tool has another value than YAML 1.2."""
        node = self.node
        return (
            isinstance(node, ScalarNode)
            and is_plain(node)
            and differs(node.value, self.file.dialect)
        )

    def _typed(self) -> Scalar:
        """The value of a scalar as the tool has it."""
        assert isinstance(self.node, ScalarNode)  # noqa: S101 (callers have looked)
        text: str = self.node.value
        return scalar_value(text, self.file.dialect) if is_plain(self.node) else text


def text_value(at: Value, text: str) -> Value:
    """A text that is a part of the value at that place."""
    mark = at.node.start_mark
    return Value(at.file, _text_node(text, mark, at.node.end_mark), at.offset, at.key)


def line_value(file: SourceFile, line: str, start: int) -> Value:
    """A line of a file that is no YAML, from the character ``start`` on."""
    first, last = (yaml.Mark("", index, 0, 0, None, 0) for index in (start, start + len(line)))
    return Value(file, _text_node(line, first, last), 0)


def _text_node(text: str, start: yaml.Mark, end: yaml.Mark) -> Node:
    return ScalarNode("", text, start, end, style='"')
