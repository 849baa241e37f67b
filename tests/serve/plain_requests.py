"""Requests from plain values, as the definitions of their messages have them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from serve.raw_client import RawClient

from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition
from kgitops.wire.messages import Message, message_class

Fields = Mapping[str, Any]
Convert = Callable[[Any], Any]


def request_of(api: str, fields: Fields, convert: Convert = lambda value: value) -> Message:
    """The message with these fields, and the defaults of others; a mapping is a list's only row.

    Values without fields of their own are converted.
    """
    found = definition(f"{api}Request")
    return _made(found, found.fields, message_class(found.name), fields, convert)


def ask(client: RawClient, api: str, version: int, **fields: object) -> Message:
    """The answer to a request with these fields."""
    return client.ask(api, version, request_of(api, fields))


def error_codes(answer: Message) -> frozenset[int]:
    """All error codes in an answer."""
    return _codes(msgspec.to_builtins(answer))


def _codes(plain: object) -> frozenset[int]:
    match plain:
        case dict():
            own = {value for key, value in plain.items() if key.endswith("error_code")}
            return frozenset(own).union(*map(_codes, plain.values()))
        case list():
            return frozenset[int]().union(*map(_codes, plain))
    return frozenset()


def _made(
    message: MessageDefinition,
    definitions: Sequence[FieldDefinition],
    kind: type[Message],
    fields: Fields,
    convert: Convert,
) -> Message:
    known = {field.attribute: field for field in definitions}
    values = {}
    for name, value in fields.items():
        field = known[name]
        inner = message.struct_fields(field)
        if inner is None or value is None:
            values[name] = convert(value)
            continue
        part = getattr(message_class(message.name), field.element or field.type)
        listed = [value] if isinstance(value, Mapping) else value
        rows = [_made(message, inner, part, row, convert) for row in listed]
        values[name] = rows if field.element is not None else rows[0]
    return kind(**values)
