"""Readers of settings: each makes a value of the text, or a ValueError that says what to write.

Durations and byte sizes are read by ``kgitops.policy.units``.
"""

import re
from collections.abc import Iterable


class Patterns:
    """A set of patterns: ``*`` stands for any text, ``?`` for one character.

    ``"orders" in patterns`` is true if one matches the whole name.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self.texts = tuple(patterns)
        self._all = "*" in self.texts
        self._regex = re.compile("|".join(map(_glob_regex, self.texts)) or "(?!)", re.DOTALL)

    def __contains__(self, name: str) -> bool:
        return self._all or self._regex.fullmatch(name) is not None

    def __bool__(self) -> bool:
        return bool(self.texts)

    def __str__(self) -> str:
        return ", ".join(self.texts)


def _glob_regex(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


def whole(text: str) -> int:
    """A whole number, 0 or more."""
    if not re.fullmatch(r"[0-9]{1,18}", text.strip()):
        raise ValueError(f"{text!r} is not a whole number (write for example 3)")
    return int(text)


def number(text: str) -> float:
    """A number, 0 or more, with a point where it has a fraction."""
    if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", text.strip()):
        raise ValueError(f"{text!r} is not a number (write for example 12.5)")
    return float(text)


def flag(text: str) -> bool:
    """``true`` or ``false``."""
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def names(text: str) -> tuple[str, ...]:
    """A list: ``orders, payments``; with semicolons instead where a name holds commas."""
    listed = tuple(part.strip() for part in text.split(";" if ";" in text else ","))
    if not all(listed):
        raise ValueError(f"{text!r} is not a list (write names with commas between them)")
    return listed


def patterns(text: str) -> Patterns:
    """A list of names, with ``*`` for any text and ``?`` for one character."""
    return Patterns(names(text))


def principals(text: str) -> Patterns:
    """A list of principals, with ``*`` and ``?``: ``User:admin, User:ops-*``."""
    listed = patterns(text)
    for principal in listed.texts:
        if ":" not in principal and principal != "*":
            raise ValueError(f"{principal!r} is not a principal (write User:{principal})")
    return listed


def numbers(text: str) -> frozenset[int]:
    """A list of whole numbers: ``7, 8``."""
    return frozenset(whole(part) for part in names(text))


def pairs(text: str) -> tuple[tuple[str, str], ...]:
    """A list of ``NAME=VALUE``; the last ``=`` separates."""
    listed = []
    for part in names(text):
        name, equals, value = (piece.strip() for piece in part.rpartition("="))
        if not (name and equals and value):
            raise ValueError(f"{part!r} is not a pair (write NAME=VALUE)")
        listed.append((name, value))
    return tuple(listed)


def counts(text: str) -> tuple[tuple[str, int], ...]:
    """A list of ``NAME=NUMBER``."""
    return tuple((name, whole(value)) for name, value in pairs(text))


def regex(text: str) -> re.Pattern[str]:
    """A regular expression of Python's."""
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
