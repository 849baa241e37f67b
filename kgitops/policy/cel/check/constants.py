"""Calls whose arguments are written out: whether they can give anything is known beforehand."""

from collections.abc import Iterator

from kgitops.policy.cel.check.problems import Problem
from kgitops.policy.cel.engine import (
    CompileError,
    EvaluationError,
    compile_expression,
    evaluate,
)
from kgitops.policy.cel.functions import UNITS
from kgitops.policy.cel.nodes import Call, Literal, Node, text_of, walk

_NATIVE = frozenset({"int", "double"})
_MAX_INT64 = 2**63 - 1


def constant_problems(root: Node) -> Iterator[Problem]:
    """What is wrong with calls of units, conversions and regular expressions."""
    for node in walk(root):
        if not isinstance(node, Call) or not node.arguments:
            continue
        argument = node.arguments[0]
        if not isinstance(argument, Literal) or argument.kind != "string":
            continue
        if node.function in UNITS:
            yield from _unit_problems(node, argument)
        elif node.function == "matches":
            yield from _regex_problems(node, argument)
        elif node.function in _NATIVE:
            yield from _conversion_problems(node)


def _unit_problems(node: Call, argument: Literal) -> Iterator[Problem]:
    text = str(evaluate(compile_expression(argument.text), None))
    try:
        value = UNITS[node.function](text)
    except ValueError as error:
        problem, _, advice = str(error).partition("; ")
        yield Problem(node, f"{node.function}(): {problem}", advice or "correct it")
        return
    if value > _MAX_INT64:
        yield Problem(node, f"{node.function}({argument.text}) is beyond 64 bits", "write less")


def _regex_problems(node: Call, argument: Literal) -> Iterator[Problem]:
    try:
        evaluate(compile_expression(f"''.matches({argument.text})"), None)
    except EvaluationError as error:
        why = error.words.rpartition("error: ")[2]
        if "size limit" in error.words:
            yield Problem(
                node, f"the regular expression {_shown(argument)} is too big", "repeat less"
            )
        else:
            yield Problem(
                node,
                f"{_shown(argument)} is no regular expression: {why}",
                "correct it; the syntax is RE2's",
            )


def _conversion_problems(node: Call) -> Iterator[Problem]:
    try:
        evaluate(compile_expression(text_of(node)), None)
    except (EvaluationError, CompileError):
        yield Problem(node, f"{text_of(node)} gives no number", "write the number itself")


def _shown(argument: Literal) -> str:
    return argument.text if len(argument.text) <= 40 else f"{argument.text[:39]}…"
