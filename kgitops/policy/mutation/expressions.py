"""Mutants of expressions: operators, numbers, quantities and the names of a few functions.

Each generator changes the tree, yields where and what, and changes it back when it goes on.
"""

import ast
from collections.abc import Iterator

from kgitops.policy.mutation.change import OPERATORS, other_numbers, other_quantities

Found = Iterator[tuple[ast.expr | ast.stmt, str]]

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


def expression_mutants(node: ast.expr | None) -> Found:
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


def _children(node: ast.AST) -> Found:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            yield from _comprehension(child)
        elif isinstance(child, ast.expr):
            yield from expression_mutants(child)
        elif isinstance(child, ast.keyword) and child.arg not in _UNTOLD:
            yield from expression_mutants(child.value)


def _comprehension(node: ast.comprehension) -> Found:
    yield from expression_mutants(node.iter)
    for index, test in enumerate(node.ifs):
        node.ifs[index] = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)
        yield test, "condition negated"
        node.ifs[index] = test
        yield from expression_mutants(test)


def _constant(node: ast.Constant) -> Found:
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


def _compare(node: ast.Compare) -> Found:
    for index, operator in enumerate(node.ops):
        text = _SPELT[type(operator)]
        node.ops[index] = _NODES[_INSTEAD[text]]()  # type: ignore[call-overload]
        yield node, f"{text} → {_INSTEAD[text]}"
        node.ops[index] = operator


def _arithmetic(node: ast.BinOp) -> Found:
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


def _call(node: ast.Call) -> Found:
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
