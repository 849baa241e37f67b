"""Plain scalars as the YAML readers of other tools take them, where these differ from YAML 1.2.

``6.048e+08``, ``no``, ``010``, ``604_800_000`` and ``1:30`` are numbers, booleans or texts, as the
reader has it. Each dialect is that of a library, read in its source:

- ``GO``: gopkg.in/yaml.v2 and on to JSON (ghodss/yaml, sigs.k8s.io/yaml: kubectl, topicctl, kdef).
- ``SNAKE``: SnakeYAML's own constructor, all of YAML 1.1 (kafkactl of ns4kafka).
- ``JACKSON``: Jackson's YAML of 2.12 and later, by SnakeYAML's resolver; no merges (Jikkou).
- ``CAUTIOUS``: Jackson's of whatever version, into texts; what differs in any is not taken.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from kgitops.manifests.yaml.document import Scalar, plain_value


class Dialect(StrEnum):
    """A reader of YAML."""

    YAML_12 = "YAML 1.2"
    GO = "YAML 1.1 of Go"
    SNAKE = "YAML 1.1 of SnakeYAML"
    JACKSON = "YAML 1.1 of Jackson"
    CAUTIOUS = "YAML 1.1 of any Jackson"

    @property
    def merges(self) -> bool:
        """Return whether ``<<`` merges mappings; Jackson takes it for a key."""
        return self not in (Dialect.JACKSON, Dialect.CAUTIOUS)

    @property
    def has_typed_keys(self) -> bool:
        """Return whether the key ``on`` is true, and no text."""
        return self in (Dialect.GO, Dialect.SNAKE)

    @property
    def writes_numbers(self) -> bool:
        """Return whether ``6.048e+08`` is passed on as 604800000."""
        return self is Dialect.GO


class Ambiguous(str):
    """A scalar's text, which versions of one reader take for different values."""

    __slots__ = ()


_WORDS = {
    **dict.fromkeys(("yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "off", "Off", "OFF"), False),
}
_LETTERS = {**dict.fromkeys("yY", True), **dict.fromkeys("nN", False)}
_BASES = {"0x": 16, "0b": 2, "0o": 8}
_GO_INTEGER = re.compile(r"[-+]?(0x[0-9a-f]+|0b[01]+|0o?[0-7]+|[0-9]+)", re.IGNORECASE)
_GO_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"[-+]?(0b_*[01][01_]*|0[0-7_]+|0|[1-9][0-9_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*)")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_FLOAT = re.compile(
    r"[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+"
    r"|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?)"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")


def scalar_value(text: str, dialect: Dialect) -> Scalar:
    """The value of a plain scalar as a reader of the dialect has it."""
    try:
        return _READERS[dialect](text)
    except ValueError:
        return Ambiguous(text)  # a number of thousands of digits


def _go(text: str) -> Scalar:
    words = _WORDS | _LETTERS
    if text in words:
        return words[text]
    digits = text.replace("_", "")
    if text[:1] != "_" and _GO_INTEGER.fullmatch(digits):
        return _integer(digits)
    if text[:1] != "_" and _GO_FLOAT.fullmatch(digits):
        number = float(digits)
        # Go writes a whole number into JSON without its exponent.
        return int(number) if number.is_integer() and abs(number) < 10**21 else number
    return plain_value(text)


def _snake(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    digits = text.replace("_", "")
    if _SEXAGESIMAL.fullmatch(text):
        return _sexagesimal(digits)
    if _DATE.fullmatch(text):
        return Ambiguous(text)
    return _integer(digits) if _INTEGER.fullmatch(text) else _float(text)


def _jackson(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    return _integer(text.replace("_", "")) if _INTEGER.fullmatch(text) else _float(text)


def _cautious(text: str) -> Scalar:
    value = _snake(text)
    plain = plain_value(text)
    return plain if _is_same(value, plain) or _DATE.fullmatch(text) else Ambiguous(text)


def _integer(digits: str) -> int | float:
    """A whole number whose base its beginning says; ``09`` is none in base 8."""
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-").lower()
    base = _BASES.get(digits[:2])
    if base is not None:
        return sign * int(digits[2:], base)
    octal = digits.startswith("0") and re.fullmatch("[0-7]+", digits)
    return sign * int(digits, 8 if octal else 10)


def _sexagesimal(digits: str) -> int | float:
    whole, _, fraction = digits.lstrip("+-").partition(".")
    number = 0
    for part in whole.split(":"):
        number = number * 60 + int(part)
    sign = -1 if digits.startswith("-") else 1
    return sign * (number + float(f"0.{fraction}")) if "." in digits else sign * number


def _float(text: str) -> Scalar:
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else _text_of_12(text)


def _text_of_12(text: str) -> Scalar:
    """YAML 1.2's value, but for ``0o17`` and ``09``, which are texts in YAML 1.1."""
    value = plain_value(text)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return text if is_number else value


_READERS: Mapping[Dialect, Callable[[str], Scalar]] = {
    Dialect.YAML_12: plain_value,
    Dialect.GO: _go,
    Dialect.SNAKE: _snake,
    Dialect.JACKSON: _jackson,
    Dialect.CAUTIOUS: _cautious,
}


def differs(text: str, dialect: Dialect) -> bool:
    """Return whether a reader of the dialect has another value than YAML 1.2."""
    if dialect is Dialect.YAML_12:
        return False
    return not _is_same(scalar_value(text, dialect), plain_value(text))


def _is_same(value: Scalar, other: Scalar) -> bool:
    if isinstance(value, Ambiguous):
        return False
    if isinstance(value, int | float) and isinstance(other, int | float):
        return value == other and isinstance(value, bool) == isinstance(other, bool)
    return value == other and type(value) is type(other)
