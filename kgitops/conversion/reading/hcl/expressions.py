"""Evaluates expressions whose values the files tell; others are ``Unknown``."""

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from lark import Token, Tree
from msgspec import Struct

from kgitops.conversion.reading.budget import MOST_TEXT, check_size
from kgitops.conversion.reading.hcl.functions import EASY, FUNCTIONS, OF_ANY_VALUES
from kgitops.conversion.reading.hcl.operators import OPERATORS, SIGNS, text_of
from kgitops.conversion.reading.hcl.parsing import Syntax, written

Data = Any
"""A value: text, number, boolean, None, list, dict with text keys; or ``Unknown`` in any place."""

Step = str | int
"""An attribute's name, a key or an index."""


Reference = tuple[str, tuple[Step, ...]]
"""The names in ``root.step[step]``."""


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

    def spend(self, steps: int) -> None:
        """Take steps of what the expressions of the source may take.

        Raises:
            TooMuchError: not so many are left.
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

    def spend(self, steps: int) -> None:
        """Take steps from the outer scope."""
        self._outer.spend(steps)


def evaluate(tree: Syntax | Token, scope: Scope) -> Data:
    """The value of an expression; ``Unknown`` wherever it is not known."""
    try:
        scope.spend(1)
        return _value(tree, scope)
    except _ERRORS:
        return Unknown(f"${{{written(tree)}}}")


_ERRORS = (
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    StopIteration,
    RecursionError,
)
"""The errors of an expression whose value can't be told."""


def follow(value: Data, steps: tuple[Step, ...]) -> Data:
    """The value that the steps lead to.

    Raises:
        LookupError: there is none.
    """
    for step in steps:
        if isinstance(value, Unknown):
            return value
        if isinstance(value, list):
            index = int(step)
            if index < 0:
                raise NotKnownError(step)
            value = value[index]
        elif isinstance(value, dict):
            value = value[str(step)]
        else:
            raise NotKnownError(step)
    return value


_NESTED = (dict, list)


