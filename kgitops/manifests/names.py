"""The names in a declaration: each text that its model does not mark as free text."""

from functools import cache
from typing import Any

from kgitops.manifests.kinds.fields import FreeText

Path = tuple[str | int, ...]


def names_in(declared: object) -> list[tuple[Path, str]]:
    """Return each name with its path; the path of a mapping's key ends in the key."""
    names: list[tuple[Path, str]] = []
    _collect(declared, (), names)
    return names


def _collect(content: object, path: Path, names: list[tuple[Path, str]]) -> None:
    if isinstance(content, str):
        names.append((path, content))
    elif isinstance(content, list | tuple):
        for index, item in enumerate(content):
            _collect(item, (*path, index), names)
    elif isinstance(content, dict):
        for key, item in content.items():
            if isinstance(key, str):
                names.append(((*path, key), key))
            _collect(item, (*path, key), names)
    else:
        model: Any = type(content)
        for name, key in _fields(model):
            value = getattr(content, name)
            if value is not None:
                _collect(value, (*path, key), names)


@cache
def _fields(model: type[Any]) -> tuple[tuple[str, str], ...]:
    """Return the attribute and the key of each field that may hold names; of a number, none."""
    fields = getattr(model, "__pydantic_fields__", {})
    return tuple(
        (name, field.alias or name)
        for name, field in fields.items()
        if not any(isinstance(mark, FreeText) for mark in field.metadata)
    )
