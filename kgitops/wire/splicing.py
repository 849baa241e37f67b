"""Changes names within a message's bytes: a function for each version, made from its fields.

It walks over the message, decodes nothing but the fields that a hook is for, and gives back the
parts of the message between them: tagged fields that this module does not know stay where they are.
Parts of a ``bytearray`` are views of it, so that records are never copied. Parts of ``bytes`` are
copies, which are better where they are many: they are small, and join faster than views.
"""

from collections.abc import Callable, Mapping, Sequence
from struct import error as struct_error

from msgspec import Struct

from kgitops.wire.definitions import FieldDefinition, MessageDefinition
from kgitops.wire.errors import MalformedError, TooLongError
from kgitops.wire.reading import MOST_ELEMENTS
from kgitops.wire.source import FIXED, FunctionSource
from kgitops.wire.varints import read_uvarint, skip_tags, uvarint

Chunks = list[bytes | bytearray | memoryview]
Splicer = Callable[[bytes | bytearray, int, object], Chunks]
"""From the data, the position of the message, and an object with the hooks as methods, to the data
from that position on with the changes.

A hook takes the bytes of its field and returns those that replace them; None drops the innermost
element of an array that the field is in, or empties the field where it is in none. The object may
have ``room``, the most elements of all arrays together: with more it raises ``TooLongError``.
"""


class Hook(Struct, frozen=True):
    """The method that is called about a field.

    With ``given`` it takes the value of that field of the same struct first: a number that comes
    before the field. With ``port`` it also takes the value of that field, an int32 that comes right
    after this one, as its last argument, and returns new values of both.
    """

    method: str
    given: str | None = None
    port: str | None = None


Hooks = Mapping[tuple[str, ...], Hook]
"""Hooks by the path of names that leads to their field."""


def make_splicer(message: MessageDefinition, version: int, hooks: Hooks) -> Splicer | None:
    """Make the function that changes this version; None if the version has none of the fields.

    The function raises ``MalformedError`` for bytes that are not such a message, as far as it walks
    over them: up to the last field with a hook.
    """
    source = FunctionSource(message, version)
    walk = _Walk(source, hooks)
    if not walk.reaches(message.fields, ()):
        return None
    source.names |= {
        "read_uvarint": read_uvarint,
        "uvarint": uvarint,
        "skip_tags": skip_tags,
        "MalformedError": MalformedError,
        "TooLongError": TooLongError,
    }
    source.line("view = data if type(data) is bytes else memoryview(data)")
    source.line("end = len(data); out = []; last = p")
    most = MOST_ELEMENTS if message.kind == "request" else "end"
    source.line(f"room = getattr(hooks, 'room', {most})")
    for method in sorted({hook.method for hook in hooks.values()}):
        source.line(f"{method} = hooks.{method}")
    walk.struct(message.fields, (), None, stop=True)
    tail = ["if p > end: raise MalformedError('it ends early')", "out.append(view[last:])"]
    walked = source.function("def splice(data, p, hooks):", [*tail, "return out"])
    return _strict(walked, f"{message.name} version {version}")


def _strict(walked: Splicer, what: str) -> Splicer:
    def splice(data: bytes | bytearray, p: int, hooks: object) -> Chunks:
        try:
            return walked(data, p, hooks)
        except (IndexError, struct_error):
            problem = "it ends early"
        except UnicodeDecodeError:
            problem = "a text is not UTF-8"
        except TooLongError:
            raise
        except MalformedError as error:
            problem = str(error)
        raise MalformedError(f"{what}: {problem}")

    return splice


