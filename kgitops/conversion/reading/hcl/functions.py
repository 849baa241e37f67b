"""Terraform's functions that depend on their arguments only, as far as topics and ACLs use them.

Their results are those of https://developer.hashicorp.com/terraform/language/functions.
"""

import base64
import hashlib
import math
import posixpath
import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from kgitops.conversion.reading.budget import MOST_ITEMS, MOST_TEXT, check_size
from kgitops.conversion.reading.hcl.formats import csv_value, json_text, json_value, yaml_value
from kgitops.conversion.reading.hcl.operators import LARGEST, number_of, text_of

_MOST_POWER = 512
_VERB = re.compile(r"%(%|[-0-9]*[sdv])")


def _merge(*maps: dict[str, Any] | None) -> dict[str, Any]:
    return {key: value for each in maps if each is not None for key, value in each.items()}


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
        return _replace_pattern(text, old[1:-1], new)
    check_size(len(text) + text.count(old) * len(new), MOST_TEXT)
    return text.replace(old, new)


def go_pattern(pattern: str) -> Any:  # noqa: ANN401 (RE2 is untyped)
    """A regular expression as Go has it."""
    import re2  # noqa: PLC0415 (few files need it)

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        raise ValueError(pattern) from error


def _replace_pattern(text: str, pattern: str, new: str) -> str:
    """Replace each match; `$1`, `$name` and `${name}` stand for groups."""
    parts: list[str] = []
    end = size = 0
    for match in go_pattern(pattern).finditer(text):
        groups = {**match.groupdict(), "0": match.group(0)}
        groups |= {str(number): group for number, group in enumerate(match.groups(), start=1)}

        def group(found: re.Match[str], groups: Mapping[str, Any] = groups) -> str:
            name = found["braced"] or found["name"]
            return "$" if name is None else groups.get(name) or ""

        parts += [text[end : match.start()], _GROUP.sub(group, new)]
        end = match.end()
        size += len(parts[-2]) + len(parts[-1])
        check_size(size, MOST_TEXT)
    return "".join([*parts, text[end:]])


_GROUP = re.compile(r"\$(?:\$|\{(?P<braced>\w+)\}|(?P<name>\w+))")


def _found(match: Any) -> Any:  # noqa: ANN401 (RE2 is untyped)
    """The groups of a match by their names or in order; all of it if it has none."""
    names = match.groupdict()
    return names or list(match.groups()) or match.group(0)


def _regex(pattern: str, text: str) -> Any:  # noqa: ANN401
    match = go_pattern(pattern).search(text)
    if match is None:  # `try` and `can` take the next expression then
        raise IndexError(pattern)
    return _found(match)


def _one(items: list[Any]) -> Any:  # noqa: ANN401
    """The only item; null if there is none."""
    (item,) = items or [None]
    return item


def _sum(items: list[Any]) -> Any:  # noqa: ANN401
    if not items:
        raise ValueError(items)
    return sum(map(number_of, items))


def _substr(text: str, offset: int, length: int) -> str:
    start = offset if offset >= 0 else len(text) + offset
    return text[start:] if length < 0 else text[start : start + length]


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise ValueError(items)
    return items[start:end]


def _chunklist(items: list[Any], size: int) -> list[Any]:
    if size < 1:
        return [items]
    return [items[start : start + size] for start in range(0, len(items), size)]


def _formatlist(pattern: str, *values: Any) -> list[str]:  # noqa: ANN401
    lengths = {len(value) for value in values if isinstance(value, list)}
    if len(lengths) != 1:
        raise ValueError(pattern)
    (length,) = lengths
    rows = [[value[at] if isinstance(value, list) else value for value in values]
            for at in range(length)]  # fmt: skip
    size = 0
    texts = []
    for row in rows:
        texts.append(_format(pattern, *row))
        size += len(texts[-1])
        check_size(size, MOST_ITEMS)
    return texts


def _matchkeys(values: list[Any], keys: list[Any], wanted: list[Any]) -> list[Any]:
    chosen = frozenset(wanted)
    return [value for value, key in zip(values, keys, strict=True) if key in chosen]


def _transpose(mapping: dict[str, list[str]]) -> dict[str, list[str]]:
    check_size(sum(map(len, mapping.values())), MOST_ITEMS)
    turned: dict[str, list[str]] = {}
    for key in sorted(mapping):
        for item in mapping[key]:
            turned.setdefault(item, []).append(key)
    return turned


def _indented(spaces: int, text: str) -> str:
    check_size(len(text) + text.count("\n") * spaces, MOST_TEXT)
    return text.replace("\n", "\n" + " " * spaces)


def _all(items: list[Any]) -> bool:
    return all(text_of(item) == "true" for item in items)


def _any(items: list[Any]) -> bool:
    return any(text_of(item) == "true" for item in items)


