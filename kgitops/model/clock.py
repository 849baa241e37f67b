"""Time as kgitops writes it: UTC, to the second, ``2026-11-21T09:12:07Z``. Conversions only."""

from datetime import UTC, datetime


def to_text(moment: datetime) -> str:
    """RFC 3339 in UTC, without fractions."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_text(text: str) -> datetime:
    """The moment that ``text`` names.

    Raises:
        ValueError: the text is not such a moment.
    """
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
