"""YAML 1.2's core schema: what a plain scalar means, and nothing more."""

import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAY_BE_NUMBER = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEXADECIMAL = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def plain_value(text: str) -> Scalar:
    """What ``text`` means where it stands without quotes.

    Raises:
        ValueError: it is a number of thousands of digits.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _OCTAL_OR_HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text


def scalar_text(value: str | int | float | bool) -> str:
    """A scalar as text: ``true``, ``3``, ``0.5``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
