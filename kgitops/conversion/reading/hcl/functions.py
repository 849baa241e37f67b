"""Terraform's functions that depend on their arguments alone, as far as topics and ACLs use them.

Their results are those of https://developer.hashicorp.com/terraform/language/functions.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

_VERB = re.compile(r"%(%|[-0-9]*[sdv])")


def _merge(*maps: dict[str, Any]) -> dict[str, Any]:
    return {key: value for each in maps for key, value in each.items()}


def _flatten(items: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        flat += _flatten(item) if isinstance(item, list) else [item]
    return flat


def _set(items: list[Any]) -> list[Any]:
    return sorted(dict.fromkeys(items))


def _lookup(mapping: dict[str, Any], key: str, *default: Any) -> Any:  # noqa: ANN401
    return mapping.get(key, default[0]) if default else mapping[key]


def _format(pattern: str, *values: Any) -> str:  # noqa: ANN401
    left = list(values)

    def filled(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        value = left.pop(0)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        flags = match[1][:-1]
        if flags.startswith("0"):
            return text.zfill(int(flags))
        width = int(flags or 0)
        return text.ljust(-width) if width < 0 else text.rjust(width)

    text = _VERB.sub(filled, pattern)
    if left:
        raise ValueError(pattern)
    return text


def _number(value: Any) -> int | float:  # noqa: ANN401
    number = float(value)
    return int(number) if number.is_integer() else number


def _text(value: Any) -> str:  # noqa: ANN401
    return str(value).lower() if isinstance(value, bool) else str(value)


def _replace(text: str, old: str, new: str) -> str:
    if len(old) > 1 and old.startswith("/") and old.endswith("/"):
        raise ValueError(old)  # a regular expression of Go
    return text.replace(old, new)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "coalesce": lambda *values: next(value for value in values if value not in (None, "")),
    "concat": lambda *lists: [item for each in lists for item in each],
    "distinct": lambda items: list(dict.fromkeys(items)),
    "flatten": _flatten,
    "format": _format,
    "join": lambda separator, items: separator.join(map(_text, items)),
    "keys": sorted,
    "length": len,
    "lookup": _lookup,
    "lower": str.lower,
    "max": max,
    "merge": _merge,
    "min": min,
    "range": lambda *numbers: list(range(*numbers)),
    "replace": _replace,
    "setproduct": lambda left, right: [[one, other] for one in left for other in right],
    "split": lambda separator, text: text.split(separator),
    "title": lambda text: re.sub(r"(^|\s)(\w)", lambda match: match[0].upper(), text),
    "tobool": lambda value: {"true": True, "false": False}[_text(value)],
    "tolist": list,
    "tomap": dict,
    "tonumber": _number,
    "toset": _set,
    "tostring": _text,
    "trimprefix": str.removeprefix,
    "trimspace": str.strip,
    "trimsuffix": str.removesuffix,
    "upper": str.upper,
    "values": lambda mapping: [mapping[key] for key in sorted(mapping)],
    "zipmap": lambda names, values: dict(zip(names, values, strict=True)),
}
