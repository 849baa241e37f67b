"""Evaluates expressions whose values the files tell; others are ``Unknown``."""

import operator
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from lark import Token, Tree
from msgspec import Struct

from kgitops.conversion.reading.hcl.functions import FUNCTIONS
from kgitops.conversion.reading.hcl.parsing import Syntax, written

Data = Any
"""A value: text, number, boolean, None, list, dict with text keys; or ``Unknown`` in any place."""

Step = str | int
"""An attribute's name, a key or an index."""


class Unknown(Struct, frozen=True):
    """A value that only Terraform knows; ``text`` shows it as a template: ``${var.name}``."""

    text: str


class NotKnownError(LookupError):
    """The files do not tell the value."""


class Scope(Protocol):
    """The names that an expression may refer to."""

    def find(self, root: str, steps: tuple[Step, ...]) -> Data:
        """The value of ``root.step[step]``.

        Raises:
            NotKnownError: it is not known.
        """


class Local:
    """A scope with further names, as those of a ``for``."""

    def __init__(self, outer: Scope, names: Mapping[str, Data]) -> None:
        self._outer = outer
        self._names = names

    def find(self, root: str, steps: tuple[Step, ...]) -> Data:
        """The value of a name of its own, or of the outer scope."""
        if root in self._names:
            return follow(self._names[root], steps)
        return self._outer.find(root, steps)


def evaluate(tree: Syntax | Token, scope: Scope) -> Data:
    """The value of an expression; ``Unknown`` wherever it is not known."""
    try:
        return _value(tree, scope)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, StopIteration):
        return Unknown(f"${{{written(tree)}}}")


def follow(value: Data, steps: tuple[Step, ...]) -> Data:
    """The value that the steps lead to.

    Raises:
        LookupError: there is none.
    """
    for step in steps:
        if isinstance(value, Unknown):
            return value
        if isinstance(value, list):
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value[str(step)]
        else:
            raise NotKnownError(step)
    return value


def is_known(value: Data) -> bool:
    """Tell if nothing in the value is unknown."""
    if isinstance(value, dict):
        return all(map(is_known, value.values()))
    if isinstance(value, list):
        return all(map(is_known, value))
    return not isinstance(value, Unknown)


def text_of(value: Data) -> str:
    """A scalar as text, as an interpolation has it.

    Raises:
        TypeError: it is no scalar.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(value)


def _value(tree: Syntax | Token, scope: Scope) -> Data:
    if isinstance(tree, Token):
        raise NotKnownError(tree)
    evaluator = _EVALUATORS.get(str(tree.data))
    if evaluator is None:
        raise NotKnownError(tree.data)
    return evaluator(tree, scope)


def _parts(tree: Syntax) -> list[Syntax]:
    """The children that are expressions."""
    return [
        child
        for child in tree.children
        if isinstance(child, Tree) and child.data != "new_line_or_comment"
    ]


def _term(tree: Syntax, scope: Scope) -> Data:
    (part,) = _parts(tree)
    return _value(part, scope)


def _literal(tree: Syntax, _scope: Scope) -> Data:
    return {"true": True, "false": False, "null": None}[written(tree)]


def _string(tree: Syntax, scope: Scope) -> Data:
    known = True
    texts: list[str] = []
    for part in _parts(tree):
        content = part.children[0]
        if isinstance(content, Token):
            escaped = content.type.startswith("ESCAPED")
            texts.append(str(content)[1:] if escaped else _unescaped(str(content)))
        elif content.data == "interpolation":
            (inner,) = _parts(content)
            value = evaluate(inner, scope)
            if isinstance(value, Unknown):
                known = False
                texts.append(value.text)
            else:
                texts.append(text_of(value))
        else:
            raise NotKnownError(content.data)  # %{ if }, %{ for }
    text = "".join(texts)
    return text if known else Unknown(text)


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def _unescaped(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        sign = match[1]
        if len(sign) > 1:
            return chr(int(sign[1:], 16))
        return {"n": "\n", "r": "\r", "t": "\t"}.get(sign, sign)

    return _ESCAPE.sub(replaced, text)


def _heredoc(tree: Syntax, _scope: Scope) -> Data:
    lines = str(tree.children[0]).splitlines(keepends=True)[1:-1]
    text = "".join(lines)
    if "${" in text or "%{" in text:
        raise NotKnownError(text)
    return textwrap.dedent(text) if tree.data == "heredoc_template_trim" else text


def _tuple(tree: Syntax, scope: Scope) -> Data:
    return [evaluate(part, scope) for part in _parts(tree)]


def _object(tree: Syntax, scope: Scope) -> Data:
    return {
        object_key(element, scope): evaluate(_parts(element)[-1], scope) for element in _parts(tree)
    }


def object_key(element: Syntax, scope: Scope) -> str:
    """The key of an object's element: a name stands for itself."""
    key = _parts(element)[0]
    inner = key.children[0]
    while isinstance(inner, Tree) and inner.data in ("expr_term", "keyword", "identifier"):
        if inner.data != "expr_term":
            return written(inner)
        if len(inner.children) != 1:
            break
        inner = inner.children[0]
    value = _value(inner, scope) if isinstance(inner, Tree) else str(inner)
    return text_of(value)


