"""A policy's expressions as programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgitops.model.source import Source
from kgitops.policy.cel.check.problems import Problem
from kgitops.policy.cel.engine import Program
from kgitops.policy.cel.needs import Needs
from kgitops.policy.cel.nodes import Node
from kgitops.policy.cel.types import Type


@dataclass(frozen=True, eq=False)
class Compiled:
    """An expression that can be evaluated; ``text`` is what the user wrote.

    ``problems`` are what the check found for some kinds of request and not for all, by api.
    """

    text: str
    source: Source | None
    wanted: Type
    root: Node
    program: Program
    needs: Needs
    problems: Mapping[str, Sequence[Problem]]


@dataclass(frozen=True)
class CompiledValidation:
    """What must be true, and how it is said that it is not."""

    expression: Compiled
    message: str | None
    message_expression: Compiled | None
    field: str | None


@dataclass(frozen=True)
class CompiledPolicy:
    """All expressions of a policy; ``words`` are the texts that they name."""

    apis: tuple[str, ...]
    conditions: tuple[Compiled, ...]
    validations: tuple[CompiledValidation, ...]
    words: tuple[str, ...]

    @property
    def expressions(self) -> Iterator[Compiled]:
        """All of them."""
        yield from self.conditions
        for validation in self.validations:
            yield validation.expression
            if validation.message_expression is not None:
                yield validation.message_expression

    @property
    def needs(self) -> Needs:
        """What they need together."""
        needs = Needs()
        for expression in self.expressions:
            needs = needs.merged(expression.needs)
        return needs
