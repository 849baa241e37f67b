"""The tables of messages, decoded message by message when one is asked for."""

import re
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

_TABLES = Path(__file__).with_name("messages.jsonl")
_OWN = Path(__file__).with_name("own_messages.jsonl")
"""Messages of kgitops's own nodes to each other: Kafka's, with tagged fields that Kafka skips."""
_VIRTUAL_CLUSTERS = Path(__file__).with_name("virtual_clusters.jsonl")
"""KIP-1134's messages, which Kafka does not have, with keys of our own (VC-230): experimental."""
_NEWEST = 0x7FFF
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_OLDEST = {
    # KIP-896 took these versions out of Kafka, and their fields stayed in the definitions. They
    # are those of KIP-4 and of the first ACLs.
    "CreateTopics": 0,
    "DeleteTopics": 0,
    "DescribeAcls": 0,
    "CreateAcls": 0,
    "DeleteAcls": 0,
    "DescribeConfigs": 0,
    "DescribeLogDirs": 0,
}


class FieldDefinition(Struct, frozen=True):
    """A field: its Kafka type, and the ranges of versions in which it is there, nullable, tagged.

    ``entity`` says what a text or a number names: ``topicName``, ``groupId``, ``transactionalId``.
    """

    name: str
    type: str
    versions: str
    nullable: str = "none"
    tagged: str = "none"
    tag: int | None = None
    default: str | None = None
    flexible: str | None = None
    entity: str | None = None
    ignorable: bool = False
    fields: tuple["FieldDefinition", ...] = ()

    @property
    def attribute(self) -> str:
        """The name of the field in Python."""
        return snake_case(self.name)

    @property
    def element(self) -> str | None:
        """The type of an array's elements; None for what is not an array."""
        return self.type[2:] if self.type.startswith("[]") else None


class MessageDefinition(Struct, frozen=True):
    """A message: ``kind`` is ``request``, ``response``, ``header`` or ``data``."""

    name: str
    kind: str
    versions: str
    flexible: str
    fields: tuple[FieldDefinition, ...]
    key: int | None = None
    listeners: tuple[str, ...] = ()
    unstable: bool = False
    structs: dict[str, tuple[FieldDefinition, ...]] = {}

    def struct_fields(self, field: FieldDefinition) -> tuple[FieldDefinition, ...] | None:
        """The fields of a field that is a struct, or an array of such; None for any other."""
        return field.fields or self.structs.get(field.element or field.type)

    def part(self, name: str) -> tuple[FieldDefinition, ...]:
        """The fields of the struct with this name.

        Raises:
            KeyError: the message has no such struct.
        """
        inner = [self.fields]
        for fields in inner:
            for field in fields:
                found = self.struct_fields(field)
                if found is not None and (field.element or field.type) == name:
                    return found
                inner += [found] if found is not None else []
        raise KeyError(name)

    @property
    def api(self) -> str:
        """The name of the API that a request or a response belongs to."""
        return self.name.removesuffix("Request").removesuffix("Response")

    @property
    def readable(self) -> range:
        """All versions of which the fields are known: Kafka's own, and older ones of KIP-4."""
        own = version_range(self.versions)
        return range(_OLDEST.get(self.api, own.start), own.stop)


@cache
def definition(name: str) -> MessageDefinition:
    """The definition of a message, ``CreateTopicsRequest`` say.

    Raises:
        KeyError: there is no such message.
    """
    line = _lines(_TABLES).get(name) or _lines(_OWN).get(name) or _lines(_VIRTUAL_CLUSTERS)[name]
    return msgspec.json.decode(line, type=MessageDefinition)


@cache
def names() -> tuple[str, ...]:
    """The names of Kafka's messages."""
    return tuple(_lines(_TABLES))


@cache
def private_names() -> tuple[str, ...]:
    """The names of the messages that Kafka does not have: those of virtual clusters."""
    return tuple(_lines(_VIRTUAL_CLUSTERS))


@cache
def version_range(text: str) -> range:
    """The versions that ``2-7``, ``5+``, ``3`` or ``none`` means."""
    if text == "none":
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), _NEWEST + 1)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


@cache
def snake_case(name: str) -> str:
    """``timeoutMs`` as ``timeout_ms``."""
    return _WORD.sub("_", name).lower()


@cache
def _lines(tables: Path) -> dict[str, bytes]:
    lines = tables.read_bytes().splitlines()
    return {line.split(b'"', 4)[3].decode(): line for line in lines}
