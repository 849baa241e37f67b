"""Terraform's functions that depend on their arguments alone, as far as topics and ACLs use them.

Their results are those of https://developer.hashicorp.com/terraform/language/functions.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from kgitops.conversion.reading.budget import MOST_ITEMS, MOST_TEXT, check_size
from kgitops.conversion.reading.hcl.operators import number_of, text_of

_VERB = re.compile(r"%(%|[-0-9]*[sdv])")


def _merge(*maps: dict[str, Any]) -> dict[str, Any]:
    return {key: value for each in maps for key, value in each.items()}


def _flatten(items: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        flat += _flatten(item) if isinstance(item, list) else [item]
        check_size(len(flat), MOST_ITEMS)
    return flat


def _set(items: list[Any]) -> list[Any]:
    return sorted(dict.fromkeys(items))


def _lookup(mapping: dict[str, Any], key: str, *default: Any) -> Any:  # noqa: ANN401
    return mapping.get(key, default[0]) if default else mapping[key]


def _element(items: list[Any], index: int) -> Any:  # noqa: ANN401
    return items[index % len(items)]


def _format(pattern: str, *values: Any) -> str:  # noqa: ANN401
    left = list(values)

    def filled(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        text = text_of(left.pop(0))
        flags = match[1][:-1]
        width = int(flags or 0)
        check_size(abs(width), MOST_TEXT)
        if flags.startswith("0"):
            return text.zfill(width)
        return text.ljust(-width) if width < 0 else text.rjust(width)

    text = _VERB.sub(filled, pattern)
    if left:
        raise ValueError(pattern)
    return text


def _join(separator: str, items: list[Any]) -> str:
    texts = [text_of(item) for item in items]
    check_size(sum(map(len, texts)) + len(separator) * len(texts), MOST_TEXT)
    return separator.join(texts)


def _range(*numbers: int) -> list[int]:
    """The numbers, backwards where the limit lies below the start and no step is given."""
    start, limit, *step = numbers if len(numbers) > 1 else (0, *numbers)
    items = range(start, limit, *(step or [1 if limit >= start else -1]))
    check_size(len(items), MOST_ITEMS)
    return list(items)


def _setproduct(left: list[Any], right: list[Any]) -> list[Any]:
    check_size(len(left) * len(right), MOST_ITEMS)
    return [[one, other] for one in left for other in right]


def _replace(text: str, old: str, new: str) -> str:
    if len(old) > 1 and old.startswith("/") and old.endswith("/"):
        raise ValueError(old)  # a regular expression of Go
    check_size(len(text) + text.count(old) * len(new), MOST_TEXT)
    return text.replace(old, new)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "coalesce": lambda *values: next(value for value in values if value not in (None, "")),
    "compact": lambda items: [item for item in items if item not in (None, "")],
    "concat": lambda *lists: [item for each in lists for item in each],
    "contains": lambda items, value: value in items,
    "distinct": lambda items: list(dict.fromkeys(items)),
    "element": _element,
    "flatten": _flatten,
    "format": _format,
    "join": _join,
    "keys": sorted,
    "length": len,
    "lookup": _lookup,
    "lower": str.lower,
    "max": lambda *values: max(map(number_of, values)),
    "merge": _merge,
    "min": lambda *values: min(map(number_of, values)),
    "range": _range,
    "replace": _replace,
    "reverse": lambda items: list(reversed(items)),
    "setproduct": _setproduct,
    "sort": lambda items: sorted(map(text_of, items)),
    "split": lambda separator, text: text.split(separator),
    "title": lambda text: re.sub(r"(^|\s)(\w)", lambda match: match[0].upper(), text),
    "tobool": lambda value: {"true": True, "false": False}[text_of(value)],
    "tolist": list,
    "tomap": dict,
    "tonumber": number_of,
    "toset": _set,
    "tostring": text_of,
    "trimprefix": str.removeprefix,
    "trimspace": str.strip,
    "trimsuffix": str.removesuffix,
    "upper": str.upper,
    "values": lambda mapping: [mapping[key] for key in sorted(mapping)],
    "zipmap": lambda names, values: dict(zip(names, values, strict=True)),
}

OF_ANY_VALUES = frozenset(
    {"concat", "element", "keys", "length", "lookup", "merge", "reverse", "tolist", "tomap",
     "values", "zipmap"}
)  # fmt: skip
"""Functions that look at no item of a list, and no value of a map: these needn't be known."""
EASY = frozenset({"element", "length", "lookup"})
"""Functions that take the same time however large their arguments are."""
