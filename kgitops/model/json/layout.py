"""JSON laid out for people: indented, with each flat object or array on one line."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import repeat

import msgspec

from kgitops.model.registry import Json

_encode = json.JSONEncoder().encode  # ASCII only, so no character can hide or reorder text
_NOT_ASCII = re.compile(r"[^\x00-\x7e]+")
_DEPTH = 3
_OBJECT, _ARRAY = _STRUCTURE = b"{["

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def json_text(value: Json) -> str:
    """Indented JSON with each flat object or array on one line."""
    return _quiet(_lines(value, 0)) + "\n"


def json_line(value: Json) -> str:
    """JSON on one line, without a line end, for a stream of such lines."""
    return _quiet(_encode(value))


def lay_out(encoded: bytes, depth: int) -> str:
    """Lay out JSON that is ``depth`` levels deep in a whole, as ``json_text`` does it.

    Three times as fast, for values that may be large; they hold no half characters.
    """
    line = msgspec.json.format(encoded, indent=0)
    if not line.isascii() or b"\x7f" in line:
        line = _NOT_ASCII.sub(_escape, line.decode()).encode()
    return _quiet(_laid_out(line, depth).decode())


def _escape(found: "re.Match[str]") -> str:
    return _encode(found[0])[1:-1]


def _quiet(text: str) -> str:
    # "##" begins a command of build services; in JSON it can occur within texts only.
    return text.replace("##", "#\\u0023")


def _lines(value: Json, depth: int) -> str:
    is_object = isinstance(value, dict)
    items = value.values() if is_object else value if isinstance(value, list | tuple) else ()
    if depth > _DEPTH or not any(isinstance(item, dict | list | tuple) for item in items):
        return _encode(value)
    pad = "\n" + "  " * (depth + 1)
    keys = [f"{_encode(key)}: " for key in value] if is_object else repeat("")
    lines = [f"{key}{_lines(item, depth + 1)}" for key, item in zip(keys, items, strict=False)]
    opening, closing = "{}" if is_object else "[]"
    return f"{opening}{pad}{f',{pad}'.join(lines)}{pad[:-2]}{closing}"


def _laid_out(line: bytes, depth: int) -> bytes:
    """Lay out JSON that is on one line, all ASCII, by cutting it into its parts."""
    if depth > _DEPTH or (line.find(b"{", 1) < 0 and line.find(b"[", 1) < 0):
        return line
    if line[0] == _OBJECT:
        members = _members(line)
        keys: Iterable[bytes] = map(_key, members)
        values = list(map(bytes, members.values()))
    elif line[0] == _ARRAY:
        keys, values = repeat(b""), list(map(bytes, _items(line)))
    else:
        return line
    if not any(value[0] in _STRUCTURE for value in values):
        return line
    pad = b"\n" + b"  " * (depth + 1)
    parts = [line[:1]]
    for key, value in zip(keys, values, strict=False):
        parts += (pad, key, _laid_out(value, depth + 1) if value[0] in _STRUCTURE else value, b",")
    parts[-1] = b"\n" + b"  " * depth + line[-1:]  # in place of the last comma
    return b"".join(parts)


@lru_cache(maxsize=4096)
def _key(key: str) -> bytes:
    return f"{_encode(key)}: ".encode()
