"""The types of fields of all kinds: the rules by which pydantic reads them, and the error texts.

Kinds are pydantic dataclasses with slots, so that a fleet of documents stays small in memory. Every
field is read strictly, and an optional field is left out: null is never a value. Numbers may have a
unit where Kafka counts milliseconds or bytes: ``7d``, ``1GiB``.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, TypeVar, dataclass_transform

import pydantic.dataclasses
from annotated_types import MinLen
from msgspec import Struct
from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from kgitops.policy.units import byte_size, duration_ms, duration_text

API_VERSION = "kgitops/v1"
REFUSED = "kgitops_refused"
"""The type of pydantic errors whose context holds our own text."""

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1

T = TypeVar("T")

_CONFIG = ConfigDict(
    extra="forbid",
    alias_generator=to_camel,
    validate_by_name=False,
    validate_by_alias=True,
    defer_build=True,
)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def manifest(cls: type[T]) -> type[T]:
    """A part of a document: a frozen pydantic dataclass with camelCase names."""
    make = pydantic.dataclasses.dataclass(config=_CONFIG, frozen=True, slots=True, kw_only=True)
    made: type[T] = make(cls)  # type: ignore[assignment]  # the class itself, with slots
    return made


def refuse(schema: CoreSchema, expected: str, advice: str) -> CoreSchema:
    """``schema``, whose every error says that the value must be ``expected``."""
    return core_schema.custom_error_schema(
        schema,
        custom_error_type=REFUSED,
        custom_error_message=expected,
        custom_error_context={"expected": expected, "advice": advice},
    )


class FreeText:
    """Marks a field without names: free text, paths, passwords. Any other text is a name."""


class Listing(Struct, frozen=True):
    """The text that stands in the field's description instead of ``{}``."""

    text: str


