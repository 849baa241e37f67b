"""Reading JSON that must have exactly the expected shape: anything else is an error with a path."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from kgitops.model.registry import Json

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)


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


def parse_json(text: str) -> Json:
    """Parse JSON whose objects have each key once.

    Raises:
        ValueError, RecursionError: it is not such JSON.
    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} appears twice")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


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


def text(value: Json, path: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ShapeError(f"{path} is not text")
    return value


def integer_text(value: Json, path: str) -> int:
    """A whole number written as text, in its one spelling."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    raise ShapeError(f"{path} is not a whole number written as text")
