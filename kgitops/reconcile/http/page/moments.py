"""Moments and durations in few words."""

from datetime import datetime

from msgspec import Struct

from kgitops.model import clock
from kgitops.model.wording import counted

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class Moment(Struct, frozen=True, kw_only=True):
    """A moment as RFC 3339, and in words how far it is from now."""

    text: str
    words: str


def moment(text: str, now: datetime) -> Moment:
    """Describe a moment of a status; one that can't be read stays as it is."""
    try:
        seconds = (now - clock.from_text(text)).total_seconds()
    except ValueError:
        return Moment(text=text, words="")
    if abs(seconds) < 1:
        return Moment(text=text, words="now")
    words = duration(abs(seconds))
    return Moment(text=text, words=f"{words} ago" if seconds > 0 else f"in {words}")


def duration(seconds: float) -> str:
    """A duration in its largest unit, or in seconds."""
    for size, noun in _UNITS:
        if seconds >= 2 * size or (size == _UNITS[-1][0] and seconds >= size):
            return counted(int(seconds // size), noun)
    return f"{seconds:.0f} s" if seconds >= 1 or seconds == 0 else f"{seconds:.1f} s"
