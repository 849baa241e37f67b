"""Reading JSON that must have exactly the expected shape: anything else is an error with a path."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, NoReturn, TypeVar

from kgitops.model.registry import Json

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class ShapeError(ValueError):
    """JSON that is not of the expected shape; says where and what."""


def parse_whole_numbers(text: str) -> Json:
    """Parse JSON whose objects have each key once, and whose numbers are whole.

    Raises:
        ValueError, RecursionError: it is not such JSON.
    """
    parsed: Json = json.loads(
        text, object_pairs_hook=_unique, parse_float=_refuse, parse_constant=_refuse
    )
    return parsed


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is given twice")
    return value


def _refuse(spelling: str) -> NoReturn:
    raise ValueError(f"{spelling} is not a whole number")


def members(value: Json, path: str, keys: Sequence[str]) -> Mapping[str, Json]:
    """The members of an object that has exactly ``keys``."""
    given = mapping(value, path)
    for key in keys:
        if key not in given:
            raise ShapeError(f"{path} has no key {key!r}")
    if len(given) != len(keys):
        unknown = next(key for key in given if key not in keys)
        raise ShapeError(f"{path} has the unknown key {unknown!r}")
    return given


def mapping(value: Json, path: str) -> Mapping[str, Json]:
    """An object with any keys."""
    if not isinstance(value, dict):
        raise ShapeError(f"{path} is not an object")
    return value


def array(value: Json, path: str, read: Callable[[Json, str], T]) -> tuple[T, ...]:
    """An array, each item read by ``read``; items get no path of their own: arrays may be long."""
    if not isinstance(value, list):
        raise ShapeError(f"{path} is not an array")
    found: list[T] = []
    try:
        for item in value:
            found.append(read(item, ""))  # noqa: PERF401 (its length says which item is wrong)
    except ShapeError as error:
        raise ShapeError(f"{path}[{len(found)}]{error}") from None
    return tuple(found)


def text(value: Json, path: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ShapeError(f"{path} is not text")
    return value


def text_or_none(value: Json, path: str) -> str | None:
    """A string or null."""
    return None if value is None else text(value, path)


def integer(value: Json, path: str) -> int:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ShapeError(f"{path} is not a whole number")
    return value


def integer_text(value: Json, path: str) -> int:
    """A whole number written as text, in its one spelling."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    raise ShapeError(f"{path} is not a whole number written as text")


def boolean(value: Json, path: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ShapeError(f"{path} is neither true nor false")
    return value


def choice(kind: type[E], value: Json, path: str) -> E:
    """One of a closed set."""
    found: E | None = _by_value(kind).get(text(value, path))
    if found is None:
        raise ShapeError(f"{path} is none of {', '.join(kind)}")
    return found


@cache
def _by_value(kind: type[StrEnum]) -> dict[str, Any]:
    # Calling the class is ten times as slow, and registries have hundreds of thousands of these.
    return {member.value: member for member in kind}
