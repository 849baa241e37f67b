"""What all mutants have in common: which number, name or operator stands in for which."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

# Operators that Python and CEL spell alike, and what a hasty hand writes in their place.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """``line`` and ``column`` (both from 1) of what was changed, where that is known.

    ``what`` says it (``>= → >``); ``excerpt`` is the code around it, before the change.
    """

    line: int
    column: int
    what: str
    excerpt: str


def other_numbers(number: int) -> Iterator[int]:
    """The numbers beside a threshold; a number that counts does not go below 0."""
    yield number + 1
    if number > 0:
        yield number - 1


def other_quantities(text: str) -> Iterator[str]:
    """The quantities beside one that is written as text: ``7d`` as ``8d`` and ``6d``."""
    if parts := _QUANTITY.fullmatch(text):
        for number in other_numbers(int(parts["number"])):
            yield f"{number}{parts['unit']}"


Mutations = Iterator[tuple[ast.expr | ast.stmt, str]]

_SPELT: dict[type[ast.AST], str] = {
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
_NODES = {text: kind for kind, text in _SPELT.items()}
_INSTEAD = {
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
# What only says something: the parts of a message, and checks of the program itself.
_SAID = frozenset({"PolicyViolation", "Violation"})
_UNTOLD = frozenset({"field", "message", "strict", "key"})


def expression_mutants(node: ast.expr | None) -> Mutations:
    """The mutants of an expression and of all that is in it."""
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
    """The last name of what is called: ``startswith`` of ``name.startswith(…)``."""
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
        elif isinstance(child, ast.keyword) and child.arg not in _UNTOLD:
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
        text = _SPELT[type(operator)]
        node.ops[index] = _NODES[_INSTEAD[text]]()  # type: ignore[call-overload]
        yield node, f"{text} → {_INSTEAD[text]}"
        node.ops[index] = operator


def _arithmetic(node: ast.BinOp) -> Mutations:
    operator, text = node.op, _SPELT.get(type(node.op))
    if text is None or _is_text(node.left) or _is_text(node.right):
        return
    node.op = _NODES[_INSTEAD[text]]()  # type: ignore[assignment]
    yield node, f"{text} → {_INSTEAD[text]}"
    node.op = operator


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _call(node: ast.Call) -> Mutations:
    name = called_name(node)
    if name in _SAID:
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