def _reference(tree: Syntax, scope: Scope) -> Data:
    """``root.step[step]``, or steps into the value of another expression."""
    steps: list[Step] = []
    at = tree
    while True:
        if at.data == "expr_term" and len(_parts(at)) == 1:
            at = _parts(at)[0]
        elif at.data in ("get_attr_expr_term", "index_expr_term"):
            at, step = _parts(at)
            steps.insert(0, _step(step, scope))
        else:
            break
    if at.data == "identifier":
        return scope.find(written(at), tuple(steps))
    return follow(_value(at, scope), tuple(steps))


def _step(tree: Syntax, scope: Scope) -> Step:
    if tree.data == "get_attr":
        return written(_parts(tree)[0])
    if tree.data == "short_index":
        return int(written(tree).removeprefix("."))
    (index,) = _parts(tree)
    step = evaluate(index, scope)
    if isinstance(step, str | int):
        return step
    raise NotKnownError(step)


def _splat(tree: Syntax, scope: Scope) -> Data:
    source, rest = _parts(tree)
    steps = tuple(_step(step, scope) for step in _parts(rest))
    items = _value(source, scope)
    return [follow(item, steps) for item in (items if isinstance(items, list) else [items])]


def _call(tree: Syntax, scope: Scope) -> Data:
    name, *arguments = _parts(tree)
    values = [evaluate(part, scope) for group in arguments for part in _parts(group)]
    if not all(map(is_known, values)) or "..." in map(str, tree.scan_values(lambda _: True)):
        raise NotKnownError(name)
    return FUNCTIONS[written(name)](*values)


def _for(tree: Syntax, scope: Scope) -> Data:
    intro, *parts = _parts(tree)
    condition = parts.pop() if parts[-1].data == "for_cond" else None
    *names, source = _parts(intro)
    items = evaluate(source, scope)
    if isinstance(items, Unknown):
        raise NotKnownError(items.text)
    pairs = list(items.items() if isinstance(items, dict) else enumerate(items))
    results = []
    for key, value in pairs:
        words = [written(name) for name in names]
        found = {words[-1]: value} | ({words[0]: key} if len(words) > 1 else {})
        inner = Local(scope, found)
        chosen = evaluate(_parts(condition)[0], inner) if condition is not None else True
        if not isinstance(chosen, bool):
            raise NotKnownError(chosen)
        if chosen:
            results.append([evaluate(part, inner) for part in parts])
    if tree.data == "for_tuple_expr":
        return [value for (value,) in results]
    return {text_of(key): value for key, value in results}


_OPERATORS: Mapping[str, Callable[[Data, Data], Data]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left // right if left % right == 0 else left / right,
    "%": operator.mod,
    "&&": lambda left, right: left and right,
    "||": lambda left, right: left or right,
}


def _binary(tree: Syntax, scope: Scope) -> Data:
    left_part, term = _parts(tree)
    sign, right_part = _parts(term)
    left, right = evaluate(left_part, scope), evaluate(right_part, scope)
    if not (is_known(left) and is_known(right)):
        raise NotKnownError(tree)
    return _OPERATORS[written(sign)](left, right)


def _unary(tree: Syntax, scope: Scope) -> Data:
    value = evaluate(_parts(tree)[0], scope)
    return (not value) if str(tree.children[0]) == "!" and is_known(value) else -value


def _conditional(tree: Syntax, scope: Scope) -> Data:
    condition, then, otherwise = _parts(tree)
    chosen = evaluate(condition, scope)
    if not isinstance(chosen, bool):
        raise NotKnownError(tree)
    return evaluate(then if chosen else otherwise, scope)


_EVALUATORS: Mapping[str, Callable[[Syntax, Scope], Data]] = {
    "expr_term": _term,
    "literal_value": _literal,
    "int_lit": lambda tree, _: int(written(tree)),
    "float_lit": lambda tree, _: float(written(tree)),
    "string": _string,
    "heredoc_template": _heredoc,
    "heredoc_template_trim": _heredoc,
    "tuple": _tuple,
    "object": _object,
    "identifier": _reference,
    "get_attr_expr_term": _reference,
    "index_expr_term": _reference,
    "attr_splat_expr_term": _splat,
    "full_splat_expr_term": _splat,
    "function_call": _call,
    "for_tuple_expr": _for,
    "for_object_expr": _for,
    "binary_op": _binary,
    "unary_op": _unary,
    "conditional": _conditional,
}
