"""JSON laid out for people: indented, with each flat object or array on one line."""

import json

from kgitops.model.registry import Json

_encode = json.JSONEncoder().encode  # ASCII only, so no character can hide or reorder text
_DEPTH = 3


def json_text(value: Json) -> str:
    """Indented JSON with each flat object or array on one line."""
    return _quiet(_lines(value, 0)) + "\n"


def json_line(value: Json) -> str:
    """JSON on one line, without a line end, for a stream of such lines."""
    return _quiet(_encode(value))


def _quiet(text: str) -> str:
    # "##" begins a command of build services; in JSON it can occur within texts only.
    return text.replace("##", "#\\u0023")


def _lines(value: Json, depth: int) -> str:
    """Lay out ``value``, which begins ``depth`` levels deep; plain loops, as plans are large."""
    if depth > _DEPTH or not _holds_structure(value):
        return _encode(value)
    pad = "  " * (depth + 1)
    separator = f",\n{pad}"
    if isinstance(value, dict):
        lines = [f"{_encode(key)}: {_lines(item, depth + 1)}" for key, item in value.items()]
        return f"{{\n{pad}{separator.join(lines)}\n{'  ' * depth}}}"
    items = [_lines(item, depth + 1) for item in value]
    return f"[\n{pad}{separator.join(items)}\n{'  ' * depth}]"


def _holds_structure(value: Json) -> bool:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    for item in value:  # noqa: SIM110 (a generator would take twice the time)
        if isinstance(item, dict | list):
            return True
    return False
