"""Problems of expressions: their values, their wording, and those of calls with literals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kgitops.model.wording import nearest
from kgitops.policy.cel.engine import CompileError, EvaluationError, compile_expression, evaluate
from kgitops.policy.cel.functions import UNITS, Type, TypeKind
from kgitops.policy.cel.parser import Call, Index, Literal, Select, SyntaxNode, text_of, walk

_MAX_SHOWN = 60
_MAX_SHOWN_LITERAL = 40
_NATIVE = frozenset({"int", "double"})
_MAX_INT64 = 2**63 - 1


class Problem(Struct, frozen=True):
    """A mistake at a node, and what to do. ``weak``: it counts only if a sample run reaches it."""

    node: SyntaxNode
    text: str
    advice: str
    weak: bool = False


def problems_of_every_api(problems: Mapping[str, Sequence[Problem]]) -> Iterator[Problem]:
    """The problems, by api, that every api has: the most helpful one of each node."""
    by_node: dict[SyntaxNode, dict[str, Problem]] = {}
    for api, of_api in problems.items():
        for problem in of_api:
            by_node.setdefault(problem.node, {}).setdefault(api, problem)
    for by_api in by_node.values():
        strong = [problem for problem in by_api.values() if not problem.weak]
        if strong and len(by_api) == len(problems):
            yield max(strong, key=lambda problem: "did you mean" in problem.advice)


def constant_problems(root: SyntaxNode) -> Iterator[Problem]:
    """Problems of units, conversions and regular expressions whose argument is a literal."""
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
    text = argument.text
    if len(text) > _MAX_SHOWN_LITERAL:
        text = f"{text[: _MAX_SHOWN_LITERAL - 1]}…"
    try:
        evaluate(compile_expression(f"''.matches({argument.text})"), None)
    except EvaluationError as error:
        reason = error.text.rpartition("error: ")[2]
        if "size limit" in error.text:
            yield Problem(node, f"the regular expression {text} is too big", "repeat less")
        else:
            yield Problem(
                node,
                f"{text} is not a regular expression: {reason}",
                "correct it; the syntax is RE2's",
            )


def _conversion_problems(node: Call) -> Iterator[Problem]:
    try:
        evaluate(compile_expression(text_of(node)), None)
    except (EvaluationError, CompileError):
        yield Problem(node, f"{text_of(node)} gives no number", "write the number itself")


def conversion(actual: Type, expected: tuple[Type, ...]) -> str:
    """Advice on how to turn one type into another."""
    kinds = [type_.kind for type_ in expected]
    if actual.kind is TypeKind.STRING and TypeKind.INT in kinds:
        return "convert the text by int(…)"
    if actual.kind is TypeKind.STRING and TypeKind.DOUBLE in kinds:
        return "convert the text by double(…)"
    if actual.numeric and TypeKind.STRING in kinds:
        return "convert the number by string(…), or the text by int(…)"
    if actual.kind is TypeKind.BOOL and TypeKind.STRING in kinds:
        return "write (… ? 'true' : 'false')"
    return f"give {' or '.join(dict.fromkeys(named(type_) for type_ in expected))}"


def meant(name: str, candidates: Iterable[str], introduction: str) -> str:
    """Advice for a misspelt name: the candidate that is nearest, or all of them."""
    names = sorted(candidates)
    near = nearest(name, names)
    return f"did you mean {near}?" if near else f"{introduction} {', '.join(names)}"


def named(type_: Type) -> str:
    """The type as a sentence names it, such as text or a list(int)."""
    text = str(type_)
    if type_.kind in (TypeKind.STRING, TypeKind.NULL):
        return text.replace("string", "text", 1)
    if type_.kind is TypeKind.ANY:
        return "anything"
    if type_.kind is TypeKind.RECORD:
        return text
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def bare(type_: Type) -> str:
    """The type without its article."""
    return named(type_) if type_.kind is TypeKind.STRING else str(type_)


def shown(node: SyntaxNode) -> str:
    """The expression on one line, cut where it is long."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def shown_root(node: SyntaxNode) -> str:
    """The first part of a chain of fields, keys and calls, as ``shown`` gives it."""
    while isinstance(node, Select | Index | Call):
        below = node.target if isinstance(node, Call) else node.operand
        if below is None:
            break
        node = below
    return shown(node)
