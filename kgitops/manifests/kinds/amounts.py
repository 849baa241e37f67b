"""Numbers with a unit, where Kafka counts milliseconds or bytes: ``7d``, ``1GiB``."""

import re
from collections.abc import Mapping, Sequence

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from kgitops.policy.units import byte_size, duration_ms, duration_text

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
