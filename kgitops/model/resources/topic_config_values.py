"""Reads the text of one topic config as Kafka does: its type, normal form and legal values."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

Value = bool | int | float | str | tuple[str, ...]


class ConfigType(StrEnum):
    """The types of org.apache.kafka.common.config.ConfigDef.

    Only configs of which brokers report the type are SHORT, CLASS or PASSWORD.
    """

    BOOLEAN = "BOOLEAN"
    SHORT = "SHORT"
    INT = "INT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 (the name of a type)


_BITS = {ConfigType.SHORT: 15, ConfigType.INT: 31, ConfigType.LONG: 63}


class TopicConfig(Struct, frozen=True, kw_only=True):
    """One topic config as Kafka defines it; ``server_default`` is the broker's name for it.

    ``valid_values`` of a number are legal in addition to its range; of a string or list, they are
    the only legal ones.
    """

    name: str
    type: ConfigType
    default: str | None
    minimum: float | int | None
    maximum: float | int | None
    valid_values: tuple[str, ...]
    server_default: str | None
    doc: str


class ValueReader(Struct, frozen=True, kw_only=True):
    """Reads the values of a config; ``parse`` gives None where Kafka would refuse the text."""

    config: TopicConfig
    parse: Callable[[str], Value | None]
    legal: str

    def legal_value(self, text: str) -> Value | None:
        """The value of a text, if Kafka accepts it."""
        value = self.parse(text)
        return value if value is not None and is_legal(self.config, value) else None

    def problem(self, shown: str) -> str:
        """The sentence about a value that Kafka would refuse."""
        return f"{self.config.name} must be {self.legal}, not {shown!r}"


def value_reader(config: TopicConfig) -> ValueReader:
    """The reader of a config by its type and its legal values."""
    return ValueReader(config=config, parse=value_parser(config), legal=legal_values(config))


def reported_reader(name: str, type_: ConfigType) -> ValueReader:
    """Return the reader of a config of which only the type is known, as brokers report it.

    A text is not changed; a list keeps its order, which may matter.
    """
    config = TopicConfig(
        name=name,
        type=type_,
        default=None,
        minimum=None,
        maximum=None,
        valid_values=(),
        server_default=None,
        doc="",
    )
    match type_:
        case ConfigType.DOUBLE:
            return ValueReader(config=config, parse=_double, legal="a number")
        case ConfigType.LIST:
            return ValueReader(config=config, parse=_list_in_order, legal="a list of texts")
        case ConfigType.STRING | ConfigType.CLASS | ConfigType.PASSWORD:
            return ValueReader(config=config, parse=str, legal="a text")
        case ConfigType.BOOLEAN | ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            return value_reader(config)
        case _:
            assert_never(type_)


def value_parser(config: TopicConfig) -> Callable[[str], Value | None]:
    """A function that reads a text as ConfigDef.parseType does; None where Kafka would refuse."""
    match config.type:
        case ConfigType.BOOLEAN:
            return _boolean
        case ConfigType.SHORT:
            return _whole_number(_BITS[ConfigType.SHORT])
        case ConfigType.INT:
            return _whole_number(_BITS[ConfigType.INT])
        case ConfigType.LONG:
            return _whole_number(_BITS[ConfigType.LONG])
        case ConfigType.DOUBLE:
            return _double
        case ConfigType.STRING | ConfigType.CLASS | ConfigType.PASSWORD:
            return trim
        case ConfigType.LIST:
            return _list_of(config.valid_values) if config.valid_values else _throttled_replicas
        case _:
            assert_never(config.type)


def is_legal(config: TopicConfig, value: Value) -> bool:
    """True if a parsed value satisfies the validator of its config."""
    match value:
        case bool() | tuple():
            return True
        case str():
            return not config.valid_values or value in config.valid_values
        case int() | float():
            if str(value) in config.valid_values:
                return True
            below = config.minimum is not None and value < config.minimum
            above = config.maximum is not None and value > config.maximum
            return not below and not above
        case _:
            assert_never(value)


def legal_values(config: TopicConfig) -> str:
    """A phrase for the legal values, to follow "must be"."""
    match config.type:
        case ConfigType.BOOLEAN:
            return "true or false"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            bits = _BITS[config.type]
            low = -(2**bits) if config.minimum is None else config.minimum
            high = 2**bits - 1 if config.maximum is None else config.maximum
            others = "".join(f" or {value}" for value in config.valid_values)
            return f"a whole number from {low} to {high}{others}"
        case ConfigType.DOUBLE:
            return f"a number from {config.minimum:g} to {config.maximum:g}"
        case ConfigType.STRING | ConfigType.CLASS | ConfigType.PASSWORD:
            return f"one of {', '.join(config.valid_values)}"
        case ConfigType.LIST:
            if config.valid_values:
                return f"empty, or a list of {' and '.join(config.valid_values)}"
            return "* or a list of partition:broker pairs such as 0:1,1:2"
        case _:
            assert_never(config.type)


def to_text(value: Value) -> str:
    """The value as Kafka writes it; a list in sorted order, because Kafka reads it as a set."""
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return _double_text(value)
        case int() | str():
            return str(value)
        case _:
            assert_never(value)


_BLANK = "".join(map(chr, range(0x21)))
_DIGITS = re.compile(r"([+-]?)0*(\d{1,19})")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?", re.ASCII)
_NAMED_DOUBLE = re.compile(r"[+-]?(NaN|Infinity)")
_COMMA = re.compile(r"[ \t-\r]*,[ \t-\r]*")
_THROTTLED = re.compile(r"[0-9]+:[0-9]+")


def trim(text: str) -> str:
    """Java's String.trim: it removes control characters and spaces, but no other white space."""
    return text.strip(_BLANK)


def _boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(trim(text).casefold())


def _whole_number(bits: int) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        # Like Kafka this takes the decimal digits of any script; unlike int() no underscores.
        digits = _DIGITS.fullmatch(trim(text))
        if digits is None or max(digits[2]) > "\uffff":
            return None
        value = int(digits[1] + digits[2])
        return value if -(2**bits) <= value < 2**bits else None

    return read


def _double(text: str) -> float | None:
    digits = trim(text)
    if _DECIMAL.fullmatch(digits):
        return float(digits.rstrip("fFdD")) + 0.0  # -0.0 becomes 0.0, to which it is equal
    return float(digits) if _NAMED_DOUBLE.fullmatch(digits) else None


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if value == 0 or 1e-3 <= abs(value) < 1e7 or math.isinf(value):
        return repr(value)
    # Java's Double.toString turns to this form earlier than Python's repr does.
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{first}.{rest}E{int(exponent) + len(digits) - 1}"


def _list_of(valid_values: tuple[str, ...]) -> Callable[[str], tuple[str, ...] | None]:
    def read(text: str) -> tuple[str, ...] | None:
        items = set(_items(text))
        return tuple(sorted(items)) if items <= set(valid_values) else None

    return read


def _throttled_replicas(text: str) -> tuple[str, ...] | None:
    # As ThrottledReplicaListValidator does, and no more strictly: "0:1,," passes.
    items = [trimmed for item in _items(text) if (trimmed := trim(item))]
    if items == ["*"] or all(map(_THROTTLED.fullmatch, items)):
        return tuple(sorted(set(items)))
    return None


def _list_in_order(text: str) -> tuple[str, ...]:
    return tuple(filter(None, _items(text)))


def _items(text: str) -> list[str]:
    trimmed = trim(text)
    return _COMMA.split(trimmed) if trimmed else []
