"""Topics that a virtual cluster does not have: no broker's error shows why."""

from collections.abc import Sequence

from kgitops.gateway.naming.name_table import NameTable
from kgitops.model.results import ErrorCode
from kgitops.wire.codec import read, write
from kgitops.wire.definitions import FieldDefinition, MessageDefinition, definition
from kgitops.wire.messages import NIL_UUID, Message, message_class

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_ERROR_CODES = ("error_code", "partition_error_code")
_NAMES = ("topicName",)


def tell_unknown_topics(
    data: bytes, at: int, message: str, version: int, table: NameTable
) -> bytes:
    """The response in which each topic with a name that no topic can have is unknown.

    A broker may say instead that the client has no right to it, or that its name is wrong.

    Raises:
        MalformedError: it is no such response.
    """
    response = read(message_class(message), version, data, at)
    found = definition(message)
    _look(found, response, found.fields, table.prefix.decode())
    return data[:at] + bytes(write(response, version))


def _look(
    message: MessageDefinition, value: Message, fields: Sequence[FieldDefinition], prefix: str
) -> None:
    names = [
        getattr(value, field.attribute)
        for field in fields
        if field.element is None and (field.entity in _NAMES or field.name == "ResourceName")
    ]
    if any(isinstance(name, str) and name.startswith(prefix) for name in names):
        _set_errors(message, value, fields)
        return
    for field in fields:
        inner = message.struct_fields(field)
        if inner is not None:
            for item in _items(field, value):
                _look(message, item, inner, prefix)


def _set_errors(
    message: MessageDefinition, value: Message, fields: Sequence[FieldDefinition]
) -> None:
    for field in fields:
        inner = message.struct_fields(field)
        if field.attribute in _ERROR_CODES and getattr(value, field.attribute):
            setattr(value, field.attribute, int(_UNKNOWN))
        elif field.name.endswith("ErrorMessage"):
            setattr(value, field.attribute, None if field.nullable != "none" else "")
        elif field.name == "TopicId":
            setattr(value, field.attribute, NIL_UUID)
        elif inner is not None:
            for item in _items(field, value):
                _set_errors(message, item, inner)


def _items(field: FieldDefinition, value: Message) -> Sequence[Message]:
    found = getattr(value, field.attribute)
    if field.element is not None:
        return found or ()
    return () if found is None else (found,)