def _intersection(first: list[Any], *others: list[Any]) -> list[Any]:
    return sorted(frozenset(first).intersection(*others))


def _difference(left: list[Any], right: list[Any]) -> list[Any]:
    return sorted(frozenset(left).difference(right))


def _parseint(text: str, base: int) -> int:
    if not re.fullmatch(r"-?[0-9a-zA-Z]{1,300}", text_of(text)):
        raise ValueError(text)
    return int(text_of(text), base)


def _power(value: float, power: float) -> float:
    result: float = value**power
    if isinstance(result, complex) or abs(result) >= LARGEST or abs(power) > 512:
        raise OverflowError
    return result


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _hashed(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": lambda value: abs(number_of(value)),
    "alltrue": _all,
    "anytrue": _any,
    "base64decode": lambda text: base64.b64decode(text, validate=True).decode(),
    "base64encode": _base64,
    "basename": lambda path: posixpath.basename(path.rstrip("/")),
    "ceil": lambda value: math.ceil(number_of(value)),
    "chomp": lambda text: text.rstrip("\r\n"),
    "chunklist": _chunklist,
    "coalesce": lambda *values: next(value for value in values if value not in (None, "")),
    "coalescelist": lambda *lists: next(items for items in lists if items),
    "compact": lambda items: [item for item in items if item not in (None, "")],
    "concat": lambda *lists: [item for each in lists for item in each],
    "contains": lambda items, value: value in items,
    "csvdecode": csv_value,
    "dirname": lambda path: posixpath.dirname(path) or ".",
    "distinct": lambda items: list(dict.fromkeys(items)),
    "element": _element,
    "endswith": str.endswith,
    "flatten": _flatten,
    "floor": lambda value: math.floor(number_of(value)),
    "format": _format,
    "formatlist": _formatlist,
    "indent": _indented,
    "index": lambda items, value: items.index(value),
    "join": _join,
    "jsondecode": json_value,
    "jsonencode": json_text,
    "keys": sorted,
    "length": len,
    "lookup": _lookup,
    "lower": str.lower,
    "matchkeys": _matchkeys,
    "max": lambda *values: max(map(number_of, values)),
    "md5": _hashed("md5"),
    "merge": _merge,
    "min": lambda *values: min(map(number_of, values)),
    "nonsensitive": lambda value: value,
    "one": _one,
    "parseint": _parseint,
    "pow": lambda value, power: _power(number_of(value), number_of(power)),
    "range": _range,
    "regex": _regex,
    "regexall": lambda pattern, text: [
        _found(match) for match in go_pattern(pattern).finditer(text)
    ],
    "replace": _replace,
    "reverse": lambda items: list(reversed(items)),
    "setintersection": _intersection,
    "setproduct": _setproduct,
    "setsubtract": _difference,
    "setunion": lambda *sets: _set([item for each in sets for item in each]),
    "sha1": _hashed("sha1"),
    "sha256": _hashed("sha256"),
    "sha512": _hashed("sha512"),
    "signum": lambda value: (number_of(value) > 0) - (number_of(value) < 0),
    "slice": _slice,
    "sort": lambda items: sorted(map(text_of, items)),
    "split": lambda separator, text: text.split(separator),
    "startswith": str.startswith,
    "strcontains": lambda text, part: part in text,
    "strrev": lambda text: text[::-1],
    "substr": _substr,
    "sum": _sum,
    "title": lambda text: re.sub(r"(^|\s)(\w)", lambda match: match[0].upper(), text),
    "tobool": lambda value: {"true": True, "false": False}[text_of(value)],
    "tolist": list,
    "tomap": dict,
    "tonumber": number_of,
    "toset": _set,
    "tostring": text_of,
    "transpose": _transpose,
    "trim": lambda text, signs: text.strip(signs),
    "trimprefix": str.removeprefix,
    "trimspace": str.strip,
    "trimsuffix": str.removesuffix,
    "upper": str.upper,
    "urlencode": lambda text: urllib.parse.quote_plus(text, safe=""),
    "values": lambda mapping: [mapping[key] for key in sorted(mapping)],
    "yamldecode": yaml_value,
    "zipmap": lambda names, values: dict(zip(names, values, strict=True)),
}

OF_ANY_VALUES = frozenset(
    {"concat", "element", "keys", "length", "lookup", "merge", "reverse", "tolist", "tomap",
     "values", "zipmap"}
)  # fmt: skip
"""Functions that look at no item of a list, and no value of a map: these needn't be known."""
DECODERS = frozenset({"csvdecode", "jsondecode", "yamldecode"})
"""Functions whose values may be much larger than their arguments, and take time to read."""
EASY = frozenset({"element", "length", "lookup"})
"""Functions that take the same time however large their arguments are."""
