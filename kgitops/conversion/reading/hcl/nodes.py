"""The evaluated values of a block as the same nodes that YAML has, each with its place."""

from typing import Any

import yaml

from kgitops.conversion.reading.budget import TooMuchError
from kgitops.conversion.reading.hcl.expressions import evaluate, object_key
from kgitops.conversion.reading.hcl.operators import text_of
from kgitops.conversion.reading.hcl.parsing import HclBlock, Syntax, span, written
from kgitops.conversion.reading.hcl.scopes import Data, Scope, Unknown
from kgitops.conversion.reading.values import SourceFile, Value
from kgitops.manifests.yaml.document import MappingNode, Node, ScalarNode, SequenceNode

_QUOTED = '"'
_NO_TAG = ""
_NAMES = (
    ("lifecycle", "ignore_changes"),
    ("lifecycle", "replace_triggered_by"),
    ("removed", "from"),
    ("moved", "from"),
    ("moved", "to"),
    ("import", "to"),
)
"""Attributes of blocks whose expressions have no value: they name attributes or resources."""
_STEPS_OF_A_NODE = 20
"""A node takes more memory than its value."""


def block_value(file: SourceFile, block: HclBlock, scope: Scope) -> Value:
    """The block as a mapping: its attributes, and the blocks inside it by their types."""
    return Value(file, _block(block, scope), 0)


def _block(block: HclBlock, scope: Scope) -> Node:
    pairs: list[tuple[Node, Node]] = []
    for name, expression in block.attributes.items():
        named = (block.type, name) in _NAMES
        node = _names(expression) if named else _expression(expression, scope)
        # A finding about the attribute is at its value, which is on its line.
        pairs.append((_scalar(name, node.start_mark.index, node.start_mark.index + 1), node))
    kinds: dict[str, list[HclBlock]] = {}
    for inner in block.blocks:
        kinds.setdefault(inner.type, []).append(inner)
    for kind, blocks in kinds.items():
        nodes = [_block(inner, scope) for inner in blocks]
        first, last = blocks[0].start, blocks[-1].end
        node = nodes[0] if len(nodes) == 1 else _sequence(nodes, first, last)
        pairs.append((_scalar(kind, first, first + 1), node))
    return _mapping(pairs, block.start, block.end)


def _names(tree: Syntax) -> Node:
    """The node of an expression that only names other attributes: their names as written."""
    parts = [child for child in tree.children if not isinstance(child, str)]
    start, end = span(tree)
    if tree.data == "expr_term" and len(parts) == 1:
        return _names(parts[0])
    if tree.data == "tuple":
        items = [part for part in parts if part.data != "new_line_or_comment"]
        return _sequence([_names(item) for item in items], start, end)
    text = written(tree)
    return _scalar(text.strip('"') if tree.data == "string" else text, start, end)


def _expression(tree: Syntax, scope: Scope) -> Node:
    """The node of an expression; the parts of a written list or object have their own places."""
    parts = [
        child
        for child in tree.children
        if not isinstance(child, str) and child.data != "new_line_or_comment"
    ]
    start, end = span(tree)
    if tree.data == "expr_term" and len(parts) == 1:
        return _expression(parts[0], scope)
    if tree.data == "tuple":
        return _sequence([_expression(part, scope) for part in parts], start, end)
    if tree.data == "object":
        try:
            pairs = [(_scalar(object_key(part, scope), *span(part)), part) for part in parts]
        except (LookupError, TypeError):
            return _evaluated(tree, scope)
        return _mapping([(key, _expression(_last(part), scope)) for key, part in pairs], start, end)
    return _evaluated(tree, scope)


def _last(element: Syntax) -> Syntax:
    """The value of an object's element."""
    value = element.children[-1]
    assert not isinstance(value, str)  # noqa: S101 (by the grammar)
    return value


def _evaluated(tree: Syntax, scope: Scope) -> Node:
    start, end = span(tree)
    try:
        return _node(evaluate(tree, scope), start, end, scope)
    except (TooMuchError, RecursionError):  # one list in many places of another
        return _scalar(f"${{{written(tree)}}}", start, end)


def _node(value: Data, start: int, end: int, scope: Scope) -> Node:
    if isinstance(value, dict):
        scope.spend(_STEPS_OF_A_NODE * len(value))
        pairs = [
            (_scalar(key, start, end), _node(item, start, end, scope))
            for key, item in value.items()
        ]
        return _mapping(pairs, start, end)
    if isinstance(value, list):
        scope.spend(_STEPS_OF_A_NODE * len(value))
        return _sequence([_node(item, start, end, scope) for item in value], start, end)
    if isinstance(value, Unknown):
        return _scalar(value.text, start, end)
    if value is None:
        return _scalar("null", start, end, style=None)
    return _scalar(text_of(value), start, end, style=_QUOTED if isinstance(value, str) else None)


def _scalar(text: str, start: int, end: int, style: str | None = _QUOTED) -> Node:
    return ScalarNode(_NO_TAG, text, _mark(start), _mark(end), style=style)


def _mapping(pairs: list[tuple[Node, Node]], start: int, end: int) -> Node:
    return MappingNode(_NO_TAG, pairs, _mark(start), _mark(end), flow_style=True)


def _sequence(nodes: list[Node], start: int, end: int) -> Node:
    return SequenceNode(_NO_TAG, nodes, _mark(start), _mark(end), flow_style=True)


def _mark(index: int) -> Any:  # noqa: ANN401 (PyYAML is untyped)
    return yaml.Mark("", index, 0, 0, None, 0)
