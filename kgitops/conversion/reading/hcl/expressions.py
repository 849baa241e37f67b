"""Evaluates expressions whose values the files tell; others are ``Unknown``."""

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lark import Token, Tree

from kgitops.conversion.reading.budget import MOST_TEXT, check_size
from kgitops.conversion.reading.hcl.functions import DECODERS, EASY, FUNCTIONS, OF_ANY_VALUES
from kgitops.conversion.reading.hcl.operators import OPERATORS, SIGNS, text_of
from kgitops.conversion.reading.hcl.parsing import Syntax, parsed_template, written
from kgitops.conversion.reading.hcl.scopes import (
    Attributes,
    Data,
    Local,
    NotKnownError,
    OnlyFiles,
    Reference,
    Scope,
    Step,
    Unknown,
    follow,
)


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


_NESTED = (dict, list)


def _is_known(value: Data, scope: Scope) -> bool:
    """Return whether nothing in the value is unknown."""
    if not isinstance(value, _NESTED):
        return not isinstance(value, Unknown)
    if isinstance(value, Attributes):
        return False
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
    parts = [part.children[0] for part in _parts(tree)]
    if len(parts) == 1 and isinstance(parts[0], Tree) and parts[0].data == "interpolation":
        # One interpolation and nothing else has its value's type.
        return evaluate(_parts(parts[0])[0], scope)
    texts, known = _rendered(_trimmed(parts), scope)
    check_size(sum(map(len, texts)), MOST_TEXT)
    text = "".join(texts)
    scope.spend(len(text) // 100)
    return text if known else Unknown(text)


_Part = str | Syntax
"""A part of a template: its text, an interpolation or a directive."""


def _trimmed(parts: Iterable[Syntax | Token]) -> list[_Part]:
    """The parts, without the white space that directives with `~` remove."""
    found: list[_Part] = []
    trims = False
    for part in parts:
        if isinstance(part, Token):
            escaped = part.type.startswith("ESCAPED")
            text = str(part)[1:] if escaped else _unescaped(str(part))
            found.append(text.lstrip() if trims else text)
            trims = False
            continue
        markers = [isinstance(child, Token) and child == "~" for child in part.children]
        if len(markers) > 1 and markers[1] and found and isinstance(found[-1], str):
            found[-1] = found[-1].rstrip()
        trims = len(markers) > 1 and markers[-2]
        found.append(part)
    return found


def _rendered(parts: list[_Part], scope: Scope) -> tuple[list[str], bool]:
    """The texts of a template's parts, and whether all of them are known."""
    texts: list[str] = []
    known = True
    index = size = 0
    while index < len(parts):
        part = parts[index]
        index += 1
        if isinstance(part, str):
            texts.append(part)
        elif part.data == "interpolation":
            (inner,) = _parts(part)
            value = evaluate(inner, scope)
            known &= not isinstance(value, Unknown)
            texts.append(value.text if isinstance(value, Unknown) else text_of(value))
        else:
            middle, end = _directive_ends(parts, index)
            for chosen, inner_scope in _chosen(part, parts[index:end], middle - index, scope):
                scope.spend(1)
                inside, is_known = _rendered(chosen, inner_scope)
                texts += inside
                known &= is_known
                size += sum(map(len, inside))
                check_size(size, MOST_TEXT)
            index = end + 1
    return texts, known


def _directive_ends(parts: list[_Part], start: int) -> tuple[int, int]:
    """The indices of a directive's `else`, or of its end where it has none, and of its end."""
    depth, middle = 0, None
    for index in range(start, len(parts)):
        part = parts[index]
        kind = "" if isinstance(part, str) else str(part.data)
        if kind in ("template_endif", "template_endfor") and not depth:
            return (index if middle is None else middle), index
        if kind == "template_else" and not depth:
            middle = index
        depth += kind.endswith("_start")
        depth -= kind in ("template_endif", "template_endfor")
    raise NotKnownError(start)


def _chosen(
    directive: Syntax, inside: list[_Part], middle: int, scope: Scope
) -> list[tuple[list[_Part], Scope]]:
    """The parts that a directive writes, once for each item of a `for`."""
    *names, source = _parts(directive)
    if directive.data == "template_if_start":
        condition = evaluate(source, scope)
        if not isinstance(condition, bool):
            raise NotKnownError(condition)
        return [(inside[:middle] if condition else inside[middle + 1 :], scope)]
    if directive.data != "template_for_start":
        raise NotKnownError(directive.data)
    words = [written(name) for name in names]
    return [
        (inside, Local(scope, _loop_names(words, key, value)))
        for key, value in _pairs(evaluate(source, scope), scope)
    ]


def _pairs(items: Data, scope: Scope) -> list[tuple[Any, Data]]:
    """The keys and values of a collection; Terraform goes through a map by its keys in order."""
    if not isinstance(items, dict | list) or isinstance(items, Attributes):
        raise NotKnownError(items)
    scope.spend(len(items))
    if isinstance(items, dict):
        return sorted(items.items(), key=lambda pair: pair[0])
    return list(enumerate(items))


def _loop_names(words: list[str], key: Data, value: Data) -> dict[str, Data]:
    return {words[-1]: value} | ({words[0]: key} if len(words) > 1 else {})


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)


