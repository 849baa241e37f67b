"""The classes of Kafka's messages, each made when it is used first.

``messages.CreateTopicsRequest`` is a ``msgspec.Struct`` with the fields of all versions, and the
defaults that Kafka gives them; ``CreateTopicsRequest.CreatableTopic`` is one of its parts. Arrays
are lists, topic ids are 16 bytes.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition

NIL_UUID = bytes(16)
INTEGERS = frozenset({"int8", "int16", "uint16", "int32", "uint32", "int64"})
Message: TypeAlias = Any
"""A value whose class was made here: its fields are known at run time alone."""
Default = bool | int | float | str | bytes | tuple[()] | None
_EMPTY: dict[str, Default] = {"string": "", "bytes": b"", "records": None, "uuid": NIL_UUID}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - its fields are known at run time
    """The class of a message.

    Raises:
        AttributeError: Kafka has no such message.
    """
    try:
        found = definition(name)
    except KeyError:
        raise AttributeError(f"Kafka has no message {name}") from None
    made = globals()[name] = _Classes(found).message()
    return made


def message_class(name: str) -> type[Message]:
    """The class of the message with this name.

    Raises:
        AttributeError: Kafka has no such message.
    """
    found: type[Message] = globals().get(name) or __getattr__(name)
    return found


def default_of(field: FieldDefinition, message: MessageDefinition) -> Default:
    """The value of a field that nobody has set, as a Kafka broker has it; None is null.

    An array's is an empty tuple; that of a struct is its class's name as a ``StructDefault``.
    """
    if field.default == "null":
        return None
    if field.element is not None:
        return ()
    if field.type in INTEGERS:
        return int(field.default or "0", 0)
    if message.struct_fields(field) is not None:
        return StructDefault(field.type)
    if field.type == "float64":
        return float(field.default or 0)
    if field.type == "bool":
        return field.default == "true"
    return _EMPTY[field.type] if not field.default else field.default


class StructDefault(str):
    """The name of a struct whose fields all have their defaults."""


class _Classes:
    """Makes the classes of one message, the innermost first."""

    def __init__(self, message: MessageDefinition) -> None:
        self._message = message
        self._made: dict[str, type[msgspec.Struct]] = {}

    def message(self) -> type[msgspec.Struct]:
        self._make_inner(self._message.fields)
        for name, fields in self._message.structs.items():
            if name not in self._made:
                self._make(name, fields)
        return self._define(self._message.name, self._message.fields, dict(self._made))

    def _make_inner(self, fields: Sequence[FieldDefinition]) -> None:
        for field in fields:
            inner = self._message.struct_fields(field)
            name = field.element or field.type
            if inner is not None and name not in self._made:
                self._make(name, inner)

    def _make(self, name: str, fields: Sequence[FieldDefinition]) -> None:
        self._make_inner(fields)
        self._made[name] = self._define(name, fields, {})

    def _define(
        self, name: str, fields: Sequence[FieldDefinition], inner: dict[str, Any]
    ) -> type[msgspec.Struct]:
        # Acyclic as they are, the values need not be looked at by the garbage collector.
        rows = [(field.attribute, Any, self._default(field)) for field in fields]
        return msgspec.defstruct(name, rows, module=__name__, namespace=inner, gc=False)

    def _default(self, field: FieldDefinition) -> object:
        default = default_of(field, self._message)
        if isinstance(default, StructDefault):
            return msgspec.field(default_factory=self._made[default])
        return msgspec.field(default_factory=list) if default == () else default
