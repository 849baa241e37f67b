"""Finds and changes the names in a message: those of topics, groups and transactional ids.

Kafka's definitions say of a field what it names. Where that depends on another field (a config's
resource, an ACL's pattern, a coordinator's key), they don't, and neither is it found here.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition

T = TypeVar("T", bound=Struct)


class _Path(Struct, frozen=True):
    """A field that is a name or an array of names, or that leads to such fields."""

    attribute: str
    array: bool
    inner: tuple["_Path", ...]


def entities(message: Struct, entity: str) -> Iterator[str]:
    """All names of an entity (``topicName``) in a message, in their order."""
    yield from _found(message, _paths(type(message).__name__, entity))


def rename(message: T, entity: str, change: Callable[[str], str]) -> T:
    """The message with each name of an entity changed; null stays null."""
    return _renamed(message, _paths(type(message).__name__, entity), change)


@cache
def _paths(name: str, entity: str) -> tuple[_Path, ...]:
    message = definition(name)
    return _paths_in(message, message.fields, entity)


def _paths_in(
    message: MessageDefinition, fields: Sequence[FieldDefinition], entity: str
) -> tuple[_Path, ...]:
    paths = []
    for field in fields:
        inner = _paths_in(message, message.struct_fields(field) or (), entity)
        if inner or field.entity == entity:
            paths.append(_Path(field.attribute, field.element is not None, inner))
    return tuple(paths)


def _found(struct: Struct, paths: Sequence[_Path]) -> Iterator[str]:
    for path in paths:
        value = getattr(struct, path.attribute)
        if value is None:
            continue
        for item in value if path.array else (value,):
            if path.inner:
                yield from _found(item, path.inner)
            else:
                yield item


def _renamed(struct: T, paths: Sequence[_Path], change: Callable[[str], str]) -> T:
    changes = {}
    for path in paths:
        value = getattr(struct, path.attribute)
        if value is None:
            continue
        items = [
            _renamed(item, path.inner, change) if path.inner else change(item)
            for item in (value if path.array else (value,))
        ]
        changes[path.attribute] = items if path.array else items[0]
    return replace(struct, **changes) if changes else struct