def _unescaped(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        sign = match[1]
        if len(sign) > 1:
            return chr(int(sign[1:], 16))
        return {"n": "\n", "r": "\r", "t": "\t"}.get(sign, sign)

    return _ESCAPE.sub(replaced, text)


def _heredoc(tree: Syntax, scope: Scope) -> Data:
    lines = str(tree.children[0]).splitlines(keepends=True)[1:-1]
    text = "".join(lines)
    text = textwrap.dedent(text) if tree.data == "heredoc_template_trim" else text
    return render_template(text, scope) if _SEQUENCE.search(text) else text


_SEQUENCE = re.compile(r"[$%]\{")


def render_template(text: str, scope: Scope) -> Data:
    """The text of a template that is a heredoc or a file.

    Raises:
        ValueError: it is no template.
    """
    scope.spend(len(text))
    return evaluate(parsed_template(text), scope)


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
    if function in ("try", "can"):
        return _tried(parts, scope, only_asked=function == "can")
    if function not in FUNCTIONS and function not in OF_FILES:
        raise NotKnownError(function)
    values = [evaluate(part, scope) for part in parts]
    if _is_expanded(arguments):
        values[-1:] = values[-1] if isinstance(values[-1], list) else [Unknown(written(parts[-1]))]
    if function in OF_FILES:
        return _of_files(function, values, scope)
    known = all(
        not isinstance(value, Unknown | Attributes)
        if function in OF_ANY_VALUES
        else _is_known(value, scope)
        for value in values
    )
    if not known:
        raise NotKnownError(function)
    if function not in EASY:
        scope.spend(sum(map(_size, values)))
    if function in DECODERS:
        scope.spend(sum(map(len, values)) // 5)
    result = FUNCTIONS[function](*values)
    if isinstance(result, str):
        check_size(len(result), MOST_TEXT)
    elif function in DECODERS:
        _is_known(result, scope)  # takes a step for each value in it
    if function not in EASY:
        scope.spend(_size(result))
    return result


def _is_expanded(arguments: list[Syntax]) -> bool:
    """Return whether the last argument is a list of arguments: `merge(local.maps...)`."""
    return any(
        isinstance(token, Token) and token.type == "ELLIPSIS"
        for group in arguments
        for token in group.children
    )


OF_FILES = frozenset({"file", "fileexists", "fileset", "templatefile"})


def _of_files(function: str, values: list[Data], scope: Scope) -> Data:
    """The value of a function that reads a file, if the file is among those of the source."""
    files = scope.files()
    if files is None or not all(_is_known(value, scope) for value in values):
        raise NotKnownError(function)
    match function, values:
        case "file", [str(path)]:
            text = files.text(path)
        case "fileexists", [str(path)]:
            return files.has(path)
        case "fileset", [str(folder), str(pattern)]:
            found = files.matching(folder, pattern)
            scope.spend(len(found))
            return found
        case "templatefile", [str(path), dict(names)]:
            return render_template(files.text(path), Local(OnlyFiles(scope), names))
        case _:
            raise NotKnownError(function)
    scope.spend(len(text) // 100)
    return text


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
    words = [written(name) for name in names]
    results = []
    for key, value in _pairs(evaluate(source, scope), scope):
        inner = Local(scope, _loop_names(words, key, value))
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
