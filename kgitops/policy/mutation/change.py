"""What all mutants have in common: which number, name or operator stands in for which."""

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
class Change:
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
