"""Turns nodes into plain Python values, by YAML 1.2's core schema, and collects the problems."""

import re
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from kgitops.manifests.yaml.document import ITEMS, child_of
from kgitops.manifests.yaml.nodes import (
    EMPTY,
    MAX_DEPTH,
    MappingNode,
    Node,
    NoValue,
    Scalar,
    ScalarNode,
    SequenceNode,
    is_plain,
    plain_value,
)
from kgitops.manifests.yaml.text import SourceText, shown
from kgitops.model.source import Finding

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
