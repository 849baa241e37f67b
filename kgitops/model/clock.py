"""The clock, and time as kgitops writes it: UTC, to the second, ``2026-11-21T09:12:07Z``."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The source of time for an apply; tests use one of their own."""

    def now(self) -> datetime:
        """The current moment, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """This machine's clock."""

    def now(self) -> datetime:
        """The current moment, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def to_text(moment: datetime) -> str:
    """RFC 3339 in UTC, without fractions."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_text(text: str) -> datetime:
    """The moment that ``text`` names.

    Raises:
        ValueError: the text is not such a moment.
    """
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
