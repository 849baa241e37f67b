"""Python source that is being written for one version of a message, and what it refers to."""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from kgitops.wire.definitions import FieldDefinition, MessageDefinition, version_range

FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
}
"""Types of a fixed size: the letter that ``struct`` has for each, and the bytes it takes."""


class FunctionSource:
    """Lines of a function, and the names that they use."""

    def __init__(self, message: MessageDefinition, version: int) -> None:
        self.message = message
        self.version = version
        self.flexible = version in version_range(message.flexible)
        self.names: dict[str, Any] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._used = 0

    def line(self, text: str) -> None:
        """Add a line."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line that others belong to: ``if …:``, ``for …:``."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def variable(self) -> str:
        """A name that is not yet used."""
        self._used += 1
        return f"v{self._used}"

    def packer(self, fields: Sequence[FieldDefinition]) -> tuple[str, int]:
        """The name of a ``struct.Struct`` for a row of fields of fixed size, and that size."""
        letters = "".join(FIXED[field.type][0] for field in fields)
        return self.layout(letters), sum(FIXED[field.type][1] for field in fields)

    def layout(self, letters: str) -> str:
        """The name of a ``struct.Struct``."""
        name = "S_" + letters.replace("?", "o")
        self.names[name] = struct.Struct(">" + letters)
        return name

    def present(self, field: FieldDefinition) -> bool:
        """Tells if the version has the field."""
        return self.version in version_range(field.versions)

    def nullable(self, field: FieldDefinition) -> bool:
        """Tells if the field may be null in the version."""
        return self.version in version_range(field.nullable)

    def compact(self, field: FieldDefinition) -> bool:
        """Tells if the length of the field is a variable one."""
        return self.flexible and field.flexible != "none"

    def tagged(self, field: FieldDefinition) -> bool:
        """Tells if the field is written with its tag, and only if it does not have its default."""
        return self.flexible and self.version in version_range(field.tagged)

    def rows(
        self, fields: Sequence[FieldDefinition]
    ) -> Iterator[tuple[bool, list[FieldDefinition]]]:
        """The untagged fields in order; neighbours of fixed size (True) are a row together."""
        plain = [field for field in fields if self.present(field) and not self.tagged(field)]
        for fixed, group in groupby(plain, lambda field: field.type in FIXED):
            if fixed:
                yield True, list(group)
            else:
                yield from ((False, [field]) for field in group)

    def tags(self, fields: Sequence[FieldDefinition]) -> list[FieldDefinition]:
        """The tagged fields, by their tags."""
        tagged = [field for field in fields if self.present(field) and self.tagged(field)]
        return sorted(tagged, key=lambda field: field.tag or 0)

    def element_of(self, field: FieldDefinition) -> FieldDefinition:
        """The definition of an array's elements, if they are not structs."""
        return FieldDefinition(
            name=field.name,
            type=field.element or field.type,
            versions="0+",
            flexible=field.flexible,
        )

    def function(self, head: str, tail: Sequence[str]) -> Callable[..., Any]:
        """Compile the lines as a function with this first line and these last ones."""
        for text in tail:
            self.line(text)
        code = compile("\n".join([head, *self._lines]), f"<{self.message.name} {head}>", "exec")
        exec(code, self.names)  # noqa: S102 - made of Kafka's definitions alone
        made: Callable[..., Any] = self.names[head.split("(", maxsplit=1)[0].removeprefix("def ")]
        return made
