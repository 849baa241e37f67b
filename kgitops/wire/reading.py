"""Readers of messages: a function for each version, made from the table of its fields."""

from collections.abc import Callable, Sequence
from struct import unpack_from

import msgspec

from kgitops.wire.definitions import FieldDefinition, MessageDefinition
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import StructDefault, default_of, message_class
from kgitops.wire.source import FIXED, FunctionSource
from kgitops.wire.varints import read_uvarint

MOST_ELEMENTS = 500_000
"""Of all arrays in one request: in memory an element takes a hundred times its bytes in a frame."""

Reader = Callable[[bytes, int, int], tuple[msgspec.Struct, int]]
"""From the data, a position and the most elements of a request to the value and what follows it."""


def make_reader(message: MessageDefinition, version: int) -> Reader:
    """Make the function that reads this version.

    It raises ``IndexError``, ``struct.error`` or ``UnicodeDecodeError`` for what is too short or
    not text, and ``MalformedError`` for all else that is wrong.
    """
    source = FunctionSource(message, version)
    source.names |= {
        "MOST": MOST_ELEMENTS,
        "read_uvarint": read_uvarint,
        "unpack_from": unpack_from,
        "MalformedError": MalformedError,
        "Message": message_class(message.name),
    }
    _StructReader(source).read(message.fields, "Message", "value")
    tail = ["if p > end: raise MalformedError('it ends early')", "return value, p"]
    source_head = "def read(data, p, most=MOST):"
    return source.function(source_head, tail)


class _StructReader:
    """Writes the lines that read structs; ``p`` is the position, ``end`` the length of the data."""

    def __init__(self, source: FunctionSource) -> None:
        self._source = source
        source.line("end = len(data)")
        # Clients' requests are bounded; answers are those of brokers that were asked for them.
        self._bounded = source.message.kind == "request"
        if self._bounded:
            source.line("room = most")

    def read(self, fields: Sequence[FieldDefinition], made: str, target: str) -> None:
        """Read a struct into the variable ``target`` by calling the class called ``made``."""
        source = self._source
        values: dict[str, str] = {}
        for fixed, row in source.rows(fields):
            names = [source.variable() for _ in row]
            if fixed:
                layout, size = source.packer(row)
                source.line(f"{', '.join(names)}, = {layout}.unpack_from(data, p); p += {size}")
            else:
                self._value(row[0], names[0])
            values |= {field.name: name for field, name in zip(row, names, strict=True)}
        if source.flexible:
            values |= self._tags(source.tags(fields))
        arguments = [values.get(field.name) or self._default(field) for field in fields]
        source.line(f"{target} = {made}({', '.join(arguments)})")

    def _default(self, field: FieldDefinition) -> str:
        default = default_of(field, self._source.message)
        if isinstance(default, StructDefault):
            return f"{self._class(field)}()"
        return "[]" if default == () else repr(default)

    def _class(self, field: FieldDefinition) -> str:
        name = field.element or field.type
        self._source.names[name] = getattr(message_class(self._source.message.name), name)
        return name

    def _tags(self, fields: Sequence[FieldDefinition]) -> dict[str, str]:
        source = self._source
        values = {field.name: source.variable() for field in fields}
        for field in fields:
            source.line(f"{values[field.name]} = {self._default(field)}")
        count, tag, size, stop = (source.variable() for _ in range(4))
        source.line(f"{count} = data[p]; p += 1")
        with source.block(f"if {count}:"):
            source.line(f"if {count} > 127: {count}, p = read_uvarint(data, p - 1)")
            self._take_room(count)
            with source.block(f"for _ in range({count}):"):
                source.line(f"{tag}, p = read_uvarint(data, p)")
                source.line(f"{size}, p = read_uvarint(data, p); {stop} = p + {size}")
                source.line(f"if {stop} > end: raise MalformedError('it ends in a tagged field')")
                for field in fields:
                    with source.block(f"if {tag} == {field.tag}:"):
                        self._value(field, values[field.name])
                        source.line(
                            f"if p != {stop}: raise MalformedError('{field.name} has another "
                            "length than its tag says')"
                        )
                source.line(f"p = {stop}")
        return values

    def _take_room(self, size: str) -> None:
        if self._bounded:
            self._source.line(f"room -= {size}")
            self._source.line(
                "if room < 0: raise MalformedError(f'it has more than {most} elements')"
            )

    def _value(self, field: FieldDefinition, target: str) -> None:
        source = self._source
        if field.type in FIXED:
            layout, size = source.packer([field])
            source.line(f"{target}, = {layout}.unpack_from(data, p); p += {size}")
        elif field.type == "uuid":
            source.line("if p + 16 > end: raise MalformedError('it ends in a UUID')")
            source.line(f"{target} = data[p : p + 16]; p += 16")
        elif field.element is not None or field.type in ("string", "bytes", "records"):
            self._sized(field, target)
        else:
            self._struct(field, target)

    def _sized(self, field: FieldDefinition, target: str) -> None:
        source = self._source
        size = source.variable()
        if source.compact(field):
            source.line(f"{size} = data[p]; p += 1")
            source.line(f"if {size} > 127: {size}, p = read_uvarint(data, p - 1)")
            source.line(f"{size} -= 1")
        else:
            letter = "h" if field.type == "string" else "i"
            layout = source.layout(letter)
            source.line(f"{size}, = {layout}.unpack_from(data, p); p += {FIXED_SIZES[letter]}")
        with source.block(f"if {size} < 0:"):
            if source.nullable(field):
                source.line(f"if {size} < -1: raise MalformedError('{field.name} is too short')")
                source.line(f"{target} = None")
            else:
                source.line(f"raise MalformedError('{field.name} is null')")
        source.line(f"elif {size} > end - p: raise MalformedError('it ends in {field.name}')")
        with source.block("else:"):
            if field.element is None:
                text = (
                    "str(data[p : p + {0}], 'utf-8')"
                    if field.type == "string"
                    else "data[p : p + {0}]"
                )
                source.line(f"{target} = {text.format(size)}; p += {size}")
            else:
                self._elements(field, target, size)

    def _elements(self, field: FieldDefinition, target: str, size: str) -> None:
        source = self._source
        element = field.element or ""
        self._take_room(size)
        if element in FIXED:
            letter, width = FIXED[element]
            source.line(f"{target} = [*unpack_from(f'>{{{size}}}{letter}', data, p)]")
            source.line(f"p += {size} * {width}")
            return
        item, add = source.variable(), source.variable()
        source.line(f"{target} = []; {add} = {target}.append")
        with source.block(f"for _ in range({size}):"):
            inner = source.message.struct_fields(field)
            if inner is None:
                self._value(source.element_of(field), item)
            else:
                self.read(inner, self._class(field), item)
            source.line(f"{add}({item})")

    def _struct(self, field: FieldDefinition, target: str) -> None:
        source = self._source
        inner = source.message.struct_fields(field) or ()
        if not source.nullable(field):
            self.read(inner, self._class(field), target)
            return
        sign = source.variable()
        source.line(f"{sign}, = {source.layout('b')}.unpack_from(data, p); p += 1")
        source.line(f"if {sign} < 0: {target} = None")
        with source.block("else:"):
            self.read(inner, self._class(field), target)


FIXED_SIZES = {"h": 2, "i": 4}
