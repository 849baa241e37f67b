"""The types of CEL values, as the check at load knows them."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace


class TypeKind(StrEnum):
    """The kinds of type; a record is a map whose fields are known."""

    ANY = "any"
    NULL = "null"
    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    MAP = "map"
    RECORD = "record"


class Type(Struct, frozen=True):
    """A type; ``item`` is that of a list's items or a map's values, ``name`` a record's own."""

    kind: TypeKind
    item: "Type | None" = None
    key: "Type | None" = None
    fields: Mapping[str, "Type"] | None = None
    name: str = ""
    nullable: bool = False

    @property
    def or_null(self) -> "Type":
        """The same type, or null."""
        return replace(self, nullable=True)

    @property
    def items(self) -> "Type":
        """The type of its items, as far as it is known."""
        return self.item or ANY

    @property
    def keys(self) -> "Type":
        """The type of its keys, as far as it is known."""
        return self.key or ANY

    @property
    def numeric(self) -> bool:
        """True for a number."""
        return self.kind in (TypeKind.INT, TypeKind.DOUBLE)

    def __str__(self) -> str:
        match self.kind:
            case TypeKind.LIST:
                text = f"list({self.items})"
            case TypeKind.MAP:
                text = f"map({self.keys}, {self.items})"
            case TypeKind.RECORD:
                text = self.name
            case kind:
                text = kind.value
        return f"{text} or null" if self.nullable else text


ANY = Type(TypeKind.ANY)
NULL = Type(TypeKind.NULL)
BOOL = Type(TypeKind.BOOL)
INT = Type(TypeKind.INT)
DOUBLE = Type(TypeKind.DOUBLE)
STRING = Type(TypeKind.STRING)


def list_of(item: Type) -> Type:
    """A list."""
    return Type(TypeKind.LIST, item=item)


def map_of(item: Type, key: Type = STRING) -> Type:
    """A map, by default with text as keys."""
    return Type(TypeKind.MAP, item=item, key=key)


def record(name: str, fields: Mapping[str, Type]) -> Type:
    """A map whose fields are known; sentences call it ``name``."""
    return Type(TypeKind.RECORD, fields=fields, name=name)


def joined(one: Type, other: Type) -> Type:
    """The type of a value that may have either type."""
    if one == other:
        return one
    if one.kind is TypeKind.NULL:
        return other.or_null if other.kind is not TypeKind.ANY else ANY
    if other.kind is TypeKind.NULL:
        return joined(other, one)
    if replace(one, nullable=False) == replace(other, nullable=False):
        return one.or_null
    return ANY


def comparable(one: Type, other: Type) -> bool:
    """Return whether values of the two types can ever be equal."""
    unknown = (TypeKind.ANY, TypeKind.NULL)
    if one.kind in unknown or other.kind in unknown or (one.numeric and other.numeric):
        return True
    if {one.kind, other.kind} == {TypeKind.MAP, TypeKind.RECORD}:
        return True
    if one.kind is not other.kind:
        return False
    return comparable(one.items, other.items) and comparable(one.keys, other.keys)


def fits(actual: Type, expected: Type) -> bool:
    """True if a value of the actual type may be used where the other is expected, except null."""
    if TypeKind.ANY in (actual.kind, expected.kind):
        return True
    if actual.kind is TypeKind.RECORD and expected.kind is TypeKind.MAP:
        return True
    return actual.kind is expected.kind and (
        actual.kind not in (TypeKind.LIST, TypeKind.MAP) or fits(actual.items, expected.items)
    )
