"""Writers of messages: a function for each version, made from the table of its fields."""

from collections.abc import Callable, Sequence
from struct import pack

import msgspec

from kgitops.wire.definitions import FieldDefinition, MessageDefinition
from kgitops.wire.errors import UnwritableMessageError
from kgitops.wire.messages import StructDefault, default_of, message_class
from kgitops.wire.source import FIXED, FunctionSource
from kgitops.wire.varints import uvarint

Writer = Callable[[msgspec.Struct], bytearray]


class Written(bytes):
    """A struct of an array that was written before, for the same version of the same message."""


def make_writer(message: MessageDefinition, version: int, part: str | None = None) -> Writer:
    """Make the function that writes this version of the message, or a ``part`` of it.

    It raises ``struct.error`` for a number or a length that is out of range, and
    ``UnwritableMessageError`` for a null or a value that the version has no place for.
    """
    source = FunctionSource(message, version)
    source.names |= {
        "uvarint": uvarint,
        "pack": pack,
        "UnwritableMessageError": UnwritableMessageError,
        "Written": Written,
    }
    source.line("o = bytearray()")
    _StructWriter(source).write(message.fields if part is None else message.part(part), "value")
    return source.function("def write(value):", ["return o"])


class _StructWriter:
    """Writes the lines that append structs to ``o``."""

    def __init__(self, source: FunctionSource) -> None:
        self._source = source

    def write(self, fields: Sequence[FieldDefinition], owner: str) -> None:
        """Append the struct in the variable ``owner``."""
        source = self._source
        for field in fields:
            if not source.present(field) and not field.ignorable:
                self._refuse(field, owner)
        for fixed, row in source.rows(fields):
            values = [f"{owner}.{field.attribute}" for field in row]
            if fixed:
                source.line(f"o += {source.packer(row)[0]}.pack({', '.join(values)})")
            else:
                self._value(row[0], values[0])
        if source.flexible:
            self._tags(source.tags(fields), owner)

    def _refuse(self, field: FieldDefinition, owner: str) -> None:
        """A version without a field must not lose what was set in it."""
        message = self._source.message.name
        sentence = f"{message} has no {field.name} in version {self._source.version}"
        self._source.line(
            f"if {self._is_set(field, f'{owner}.{field.attribute}')}: "
            f"raise UnwritableMessageError({sentence!r})"
        )

    def _is_set(self, field: FieldDefinition, value: str) -> str:
        default = default_of(field, self._source.message)
        if default is None:
            return f"{value} is not None"
        if default == ():
            return f"{value} is None or {value}"
        if isinstance(default, StructDefault):
            made = getattr(message_class(self._source.message.name), default)
            self._source.names[default] = made
            return f"{value} != {default}()"
        return f"{value} != {default!r}"

    def _tags(self, fields: Sequence[FieldDefinition], owner: str) -> None:
        source = self._source
        if not fields:
            source.line("o.append(0)")
            return
        written, outer = source.variable(), source.variable()
        source.line(f"{written} = []; {outer} = o")
        for field in fields:
            value = f"{owner}.{field.attribute}"
            with source.block(f"if {self._is_set(field, value)}:"):
                source.line("o = bytearray()")
                self._value(field, value)
                source.line(f"{written}.append((uvarint({field.tag}), uvarint(len(o)), o))")
        source.line(f"o = {outer}; o += uvarint(len({written}))")
        source.line(f"for parts in {written}: o += b''.join(parts)")

    def _value(self, field: FieldDefinition, value: str) -> None:
        source = self._source
        if field.type in FIXED:
            source.line(f"o += {source.packer([field])[0]}.pack({value})")
        elif field.type == "uuid":
            self._uuid(value)
        elif field.element is not None or field.type in ("string", "bytes", "records"):
            self._sized(field, value)
        else:
            self._struct(field, value)

    def _uuid(self, value: str) -> None:
        source = self._source
        item = source.variable()
        source.line(f"{item} = {value}")
        source.line(f"if len({item}) != 16: raise UnwritableMessageError('a UUID has 16 bytes')")
        source.line(f"o += {item}")

    def _sized(self, field: FieldDefinition, value: str) -> None:
        source = self._source
        item, size = source.variable(), source.variable()
        compact = source.compact(field)
        layout = source.layout("h" if field.type == "string" else "i")
        source.line(f"{item} = {value}")
        with source.block(f"if {item} is None:"):
            if source.nullable(field):
                source.line("o.append(0)" if compact else f"o += {layout}.pack(-1)")
            else:
                source.line(f"raise UnwritableMessageError('{field.name} is null')")
        with source.block("else:"):
            if field.type == "string":
                source.line(f"{item} = {item}.encode()")
            source.line(f"{size} = len({item})")
            if compact:
                source.line(f"if {size} < 127: o.append({size} + 1)")
                source.line(f"else: o += uvarint({size} + 1)")
            else:
                source.line(f"o += {layout}.pack({size})")
            if field.element is None:
                source.line(f"o += {item}")
            else:
                self._elements(field, item, size)

    def _elements(self, field: FieldDefinition, items: str, size: str) -> None:
        source = self._source
        element = field.element or ""
        if element in FIXED:
            source.line(f"o += pack(f'>{{{size}}}{FIXED[element][0]}', *{items})")
            return
        item = source.variable()
        with source.block(f"for {item} in {items}:"):
            inner = source.message.struct_fields(field)
            if inner is None:
                self._value(source.element_of(field), item)
            else:
                source.line(f"if {item}.__class__ is Written: o += {item}; continue")
                self.write(inner, item)

    def _struct(self, field: FieldDefinition, value: str) -> None:
        source = self._source
        inner = source.message.struct_fields(field) or ()
        item = source.variable()
        source.line(f"{item} = {value}")
        if not source.nullable(field):
            self.write(inner, item)
            return
        source.line(f"if {item} is None: o.append(255)")
        with source.block("else:"):
            source.line("o.append(1)")
            self.write(inner, item)
