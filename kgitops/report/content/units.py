"""Values as people read them, in addition to the raw value and never instead of it."""

import math
import re

_DURATIONS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
_SIZES = ((2**50, "PiB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_GROUP = re.compile(r"^(?:.*\.)?(?:configs|quotas)\.")
_MOST = 2**63 - 1
# Where Kafka reads -1 as "no limit", and where the largest long means it.
_NO_LIMIT = frozenset({"retention.ms", "retention.bytes"})
_AS_RETENTION = frozenset({"local.retention.ms", "local.retention.bytes"})


def unit_of(path: str, value: str) -> str | None:
    """The meaning of a field's value to a person; None where the value itself says it."""
    key = _GROUP.sub("", path)
    try:
        number = float(value)
    except ValueError:
        return None
    if value == "-1" and key in _NO_LIMIT:
        return "unlimited"
    if value == "-2" and key in _AS_RETENTION:
        return "as retention"
    if number < 0 or not math.isfinite(number):
        return None
    if value == str(_MOST):
        return "no limit"
    if key.endswith(("_byte_rate", ".throttled.rate")):
        return f"{size(number)}/s" if number >= 2**10 else None
    if key == "request_percentage":
        return "percent of a thread"
    if key in ("controller_mutation_rate", "connection_creation_rate"):
        return "per second"
    if key.endswith(".ms"):
        return duration(int(number)) if number >= 1_000 else None
    if key.endswith(".bytes"):
        return size(number) if number >= 2**10 else None
    return None


def with_unit(path: str, value: str, more: str | None = None) -> str:
    """``604800000 (7 d)``; ``more`` joins the unit in the brackets."""
    notes = [note for note in (unit_of(path, value), more) if note]
    return f"{value} ({'; '.join(notes)})" if notes else value


def duration(milliseconds: int) -> str:
    """The two largest units: ``7 d``, ``1 d 1 h``; with ``about`` where that is not all."""
    parts: list[str] = []
    rest = milliseconds
    for length, name in _DURATIONS:
        if rest >= length and len(parts) < 2:
            parts.append(f"{rest // length} {name}")
            rest %= length
        elif parts:
            break
    text = " ".join(parts) or "0 ms"
    return f"about {text}" if rest else text


def size(count: float) -> str:
    """The largest binary unit, one decimal where it is not whole: ``512 MiB``, ``48.2 GiB``."""
    for unit, name in _SIZES:
        if count >= unit:
            value = count / unit
            return f"{value:.0f} {name}" if value == int(value) else f"{value:.1f} {name}"
    return f"{count:.0f} B"
