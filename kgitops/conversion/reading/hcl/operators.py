"""HCL's operators, and its conversions between text and numbers."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_WHOLE = re.compile(r"[-+]?[0-9]{1,300}")
LARGEST = 2**512
"""Numbers of HCL have 512 bits."""


def text_of(value: Any) -> str:  # noqa: ANN401
    """A scalar as text, as an interpolation has it.

    Raises:
        TypeError: it is no scalar.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(value)


def number_of(value: Any) -> int | float:  # noqa: ANN401
    """A number, also one that is written as a text.

    Raises:
        TypeError: it is neither.
        ValueError: the text is no number.
    """
    if isinstance(value, str):
        number = int(value) if _WHOLE.fullmatch(value) else float(value)
        return int(number) if number == number // 1 else number
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _equal(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Compare as HCL does, to which ``true`` is no number."""
    same: bool = left == right
    return same and isinstance(left, bool) == isinstance(right, bool)


def _bool_of(value: Any) -> bool:  # noqa: ANN401
    return {"true": True, "false": False}[text_of(value)]


def _divided(left: float, right: float) -> float:
    return left // right if left % right == 0 else left / right


def _remainder(left: float, right: float) -> float:
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _of_numbers(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def computed(left: Any, right: Any) -> Any:  # noqa: ANN401
        result = compute(number_of(left), number_of(right))
        if abs(result) >= LARGEST:
            raise OverflowError
        return result

    return computed


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _of_numbers(operator.lt),
    ">": _of_numbers(operator.gt),
    "<=": _of_numbers(operator.le),
    ">=": _of_numbers(operator.ge),
    "+": _of_numbers(operator.add),
    "-": _of_numbers(operator.sub),
    "*": _of_numbers(operator.mul),
    "/": _of_numbers(_divided),
    "%": _of_numbers(_remainder),
    "&&": lambda left, right: _bool_of(left) and _bool_of(right),
    "||": lambda left, right: _bool_of(left) or _bool_of(right),
}

SIGNS: Mapping[str, Callable[[Any], Any]] = {
    "!": lambda value: not _bool_of(value),
    "-": lambda value: -number_of(value),
}
