"""Durations and byte sizes as people write them: ``7d``, ``1h30m``, ``10GiB``."""

import re
from collections.abc import Mapping
from fractions import Fraction

_MS: Mapping[str, int] = {
    "w": 604_800_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
_BYTES: Mapping[str, int] = {
    "TiB": 1 << 40,
    "GiB": 1 << 30,
    "MiB": 1 << 20,
    "KiB": 1 << 10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "KB": 10**3,
    "B": 1,
}
_PLAIN = re.compile(r"[0-9]{1,19}")
_PART = r"([0-9]{1,19}(?:\.[0-9]{1,9})?)\s?([A-Za-z]+)"


def duration_ms(text: str) -> int:
    """Milliseconds of ``7d``, ``1h30m`` or ``1.5h``; a number alone is milliseconds.

    Raises:
        ValueError: the text is not a duration; a sentence that says what to write.
    """
    value = _total(text, _MS, several=True)
    if value is None:
        raise ValueError(
            f"{text!r} is not a duration (write a number with ms, s, m, h, d or w, for example 7d)"
        )
    return value


def byte_size(text: str) -> int:
    """Bytes of ``10GiB``, ``1.5MB`` or ``512B``; a number alone is bytes.

    Raises:
        ValueError: the text is not a byte size; a sentence that says what to write.
    """
    value = _total(text, _BYTES, several=False)
    if value is None:
        raise ValueError(
            f"{text!r} is not a byte size (write a number with B, KiB, MiB, GiB, TiB, kB, MB, GB "
            "or TB, for example 10GiB)"
        )
    return value


def duration_text(ms: int) -> str:
    """``7d``, ``36h``, ``1500ms``: the greatest unit that gives a whole number, weeks left out."""
    return _text(ms, {unit: size for unit, size in _MS.items() if unit != "w"})


def size_text(size: int) -> str:
    """``10GiB``, ``1500B``: the greatest binary unit that gives a whole number."""
    return _text(size, {unit: size for unit, size in _BYTES.items() if unit[1:] in ("iB", "")})


def _total(text: str, units: Mapping[str, int], *, several: bool) -> int | None:
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return int(text)
    parts = re.findall(_PART, text)
    if not re.fullmatch(f"(?:{_PART}\\s?)" + ("+" if several else ""), text):
        return None
    total = Fraction(0)
    for number, unit in parts:
        if unit not in units:
            return None
        total += Fraction(number) * units[unit]
    return int(total) if total.denominator == 1 else None


def _text(value: int, units: Mapping[str, int]) -> str:
    unit = next((unit for unit, size in units.items() if value and value % size == 0), None)
    return str(value) if unit is None else f"{value // units[unit]}{unit}"