def _is_known(value: Data, scope: Scope) -> bool:
    """Return whether nothing in the value is unknown."""
    if not isinstance(value, _NESTED):
        return not isinstance(value, Unknown)
    scope.spend(1 + len(value))
    for item in value.values() if isinstance(value, dict) else value:
        # Most items are neither; a call for each would take most of the time.
        if isinstance(item, _NESTED):
            if not _is_known(item, scope):
                return False
        elif isinstance(item, Unknown):
            return False
    return True


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
    check_size(sum(map(len, texts)), MOST_TEXT)
    text = "".join(texts)
    scope.spend(len(text) // 100)
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


def reference(tree: Syntax, scope: Scope) -> Reference:
    """The names in ``root.step[step]``, also where it is a text, as in ``provider = "kafka.dr"``.

    Raises:
        LookupError: it is something else, or an index is not known.
    """
    at, steps = _path(tree, scope)
    if at.data == "identifier":
        return written(at), steps
    root, *names = str(_string(at, scope)).split(".") if at.data == "string" else [""]
    if not root or steps:
        raise NotKnownError(written(tree))
    return root, tuple(names)


def references(tree: Syntax, scope: Scope) -> dict[Reference, Reference]:
    """The names in an object of references, as ``providers = { kafka = kafka.dr }`` is.

    Raises:
        LookupError: it is something else, or an index is not known.
    """
    at, steps = _path(tree, scope)
    if at.data != "object" or steps:
        raise NotKnownError(written(tree))
    pairs = [_parts(element) for element in _parts(at)]
    return {reference(_parts(pair[0])[0], scope): reference(pair[-1], scope) for pair in pairs}


def arguments(tree: Syntax) -> tuple[str, list[Syntax]] | None:
    """A function's name and its arguments; None if the expression is no call."""
    while tree.data == "expr_term" and len(_parts(tree)) == 1:
        (tree,) = _parts(tree)
    if tree.data != "function_call":
        return None
    name, *groups = _parts(tree)
    return written(name), [part for group in groups for part in _parts(group)]


def object_pairs(tree: Syntax, scope: Scope) -> list[tuple[str, Syntax]]:
    """The keys of an object that is written out, with their expressions.

    Raises:
        LookupError: it is something else.
    """
    while tree.data == "expr_term" and len(_parts(tree)) == 1:
        (tree,) = _parts(tree)
    if tree.data != "object":
        raise NotKnownError(written(tree))
    return [(object_key(element, scope), _parts(element)[-1]) for element in _parts(tree)]


def _reference(tree: Syntax, scope: Scope) -> Data:
    """``root.step[step]``, or steps into the value of another expression."""
    at, steps = _path(tree, scope)
    if at.data == "identifier":
        return scope.find(written(at), steps)
    return follow(_value(at, scope), steps)


def _path(tree: Syntax, scope: Scope) -> tuple[Syntax, tuple[Step, ...]]:
    """The first expression of ``root.step[step]``, and the steps."""
    steps: list[Step] = []
    at = tree
    while True:
        if at.data == "expr_term" and len(_parts(at)) == 1:
            at = _parts(at)[0]
        elif at.data in ("get_attr_expr_term", "index_expr_term"):
            at, step = _parts(at)
            steps.insert(0, _step(step, scope))
        else:
            return at, tuple(steps)


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
    function = written(name)
    parts = [part for group in arguments for part in _parts(group)]
    if any(
        isinstance(token, Token) and token.type == "ELLIPSIS"
        for group in arguments
        for token in group.children
    ):
        raise NotKnownError(function)
    if function in ("try", "can"):
        return _tried(parts, scope, only_asked=function == "can")
    if function not in FUNCTIONS:
        raise NotKnownError(function)
    values = [evaluate(part, scope) for part in parts]
    known = all(
        not isinstance(value, Unknown) if function in OF_ANY_VALUES else _is_known(value, scope)
        for value in values
    )
    if not known:
        raise NotKnownError(function)
    if function not in EASY:
        scope.spend(sum(map(_size, values)))
    result = FUNCTIONS[function](*values)
    if isinstance(result, str):
        check_size(len(result), MOST_TEXT)
    if function not in EASY:
        scope.spend(_size(result))
    return result


def _size(value: Data) -> int:
    if isinstance(value, str):
        return len(value) // 100
    return len(value) if isinstance(value, list | dict) else 0


def _tried(parts: list[Syntax], scope: Scope, *, only_asked: bool) -> Data:
    """The first expression that leads to a value; ``only_asked``: tell if there is one."""
    for part in parts:
        scope.spend(1)
        try:
            value = _value(part, scope)
        except NotKnownError:
            raise
        except (KeyError, IndexError):  # an attribute, a key or an item that is not there
            continue
        return True if only_asked else value
    if only_asked:
        return False
    raise NotKnownError


def _for(tree: Syntax, scope: Scope) -> Data:
    intro, *parts = _parts(tree)
    condition = parts.pop() if parts[-1].data == "for_cond" else None
    *names, source = _parts(intro)
    items = evaluate(source, scope)
    if not isinstance(items, dict | list):
        raise NotKnownError(items)
    scope.spend(len(items))
    # Terraform goes through a map by its keys in order.
    pairs: list[tuple[Any, Data]] = (
        sorted(items.items(), key=lambda pair: pair[0])
        if isinstance(items, dict)
        else list(enumerate(items))
    )
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
    if any(isinstance(token, Token) and token.type == "ELLIPSIS" for token in tree.children):
        grouped: dict[str, list[Data]] = {}
        for key, value in results:
            grouped.setdefault(text_of(key), []).append(value)
        return grouped
    return {text_of(key): value for key, value in results}


def _binary(tree: Syntax, scope: Scope) -> Data:
    left_part, term = _parts(tree)
    sign, right_part = _parts(term)
    left, right = evaluate(left_part, scope), evaluate(right_part, scope)
    if not (_is_known(left, scope) and _is_known(right, scope)):
        raise NotKnownError(tree)
    return OPERATORS[written(sign)](left, right)


def _unary(tree: Syntax, scope: Scope) -> Data:
    return SIGNS[str(tree.children[0])](evaluate(_parts(tree)[0], scope))


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
