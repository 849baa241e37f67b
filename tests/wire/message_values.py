"""Random messages, made by their definitions."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import hypothesis.strategies as st
import msgspec

from kgitops.wire.definitions import (
    FieldDefinition,
    MessageDefinition,
    definition,
    names,
    version_range,
)
from kgitops.wire.messages import message_class

NUMBERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
}
TEXT = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["", "x" * 200])
SCALARS = NUMBERS | {
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "string": TEXT,
    "bytes": st.binary(max_size=8),
    "records": st.binary(max_size=8),
    "uuid": st.binary(min_size=16, max_size=16),
}
ALL = [(name, version) for name in names() for version in definition(name).readable]
"""Each version of each message whose fields are known."""
KAFKAS = [
    (name, version) for name in names() for version in version_range(definition(name).versions)
]
"""Each version that Kafka 4.3 has."""


def message_values(
    name: str,
    version: int,
    known: Mapping[re.Pattern[str], st.SearchStrategy[Any]] = MappingProxyType({}),
) -> st.SearchStrategy[Any]:
    """Messages with any value in each field that the version has.

    ``known`` has the values of fields of which not any will do, by the ends of their names.
    """
    message = definition(name)
    return _Values(message, version, known).structs(message.fields, message_class(name))


class _Values:
    def __init__(
        self,
        message: MessageDefinition,
        version: int,
        known: Mapping[re.Pattern[str], st.SearchStrategy[Any]],
    ) -> None:
        self._message = message
        self._version = version
        self._known = known

    def structs(
        self, fields: Sequence[FieldDefinition], made: type[msgspec.Struct]
    ) -> st.SearchStrategy[Any]:
        there = [field for field in fields if self._version in version_range(field.versions)]
        return st.builds(made, **{field.attribute: self._values(field) for field in there})

    def _values(self, field: FieldDefinition) -> st.SearchStrategy[Any]:
        kind = field.element or field.type
        inner = self._message.struct_fields(field)
        if inner is not None:
            value = self.structs(inner, getattr(message_class(self._message.name), kind))
        else:
            known = (self._known[end] for end in self._known if end.search(field.name))
            value = next(known, SCALARS[kind])
        if field.element is not None:
            value = st.lists(value, max_size=3)
        null = self._version in version_range(field.nullable)
        return st.none() | value if null else value