class _Walk:
    """Writes the lines that walk over structs.

    ``p`` is the position, ``out`` has the chunks so far, ``last`` is where the next one begins.
    """

    def __init__(self, source: FunctionSource, hooks: Hooks) -> None:
        self._source = source
        self._hooks = hooks

    def reaches(self, fields: Sequence[FieldDefinition], path: tuple[str, ...]) -> bool:
        """Tells if a field of these, or of structs in them, has a hook."""
        return any(self._hooked(field, path) for field in fields)

    def struct(
        self,
        fields: Sequence[FieldDefinition],
        path: tuple[str, ...],
        dropped: str | None,
        *,
        stop: bool = False,
    ) -> None:
        """Walk over a struct; ``stop`` after the last hook in it.

        ``dropped`` is the variable to set if it is an element that a hook drops.
        """
        source = self._source
        known: dict[str, str] = {}
        wanted = {
            name: kind
            for field in fields
            if (hook := self._hooks.get((*path, field.name)))
            for kind, name in (("given", hook.given), ("port", hook.port))
            if name is not None
        }
        rows = list(source.rows(fields))
        tags = source.tags(fields) if source.flexible else []
        goes_on = bool(tags) and self.reaches(tags, path)
        for index, (fixed, row) in enumerate(rows):
            rest = [field for _, later in rows[index:] for field in later]
            if stop and not goes_on and not self.reaches(rest, path) and not _follows(rest, wanted):
                return
            if fixed:
                self._row(row, wanted, known)
            else:
                self._value(row[0], path, dropped, known)
        if source.flexible and not (stop and not goes_on):
            self._tags(tags, path, dropped)

    def _hooked(self, field: FieldDefinition, path: tuple[str, ...]) -> bool:
        if not self._source.present(field):
            return False
        here = (*path, field.name)
        inner = self._source.message.struct_fields(field)
        return here in self._hooks or (inner is not None and self.reaches(inner, here))

    def _row(
        self, row: Sequence[FieldDefinition], wanted: Mapping[str, str], known: dict[str, str]
    ) -> None:
        source = self._source
        at = 0
        for field in row:
            kind = wanted.get(field.name)
            letter, size = FIXED[field.type]
            if kind == "given":
                known[field.name] = source.variable()
                layout = source.layout(letter)
                source.line(f"{known[field.name]}, = {layout}.unpack_from(data, p + {at})")
            elif kind == "port":
                layout = source.layout(letter)
                with source.block(f"if {known[field.name]} is not None:"):
                    source.line(f"out.append(view[last : p + {at}])")
                    source.line(f"out.append({layout}.pack({known[field.name]}))")
                    source.line(f"last = p + {at + size}")
            at += size
        source.line(f"p += {at}")

    def _value(
        self,
        field: FieldDefinition,
        path: tuple[str, ...],
        dropped: str | None,
        known: dict[str, str],
    ) -> None:
        source = self._source
        hook = self._hooks.get((*path, field.name))
        if field.type in FIXED:
            source.line(f"p += {FIXED[field.type][1]}")
        elif field.type == "uuid":
            self._uuid(hook, dropped)
        elif field.element is not None:
            self._array(field, path, hook)
        elif field.type in ("string", "bytes", "records"):
            self._sized(field, hook, dropped, known)
        else:
            self._nested(field, path, dropped)

    def _uuid(self, hook: Hook | None, dropped: str | None) -> None:
        source = self._source
        if hook is not None:
            old, new = source.variable(), source.variable()
            source.line(f"{old} = bytes(view[p : p + 16]); {new} = {hook.method}({old})")
            self._drop(new, "bytes(16)", dropped)
            with source.block(f"if {new} is not {old}:"):
                source.line(f"out.append(view[last:p]); out.append({new}); last = p + 16")
        source.line("p += 16")

    def _sized(
        self,
        field: FieldDefinition,
        hook: Hook | None,
        dropped: str | None,
        known: dict[str, str],
    ) -> None:
        source = self._source
        size, begin = source.variable(), source.variable()
        if hook is not None and hook.port is not None:
            known[hook.port] = source.variable()
            source.line(f"{known[hook.port]} = None")
        source.line(f"{begin} = p")
        self._length(field, size)
        with source.block(f"if {size} > 0:" if hook is None else f"if {size} >= 0:"):
            source.line(f"p += {size}")
            if hook is not None:
                self._replace(field, hook, dropped, known, begin, size)

    def _length(self, field: FieldDefinition, size: str) -> None:
        source = self._source
        if source.compact(field):
            source.line(f"{size} = data[p] - 1; p += 1")
            with source.block(f"if {size} > 126:"):
                source.line(f"{size}, p = read_uvarint(data, p - 1); {size} -= 1")
        else:
            letter, width = ("h", 2) if field.type == "string" else ("i", 4)
            source.line(f"{size}, = {source.layout(letter)}.unpack_from(data, p); p += {width}")
        least = -1 if source.nullable(field) else 0
        problem = "is null" if least == 0 else "is too short"
        source.line(f"if {size} < {least}: raise MalformedError('{field.name} {problem}')")

    def _replace(
        self,
        field: FieldDefinition,
        hook: Hook,
        dropped: str | None,
        known: dict[str, str],
        begin: str,
        size: str,
    ) -> None:
        source = self._source
        old, new = source.variable(), source.variable()
        source.line("if p > end: raise MalformedError('it ends early')")
        source.line(f"{old} = bytes(view[p - {size} : p])")
        arguments = [old] if hook.given is None else [known[hook.given], old]
        targets = new
        if hook.port is not None:
            port = source.variable()
            source.line(f"{port}, = {source.layout('i')}.unpack_from(data, p)")
            arguments.append(port)
            targets = f"{new}, {known[hook.port]}"
        source.line(f"{targets} = {hook.method}({', '.join(arguments)})")
        self._drop(new, "b''", dropped)
        with source.block(f"if {new} is not {old}:"):
            source.line(f"out.append(view[last:{begin}]); last = p; {size} = len({new})")
            if source.compact(field):
                source.line(f"out.append(uvarint({size} + 1) + {new})")
            else:
                layout = source.layout("h" if field.type == "string" else "i")
                source.line(f"out.append({layout}.pack({size}) + {new})")

    def _drop(self, new: str, empty: str, dropped: str | None) -> None:
        with self._source.block(f"if {new} is None:"):
            self._source.line(f"{new} = {empty}")
            if dropped is not None:
                self._source.line(f"{dropped} = True")

    def _array(self, field: FieldDefinition, path: tuple[str, ...], hook: Hook | None) -> None:
        source = self._source
        here = (*path, field.name)
        element = field.element or ""
        inner = source.message.struct_fields(field)
        size, begin = source.variable(), source.variable()
        source.line(f"{begin} = p")
        self._length(field, size)
        if element in FIXED:
            with source.block(f"if {size} > 0:"):
                source.line(f"p += {size} * {FIXED[element][1]}")
            return
        # Elements of fixed size are walked over without a look at the data, so they are counted.
        source.line(f"room -= {size}")
        source.line("if room < 0: raise TooLongError('it has more elements than can be')")
        if hook is None and not (inner is not None and self.reaches(inner, here)):
            with source.block(f"for _ in range({size}):"):
                self._element(field, inner, here, None, None)
            return
        first, before, kept, start, mark, earlier, dropped = (source.variable() for _ in range(7))
        source.line(f"{first} = p; {before} = last; {mark} = len(out); {kept} = {size}")
        outer = source.variable()
        source.line(f"{outer} = {mark}")
        with source.block(f"for _ in range({size}):"):
            source.line(f"{start} = p; {mark} = len(out); {earlier} = last; {dropped} = False")
            self._element(field, inner, here, hook, dropped)
            with source.block(f"if {dropped}:"):
                source.line("if p > end: raise MalformedError('it ends early')")
                source.line(f"del out[{mark}:]; out.append(view[{earlier}:{start}])")
                source.line(f"last = p; {kept} -= 1")
        with source.block(f"if {kept} != {size}:"):
            # The first chunk since the array began is of the bytes from there on, count included.
            source.line(f"{start} = {before} + len(out[{outer}])")
            count = (
                f"uvarint({kept} + 1)"
                if source.compact(field)
                else f"{source.layout('i')}.pack({kept})"
            )
            source.line(
                f"out[{outer} : {outer} + 1] = "
                f"(view[{before}:{begin}], {count}, view[{first}:{start}])"
            )

    def _element(
        self,
        field: FieldDefinition,
        inner: Sequence[FieldDefinition] | None,
        here: tuple[str, ...],
        hook: Hook | None,
        dropped: str | None,
    ) -> None:
        if inner is not None:
            self.struct(inner, here, dropped)
        elif field.element == "uuid":
            self._uuid(hook, dropped)
        else:
            self._sized(self._source.element_of(field), hook, dropped, {})

    def _nested(self, field: FieldDefinition, path: tuple[str, ...], dropped: str | None) -> None:
        source = self._source
        inner = source.message.struct_fields(field) or ()
        here = (*path, field.name)
        if not source.nullable(field):
            self.struct(inner, here, dropped)
            return
        sign = source.variable()
        source.line(f"{sign} = data[p]; p += 1")
        with source.block(f"if {sign} < 128:"):
            self.struct(inner, here, dropped)

    def _tags(
        self, fields: Sequence[FieldDefinition], path: tuple[str, ...], dropped: str | None
    ) -> None:
        source = self._source
        hooked = [field for field in fields if self._hooked(field, path)]
        count = source.variable()
        source.line(f"{count} = data[p]; p += 1")
        if not hooked:
            source.line(f"if {count}: p = skip_tags(data, p - 1)")
            return
        tag, size, stop, begin, outer = (source.variable() for _ in range(5))
        with source.block(f"if {count}:"):
            source.line(f"if {count} > 127: {count}, p = read_uvarint(data, p - 1)")
            with source.block(f"for _ in range({count}):"):
                source.line(f"{tag}, p = read_uvarint(data, p); {begin} = p")
                source.line(f"{size}, p = read_uvarint(data, p); {stop} = p + {size}")
                source.line(f"if {stop} > end: raise MalformedError('it ends in a tagged field')")
                for field in hooked:
                    with source.block(f"if {tag} == {field.tag}:"):
                        source.line(f"out.append(view[last:{begin}]); {outer} = out")
                        source.line("out = []; last = p")
                        self._value(field, path, dropped, {})
                        source.line(
                            f"if p != {stop}: raise MalformedError('{field.name} has another "
                            "length than its tag says')"
                        )
                        source.line(f"out.append(view[last:p]); {size} = sum(map(len, out))")
                        source.line(f"{outer}.append(uvarint({size})); {outer} += out")
                        source.line(f"out = {outer}; last = p")
                source.line(f"p = {stop}")


def _follows(rest: Sequence[FieldDefinition], wanted: Mapping[str, str]) -> bool:
    """Tells if a port, which a hook replaced, is still to come."""
    return any(wanted.get(field.name) == "port" for field in rest)
