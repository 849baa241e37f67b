"""Reading JSON that must have exactly the expected shape: anything else is an error with a path."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from kgitops.model.registry import Json

DEEPEST = 64
"""The levels that JSON of kgitops is nested at most, with room."""
MAX_SAFE = 2**53 - 1
"""The largest integer that canonical JSON can represent."""
_LONE = re.compile("[\ud800-\udfff]")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_LONGEST_INTEGER = len(str(-MAX_SAFE))
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))


class ShapeError(ValueError):
    """JSON that is not of the expected shape; says where and what."""


def parse_whole_numbers(text: str) -> Json:
    """Parse JSON that kgitops can have written, whose numbers are whole.

    The objects have each key once, no integer is beyond 2^53, no text holds half a surrogate pair,
    and nothing is nested deeper than ``DEEPEST`` levels.

    Raises:
        ValueError, RecursionError: it is not such JSON.
    """
    parsed: Json = json.loads(
        text,
        object_pairs_hook=_unique,
        parse_int=_integer,
        parse_float=_refuse,
        parse_constant=_refuse,
    )
    # Fast signs, which text within quotes may have as well.
    if _HALF.search(text) or _may_be_deep(text):
        _check(parsed)
    return parsed


def _may_be_deep(text: str) -> bool:
    brackets = text.encode(errors="replace").translate(None, _NO_BRACKETS)
    for _ in range(DEEPEST):
        if not brackets:
            return False
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    return bool(brackets)


def _check(value: Json) -> None:
    rest: list[tuple[str, int, Json]] = [("", 0, value)]
    while rest:
        path, depth, item = rest.pop()
        if isinstance(item, str):
            _check_text(item, path or "the whole")
        elif isinstance(item, dict | list) and depth == DEEPEST:
            raise ValueError(f"it is nested deeper than {DEEPEST} levels")
        elif isinstance(item, dict):
            for key, inner in item.items():
                _check_text(key, f"a key of {path or 'the whole'}")
                rest.append((f"{path}.{key}" if path else key, depth + 1, inner))
        elif isinstance(item, list):
            rest += ((f"{path}[{at}]", depth + 1, inner) for at, inner in enumerate(item))


def _check_text(value: str, path: str) -> None:
    if not value.isascii() and _LONE.search(value):
        shown = value.encode("ascii", "backslashreplace").decode()
        raise ValueError(f"{path} holds half a surrogate pair: '{shown}'")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} appears twice")
    return value


def _integer(spelling: str) -> int:
    if len(spelling) > _LONGEST_INTEGER or abs(number := int(spelling)) > MAX_SAFE:
        raise ValueError(f"{spelling[:20]} is a number beyond 2^53")
    return number


def _refuse(spelling: str) -> NoReturn:
    raise ValueError(f"{spelling[:20]} is not a whole number")


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
    if not isinstance(value, str):
        raise ShapeError(f"{path} is not text")
    return value
