"""Times and durations as they are typed: ``30s``, ``5m``, ``2h``, ``1d``, or a moment."""

import re
from datetime import UTC, datetime, timedelta

from kgitops.model.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([0-9]{1,9})(s|m|h|d)?")


def parse_seconds(text: str, option: str, *, least: int = 1) -> float:
    """The seconds of a duration.

    Raises:
        UsageError: it is not one, or shorter than ``least``.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise UsageError(f"{option} {text!r} is not a time; write 30s, 5m, 2h or 1d")
    seconds = int(found[1]) * _UNITS[found[2] or "s"]
    if seconds < least:
        raise UsageError(f"{option} {text} is too short; give at least {least}s")
    return float(seconds)


def parse_moment(text: str, option: str, now: datetime) -> datetime:
    """The moment that a duration from now, or an RFC 3339 time, names.

    Raises:
        UsageError: it is neither, or is past.
    """
    if _DURATION.fullmatch(text):
        return now + timedelta(seconds=parse_seconds(text, option))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UsageError(
            f"{option} {text!r} is not a time; write 2h, or 2026-11-25T18:00:00Z with its zone"
        )
    if moment <= now:
        raise UsageError(f"{option} {text} is past; give a later time, or resume instead")
    return moment.astimezone(UTC)
