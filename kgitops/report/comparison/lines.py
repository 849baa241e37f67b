"""The rows that the text and the Markdown of a comparison share."""

from kgitops.comparison.comparing import Comparison, Presence, ValueDifference
from kgitops.model.json.layout import json_line
from kgitops.model.registry import Json
from kgitops.model.wording import shortened_pair
from kgitops.report.content.safe_text import terminal_text

ABSENT = "(none)"


def value_pair(value: ValueDifference, *, full: bool) -> tuple[str, str]:
    """The old and the new value, each on one line; long ones are cut to where they differ."""
    old, new = _shown(value.old), _shown(value.new)
    return (old, new) if full else shortened_pair(old, new)


def summary_line(comparison: Comparison) -> str:
    """``1 added, 2 removed, 3 changed, 40 the same``."""
    counts = [f"{comparison.count(presence):,} {presence}" for presence in Presence]
    return ", ".join([*counts, f"{comparison.same:,} the same"])


def _shown(value: Json | tuple[()]) -> str:
    if value == ():
        return ABSENT
    return terminal_text(value if isinstance(value, str) else json_line(value))
