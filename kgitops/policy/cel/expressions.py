"""Reads the text of an expression into its tree, with the policy's variables in their places."""

import re
from collections.abc import Mapping

from msgspec import Struct

from kgitops.policy.cel.engine import CompileError, compile_expression, evaluate
from kgitops.policy.cel.functions import KEYS, LENGTH, UNITS, Type, TypeKind
from kgitops.policy.cel.parser import (
    MAX_DEPTH,
    RESERVED,
    Call,
    Chain,
    ListOf,
    Literal,
    Name,
    Select,
    SyntaxNode,
    SyntaxProblem,
    children,
    depth,
    parse,
    replaced,
    text_of,
    too_deep,
    walk,
)
from kgitops.policy.cel.records.variables import VARIABLES

MAX_SIZE = 2_000
MAX_COST = 1_000_000
_GUESSED_SIZE = 20
_COUNTED = (TypeKind.LIST, TypeKind.MAP, TypeKind.RECORD)
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


class Tree(Struct, frozen=True):
    """An expression with the policy's variables in their places; ``size`` counts its nodes."""

    root: SyntaxNode
    size: int


class UnknownVariable(Exception):  # noqa: N818 (a finding is made of it)
    """An expression names a variable that the policy does not define before it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def name_problem(name: str) -> str | None:
    """The problem of a variable's name; None for a name that it may have."""
    if _IDENTIFIER.fullmatch(name) and name not in RESERVED | {"true", "false", "null", "in"}:
        return None
    return f"{name!r} can't be the name of a variable"


def read_expression(text: str, variables: Mapping[str, Tree]) -> Tree:
    """Read the tree of ``text``.

    A variable stands for its expression, evaluated where it is used and nowhere else, as in
    Kubernetes. Names can't be captured: no loop's item may have the name of a variable.

    Raises:
        SyntaxProblem: it is not CEL, or too long.
        UnknownVariable: it names one that is not in ``variables``.
    """
    root = parse(text)
    try:
        compile_expression(text)
    except CompileError as error:
        problem = str(error)
        if "invalid int literal" in problem:
            problem = "a whole number is beyond 64 bits"
        raise SyntaxProblem(problem) from error
    size = 0
    for node in walk(root):
        used = _used(node)
        if used is not None and used not in variables:
            raise UnknownVariable(used)
        size += 1 if used is None else variables[used].size
        if isinstance(node, Call) and node.function == "has" and _used(node.arguments[0]):
            raise SyntaxProblem("has() asks for a field, not for a variable of the policy")
    if size > MAX_SIZE:
        raise SyntaxProblem(
            f"with its variables in their places the expression has {size} parts, "
            f"more than {MAX_SIZE}",
            "use fewer variables in one another",
        )
    root = replaced(root, lambda old, new: variables[name].root if (name := _used(old)) else new)
    if depth(root) > MAX_DEPTH:
        raise too_deep()
    if cost(root) > MAX_COST:
        raise SyntaxProblem(
            "its loops in loops could take too long", "loop over less, or split the expression"
        )
    return Tree(root, size)


def used_variables(text: str) -> frozenset[str]:
    """The policy's variables that a text names; none if it is not CEL."""
    try:
        return frozenset(name for node in walk(parse(text)) if (name := _used(node)))
    except SyntaxProblem:
        return frozenset()


def _used(node: SyntaxNode) -> str | None:
    match node:
        case Select(operand=Name(name=prefix), field=field) if prefix == VARIABLES:
            return field
        case _:
            return None


def cost(node: SyntaxNode) -> int:
    """The approximate number of steps of an evaluation; lists of unknown size count as 20 long."""
    if isinstance(node, Call) and node.loop_name is not None and node.target is not None:
        body = sum(map(cost, node.arguments[1:]))
        return 1 + cost(node.target) + _length(node.target) * body
    return 1 + sum(map(cost, children(node)))


def _length(node: SyntaxNode) -> int:
    match node:
        case ListOf(items=items):
            return len(items)
        case Call(function="map" | "filter", target=SyntaxNode() as target):
            return _length(target)
        case Chain(operands=operands):
            return sum(map(_length, operands))
        case _:
            return _GUESSED_SIZE


def program_text(
    root: SyntaxNode, types: list[Mapping[SyntaxNode, Type]]
) -> tuple[SyntaxNode, str]:
    """Rewrite the tree for the library; also its text. ``types`` are one for each kind of request.

    Loops over maps go in the order of their keys, size() counts characters, and durations and
    byte sizes that are written out are numbers already.
    """

    def change(old: SyntaxNode, new: SyntaxNode) -> SyntaxNode:
        if not isinstance(new, Call) or not isinstance(old, Call):
            return new
        if old.loop_name is not None and new.target is not None:
            if all(_kind(of_api, old.target) is TypeKind.LIST for of_api in types):
                return new
            keys = Call(new.start, new.end, None, KEYS, (new.target,))
            return Call(new.start, new.end, keys, new.function, new.arguments)
        if new.function == "size":
            was = old.arguments[0] if old.target is None else old.target
            if all(_kind(of_api, was) in _COUNTED for of_api in types):
                return new
            measured = new.arguments[0] if new.target is None else new.target
            return Call(new.start, new.end, None, LENGTH, (measured,))
        if new.function in UNITS and isinstance(new.arguments[0], Literal):
            value = evaluate(compile_expression(new.arguments[0].text), None)
            number = UNITS[new.function](str(value))
            return Literal(new.start, new.end, "int", str(number))
        return new

    made = replaced(root, change)
    return made, text_of(made)


def _kind(types: Mapping[SyntaxNode, Type], node: SyntaxNode | None) -> TypeKind:
    type_ = types.get(node) if node is not None else None
    return TypeKind.ANY if type_ is None else type_.kind
