"""Mutants of a policy in CEL: each has one token, one expression or one pattern changed."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kgitops.model.source import Source
from kgitops.policy.cel.parser import Token, tokenize
from kgitops.policy.evaluate.bundle import CelPolicy
from kgitops.policy.mutation.expressions import OPERATORS, Mutation, other_numbers, other_quantities

T = TypeVar("T")

_OPERATORS = {**OPERATORS, "&&": "||", "||": "&&"}
_CALLS = {
    "startsWith": "endsWith",
    "endsWith": "startsWith",
    "contains": "startsWith",
    "min": "max",
    "max": "min",
    "all": "exists",
    "exists": "all",
    "exists_one": "exists",
}


def cel_mutants(policy: CelPolicy) -> Iterator[tuple[CelPolicy, Mutation]]:
    """Make the policy with one mistake, and describe it; always in the same order.

    Messages are left alone: they decide nothing.
    """
    yield from _of_match(policy)
    for index, condition in enumerate(policy.match_conditions):
        rest = _without(policy.match_conditions, index)
        yield (
            replace(policy, match_conditions=rest),
            _change(condition.expression, condition.source, policy, "condition dropped"),
        )
        for expression, change in _of_condition(condition.expression, condition.source, policy):
            changed = replace(condition, expression=expression)
            conditions = _with(policy.match_conditions, index, changed)
            yield replace(policy, match_conditions=conditions), change
    for index, variable in enumerate(policy.variables):
        for expression, change in _of_expression(variable.expression, variable.source, policy):
            changed = replace(variable, expression=expression)
            yield replace(policy, variables=_with(policy.variables, index, changed)), change
    for index, validation in enumerate(policy.validations):
        dropped = _change(validation.expression, validation.source, policy, "validation dropped")
        none = replace(validation, expression="true")
        yield replace(policy, validations=_with(policy.validations, index, none)), dropped
        for expression, change in _of_condition(validation.expression, validation.source, policy):
            other = replace(validation, expression=expression)
            yield replace(policy, validations=_with(policy.validations, index, other)), change


def _of_match(policy: CelPolicy) -> Iterator[tuple[CelPolicy, Mutation]]:
    match = policy.match
    for index, api in enumerate(match.requests if len(match.requests) > 1 else ()):
        rest = replace(match, requests=_without(match.requests, index))
        yield replace(policy, match=rest), _change(api, None, policy, "request no longer matched")
    for index, pattern in enumerate(match.names):
        rest = replace(match, names=_without(match.names, index))
        what = "name no longer matched" if rest.names else "every name matched"
        yield replace(policy, match=rest), _change(pattern, None, policy, what)


def _of_condition(
    expression: str, source: Source | None, policy: CelPolicy
) -> Iterator[tuple[str, Mutation]]:
    yield f"!({expression}\n)", _change(expression, source, policy, "condition negated")
    yield from _of_expression(expression, source, policy)


def _of_expression(
    expression: str, source: Source | None, policy: CelPolicy
) -> Iterator[tuple[str, Mutation]]:
    tokens = list(tokenize(expression))
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        for text in _replacements(token, before, after):
            changed = f"{expression[: token.start]}{text}{expression[token.end :]}"
            what = f"{token.text} → {text}" if text else f"{token.text} removed"
            yield changed, _change(expression, source, policy, what)


def _replacements(token: Token, before: Token | None, after: Token) -> Iterator[str]:
    match token.kind:
        case "operator" if token.text == "!":
            yield ""
        case "operator" if token.text in ("+", "-"):
            if before is None or (before.kind == "operator" and before.text not in (")", "]", "}")):
                yield ""
            elif "string" not in (before.kind, after.kind):
                yield _OPERATORS[token.text]
        case "operator" if token.text in _OPERATORS:
            yield _OPERATORS[token.text]
        case "int" | "uint":
            suffix = "u" if token.kind == "uint" else ""
            for number in other_numbers(int(token.text.rstrip("uU"), 0)):
                yield f"{number}{suffix}"
        case "name" if after.text == "(" and token.text in _CALLS:
            yield _CALLS[token.text]
        case "bool":
            yield "false" if token.text == "true" else "true"
        case "string":
            for text in other_quantities(token.text[1:-1]):
                yield f"{token.text[0]}{text}{token.text[-1]}"
        case _:
            pass


def _change(excerpt: str, source: Source | None, policy: CelPolicy, what: str) -> Mutation:
    place = source or policy.source
    return Mutation(
        line=place.line if place else 1,
        column=place.column if place else 1,
        what=what,
        excerpt=" ".join(excerpt.split()),
    )


def _without(items: Sequence[T], index: int) -> tuple[T, ...]:
    return (*items[:index], *items[index + 1 :])


def _with(items: Sequence[T], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])
