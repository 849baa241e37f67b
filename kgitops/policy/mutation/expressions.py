"""Mutants of expressions: operators, numbers, quantities and the names of a few functions.

Each generator changes the tree, yields the node and the change, and undoes it when it continues.
"""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct

# Operators that Python and CEL spell alike, and the ones that are easily written in their place.
OPERATORS = {
    ">=": ">",
    ">": ">=",
    "<=": "<",
    "<": "<=",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
}
_QUANTITY = re.compile(r"(?P<number>[0-9]{1,18})(?P<unit>[A-Za-z]{0,5})")


class Mutation(Struct, frozen=True, kw_only=True):
    """One mistake: ``line`` and ``column`` (both from 1) of the change, as far as they are known.

    ``what`` is the change (``>= → >``), ``excerpt`` the code around it, before the change.
    """

    line: int
    column: int
    what: str
    excerpt: str


def other_numbers(number: int) -> Iterator[int]:
    """The numbers next to a threshold; a number that counts does not go below 0."""
    yield number + 1
    if number > 0:
        yield number - 1


def other_quantities(text: str) -> Iterator[str]:
    """The quantities next to one that is written as text: for ``7d``, ``8d`` and ``6d``."""
    if parts := _QUANTITY.fullmatch(text):
        for number in other_numbers(int(parts["number"])):
            yield f"{number}{parts['unit']}"


Mutations = Iterator[tuple[ast.expr | ast.stmt, str]]

_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_NODES = {text: kind for kind, text in _SYMBOLS.items()}
_REPLACEMENTS = {
    **OPERATORS,
    "//": "*",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
}
_CALLS = {
    "startswith": "endswith",
    "endswith": "startswith",
    "removeprefix": "removesuffix",
    "removesuffix": "removeprefix",
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
}
# Calls that make messages, and arguments that are messages or check the program itself.
_MESSAGE_CALLS = frozenset({"PolicyViolation", "Violation"})
_SKIPPED_ARGUMENTS = frozenset({"field", "message", "strict", "key"})


def expression_mutants(node: ast.expr | None) -> Mutations:
    """Make the mutants of an expression and of everything in it."""
    match node:
        case None | ast.JoinedStr() | ast.Name():
            return
        case ast.Constant():
            yield from _constant(node)
        case ast.Compare():
            yield from _compare(node)
            yield from _children(node)
        case ast.BoolOp(op=op):
            node.op, what = (ast.Or(), "and → or") if isinstance(op, ast.And) else _AND
            yield node, what
            node.op = op
            yield from _children(node)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            node.operand = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=operand), operand)
            yield node, "not removed"
            node.operand = operand
            yield from expression_mutants(operand)
        case ast.BinOp():
            yield from _arithmetic(node)
            yield from _children(node)
        case ast.Call():
            yield from _call(node)
        case ast.IfExp(test=test):
            node.test = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)
            yield test, "condition negated"
            node.test = test
            yield from _children(node)
        case _:
            yield from _children(node)


_AND = (ast.And(), "or → and")


def called_name(call: ast.Call) -> str:
    """The last name of the called expression: ``startswith`` of ``name.startswith(…)``."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _children(node: ast.AST) -> Mutations:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            yield from _comprehension(child)
        elif isinstance(child, ast.expr):
            yield from expression_mutants(child)
        elif isinstance(child, ast.keyword) and child.arg not in _SKIPPED_ARGUMENTS:
            yield from expression_mutants(child.value)


def _comprehension(node: ast.comprehension) -> Mutations:
    yield from expression_mutants(node.iter)
    for index, test in enumerate(node.ifs):
        node.ifs[index] = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)
        yield test, "condition negated"
        node.ifs[index] = test
        yield from expression_mutants(test)


def _constant(node: ast.Constant) -> Mutations:
    before = node.value
    others: Iterator[object] = iter(())
    if isinstance(before, bool):
        others = iter((not before,))
    elif isinstance(before, int):
        others = other_numbers(before)
    elif isinstance(before, str):
        others = other_quantities(before)
    for other in others:
        node.value = other  # type: ignore[assignment]  # a bool, an int or a str
        yield node, f"{before!r} → {other!r}"
        node.value = before


def _compare(node: ast.Compare) -> Mutations:
    for index, operator in enumerate(node.ops):
        text = _SYMBOLS[type(operator)]
        node.ops[index] = _NODES[_REPLACEMENTS[text]]()  # type: ignore[call-overload]
        yield node, f"{text} → {_REPLACEMENTS[text]}"
        node.ops[index] = operator


def _arithmetic(node: ast.BinOp) -> Mutations:
    operator, text = node.op, _SYMBOLS.get(type(node.op))
    if text is None or _is_text(node.left) or _is_text(node.right):
        return
    node.op = _NODES[_REPLACEMENTS[text]]()  # type: ignore[assignment]
    yield node, f"{text} → {_REPLACEMENTS[text]}"
    node.op = operator


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _call(node: ast.Call) -> Mutations:
    name = called_name(node)
    if name in _MESSAGE_CALLS:
        return
    if other := _CALLS.get(name):
        _rename(node.func, other)
        yield node, f"{name} → {other}"
        _rename(node.func, name)
    yield from _children(node)


def _rename(function: ast.expr, name: str) -> None:
    if isinstance(function, ast.Attribute):
        function.attr = name
    elif isinstance(function, ast.Name):
        function.id = name