class NotNull:
    """An optional field: it may be left out, but null is refused."""

    def __get_pydantic_core_schema__(
        self,
        source: object,
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Take ``None`` out of the field's type."""
        return _without_null(handler(source))


class ErrorText(Struct, frozen=True):
    """Refuses every wrong value, null included, with this text."""

    expected: str
    advice: str

    def __get_pydantic_core_schema__(
        self,
        source: object,
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Put this text in place of pydantic's."""
        return refuse(_without_null(handler(source)), self.expected, self.advice)


class IntRange(Struct, frozen=True):
    """A whole number in a range; ``example`` is shown in the advice."""

    low: int
    high: int = MAX_INT32
    example: int = 3

    def __get_pydantic_core_schema__(
        self,
        _source: object,
        _handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """A strict integer: neither text, nor a fraction, nor a boolean."""
        least = f"a whole number of at least {self.low}"
        limited = f"a whole number from {self.low} to {self.high}"
        return refuse(
            core_schema.int_schema(strict=True, ge=self.low, le=self.high),
            least if self.high in (MAX_INT32, MAX_INT64) else limited,
            f"write a number such as {self.example}",
        )


class IntKeys:
    """A mapping from numbers, which JSON can only write as text."""

    def __get_pydantic_core_schema__(
        self,
        source: object,
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Read the keys first."""
        inner = _without_null(handler(source))
        return core_schema.no_info_before_validator_function(_numbers_as_keys, inner)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the keys that are allowed."""
        return {**handler(schema), "propertyNames": {"pattern": "^[0-9]+$"}}


class Shorthand(Struct, frozen=True):
    """A mapping that may also be written as the text of one of its fields alone."""

    field: str

    def __get_pydantic_core_schema__(
        self,
        source: object,
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Expand the text to a mapping first."""
        return core_schema.no_info_before_validator_function(self._expand, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Either form."""
        return {"anyOf": [{"type": "string", "minLength": 1}, handler(schema)]}

    def _expand(self, value: object) -> object:
        if isinstance(value, str):
            return {self.field: value}
        if isinstance(value, Mapping):
            return value
        context = {"expected": f"a name, or a mapping with {self.field}", "advice": "write a name"}
        raise PydanticCustomError(REFUSED, "shorthand", context)


class EnumName:
    """Kafka's name of an enum member, read without regard to case, ``_`` and ``-``."""

    def __init__(self, members: type[StrEnum], *, without: Collection[StrEnum] = ()) -> None:
        self._class = members
        self._members = [member for member in members if member not in without]

    def __get_pydantic_core_schema__(
        self,
        _source: object,
        _handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """The exact name costs no Python; any other spelling is looked up."""
        members = self._members
        by_name = {_fold(name): member for member in members for name in (member, member.name)}

        def other_spelling(value: object) -> StrEnum:
            if isinstance(value, str) and (member := by_name.get(_fold(value))):
                return member
            raise ValueError

        schema = core_schema.union_schema(
            [
                core_schema.enum_schema(self._class, members, sub_type="str"),
                core_schema.no_info_plain_validator_function(other_spelling),
            ],
            mode="left_to_right",
        )
        return refuse(schema, f"one of {', '.join(members)}", "write one of these")

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Editors complete from the enum; the pattern allows the other spellings."""
        names = [str(member) for member in self._members]
        return {"anyOf": [{"enum": names}, {"type": "string", "pattern": _any_case(self._members)}]}


def _without_null(schema: CoreSchema) -> CoreSchema:
    return schema["schema"] if schema["type"] == "nullable" else schema


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


def _any_case(members: Iterable[StrEnum]) -> str:
    def letters(word: str) -> str:
        return "".join(f"[{letter.upper()}{letter.lower()}]" for letter in word)

    spellings = ("[_-]?".join(map(letters, member.name.split("_"))) for member in members)
    return f"^({'|'.join(spellings)})$"


def _numbers_as_keys(value: object) -> object:
    """JSON's keys are text; digits in it count as the number."""
    if not isinstance(value, Mapping):
        return value
    result: dict[object, object] = {}
    for key, item in value.items():
        number = int(key) if isinstance(key, str) and _DIGITS.fullmatch(key) else key
        if number in result:
            problem = f"the key {number} appears twice"
            context = {"problem": problem, "advice": "keep one of them"}
            raise PydanticCustomError(REFUSED, "twice", context)
        result[number] = item
    return result


_DIGITS = re.compile(r"[0-9]{1,10}")

Text = Annotated[str, MinLen(1)]
Flag = Annotated[bool, Strict()]
Number = Annotated[int, Strict()] | Annotated[float, Strict()]
PartitionId = Annotated[int, IntRange(0, example=0)]
BrokerId = Annotated[int, IntRange(0, example=1)]
ConfigScalar = Annotated[
    str | int | float | bool,
    ErrorText("text, a number, true or false", "write the value, or remove the key"),
]


_TIMES, _SIZES = ".ms", (".bytes", "_byte_rate")
_ONE_UNIT = re.compile(r"[0-9]+(?:\.[0-9]+)?\s?[A-Za-z]+")
_PATTERN = r"^[0-9]+(\.[0-9]+)? ?(ms|s|m|h|d|w|B|[kKMGT]B|[KMGT]iB)$"
_LOOSE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")
_LOOSE_TIME: Mapping[str, str] = {
    **dict.fromkeys(("ms", "msec", "millisecond"), "ms"),
    **dict.fromkeys(("s", "sec", "second"), "s"),
    **dict.fromkeys(("m", "min", "minute"), "m"),
    **dict.fromkeys(("h", "hr", "hour"), "h"),
    **dict.fromkeys(("d", "day"), "d"),
    **dict.fromkeys(("w", "wk", "week"), "w"),
}
_LOOSE_SIZE = re.compile(r"([kmgt]?)(i?)(?:b|bytes?)?")


class Amounts:
    """A mapping of Kafka's names to values, which may have a unit where the name counts in one."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Read the amounts first."""
        return core_schema.no_info_before_validator_function(_read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Allow text with a unit where only a number is allowed otherwise."""
        described = handler(schema)
        value = described["additionalProperties"]
        options = value.get("anyOf", [value])
        if all(option.get("type") in ("integer", "number", "null") for option in options):
            units = {"type": "string", "pattern": _PATTERN}
            described["additionalProperties"] = {"anyOf": [*options, units]}
        return described


def _read(values: object) -> object:
    if not isinstance(values, dict):
        return values
    amounts = {
        key: number
        for key, value in values.items()
        if isinstance(value, str) and (number := amount(key, value)) is not None
    }
    return {**values, **amounts} if amounts else values


def amount(name: object, text: str) -> int | None:
    """The number that Kafka counts: ``604800000`` for ``7d`` of ``retention.ms``."""
    if not isinstance(name, str) or not _ONE_UNIT.fullmatch(text):
        return None
    try:
        if name.endswith(_TIMES):
            return duration_ms(text)
        return byte_size(text) if name.endswith(_SIZES) else None
    except ValueError:
        return None


def meant(name: object, text: str) -> str | None:
    """Advice on text that is no amount: ``write 7d (604800000)`` for ``7 Days``."""
    if not isinstance(name, str) or not name.endswith((_TIMES, *_SIZES)):
        return None
    if not re.search("[A-Za-z]", text):
        return None
    parts = [(number, word.casefold()) for number, word in _LOOSE.findall(text)]
    is_read = re.fullmatch(f"(?:{_LOOSE.pattern}[\\s,]*)+", text)
    if name.endswith(_TIMES):
        spelled, example = [_as_time(parts)], "milliseconds, or a time such as 7d"
    else:
        spelled, example = _as_sizes(parts), "bytes, or a size such as 1GiB"
    amounts = [f"{it} ({number})" for it in spelled if (number := amount(name, it)) is not None]
    return f"write {' or '.join(amounts) if amounts and is_read else example}"


def _as_time(parts: Sequence[tuple[str, str]]) -> str:
    units = [_LOOSE_TIME.get(word) or _LOOSE_TIME.get(word.removesuffix("s")) for _, word in parts]
    together = "".join(f"{number}{unit}" for (number, _), unit in zip(parts, units, strict=True))
    try:
        return duration_text(duration_ms(together))
    except ValueError:
        return ""


def _as_sizes(parts: Sequence[tuple[str, str]]) -> list[str]:
    if len(parts) != 1:
        return []
    ((number, word),) = parts
    if not (found := _LOOSE_SIZE.fullmatch(word)):
        return []
    letter, binary = found[1].upper(), found[2]
    if not letter:
        return [] if binary else [f"{number}B"]
    return [f"{number}{letter}iB"] if binary else [f"{number}{letter}iB", f"{number}{letter}B"]
