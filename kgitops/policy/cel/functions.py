"""The types of CEL values, and the functions that expressions may call: CEL's own, and kgitops'."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from kgitops.policy.api.interfaces import ClusterState
from kgitops.policy.units import byte_size, duration_ms


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


class Function(Struct, frozen=True, kw_only=True):
    """``form`` shows a call, ``takes`` are the types of its first argument; a method has a target.

    Every parameter after the first, or after a method's target, is text.
    """

    name: str
    form: str
    doc: str
    takes: tuple[Type, ...]
    gives: Type
    method: bool = False
    parameters: int = 1

    def is_called(self, *, method: bool, arguments: int) -> bool:
        """Return whether this is a form of calling it; size() has both forms."""
        if self.name == "size":
            return arguments == (0 if method else 1)
        return method is self.method and arguments == self.parameters


def _method(name: str, doc: str) -> Function:
    form = f"TEXT.{name}('…')"
    return Function(name=name, form=form, doc=doc, takes=(STRING,), gives=BOOL, method=True)


def _convert(name: str, doc: str, takes: tuple[Type, ...], gives: Type) -> Function:
    return Function(name=name, form=f"{name}(VALUE)", doc=doc, takes=takes, gives=gives)


_FUNCTIONS = (
    Function(
        name="size",
        form="size(VALUE)",
        doc="How many characters text has, how many items a list, how many keys a map; "
        "also VALUE.size().",
        takes=(STRING, list_of(ANY), map_of(ANY, ANY)),
        gives=INT,
    ),
    _convert("int", "Text or a number as a whole number.", (STRING, INT, DOUBLE), INT),
    _convert("double", "Text or a number as a double.", (STRING, INT, DOUBLE), DOUBLE),
    _convert("string", "A number as text.", (INT, DOUBLE, STRING), STRING),
    _method("startsWith", "Whether the text begins so."),
    _method("endsWith", "Whether the text ends so."),
    _method("contains", "Whether the text holds the other."),
    _method(
        "matches",
        "Whether the regular expression (RE2's) is found anywhere in the text; ^ and $ bind it. "
        "\\w and \\d match letters and digits of every alphabet; write [a-z] and [0-9] for ASCII.",
    ),
    Function(
        name="durationMs",
        form="durationMs('7d')",
        doc="Milliseconds of a duration such as 7d, 12h or 1h30m.",
        takes=(STRING,),
        gives=INT,
    ),
    Function(
        name="byteSize",
        form="byteSize('1GiB')",
        doc="Bytes of a size such as 1GiB, 512MB or 10KiB.",
        takes=(STRING,),
        gives=INT,
    ),
    Function(
        name="partitions",
        form="partitions('payments.')",
        doc="How many partitions the topics have whose names begin so, before the request; "
        "internal topics left out.",
        takes=(STRING,),
        gives=INT,
    ),
    Function(
        name="topicExists",
        form="topicExists('NAME')",
        doc="Whether the topic exists before the request.",
        takes=(STRING,),
        gives=BOOL,
    ),
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({one.name: one for one in _FUNCTIONS})

UNITS: Mapping[str, Callable[[str], int]] = MappingProxyType(
    {"durationMs": duration_ms, "byteSize": byte_size}
)
"""Functions of their argument alone: with a literal they are computed when the policy is loaded."""

KEYS, LENGTH = "__keys", "__size"
"""The replacements of a loop over a map and of size(): the library's own loop has a random order,
which must not show in a message, and its own size() counts the bytes of a text."""

FOREIGN_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "duration": "durationMs('7d') gives milliseconds",
        "timestamp": "policies know no time: the same plan must be judged the same tomorrow",
        "now": "policies know no time: the same plan must be judged the same tomorrow",
        "quantity": "byteSize('1GiB') gives bytes",
        "bool": "compare the text: configs['preallocate'] == 'true'",
        "uint": "use int()",
        "bytes": "use size() or text itself",
        "len": "use size()",
        "length": "use size()",
        "count": "use size(), after filter() if need be",
        "str": "use string()",
        "float": "use double()",
        "lower": "Kafka's names keep their case; write matches('(?i)…') to pass over it",
        "lowerAscii": "write matches('(?i)…') to pass over case",
        "upperAscii": "write matches('(?i)…') to pass over case",
        "split": "write matches('…') with a regular expression",
        "find": "write matches('…') with a regular expression",
        "findAll": "write matches('…') with a regular expression",
        "indexOf": "write contains('…') or matches('…')",
        "substring": "write startsWith('…') or matches('…')",
        "any": "write LIST.exists(item, …)",
        "some": "write LIST.exists(item, …)",
        "existsOne": "write LIST.exists_one(item, …)",
        "forall": "write LIST.all(item, …)",
        "hasPrefix": "use startsWith()",
        "hasSuffix": "use endsWith()",
        "startswith": "use startsWith()",
        "endswith": "use endsWith()",
        "min": "compare with <: (a < b ? a : b)",
        "max": "compare with <: (a > b ? a : b)",
        "type": "every variable's type is documented",
        "dyn": "leave it out",
    }
)
"""Functions of other languages, and what to write here."""


PROVIDED = frozenset({*UNITS, "partitions", "topicExists", KEYS, LENGTH})
"""The functions that are not the library's own."""


def implementations(cluster: Callable[[], ClusterState]) -> Mapping[str, Callable[..., object]]:
    """Our functions for the library; ``cluster`` gives the cluster at the moment of a call."""
    return {
        **UNITS,
        "partitions": lambda prefix: cluster().partitions(prefix),
        "topicExists": lambda name: cluster().topic_state(name) is not None,
        KEYS: _keys,
        LENGTH: len,
    }


def _keys(looped: object) -> object:
    if not isinstance(looped, dict):
        return looped
    return sorted(looped, key=lambda key: (type(key).__name__, key))
