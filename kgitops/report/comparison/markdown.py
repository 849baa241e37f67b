"""A comparison as Markdown: a fence in which what is removed and added has a colour."""

from collections.abc import Iterator

from kgitops.comparison.comparing import Comparison, ObjectDifference, Presence
from kgitops.report.comparison.lines import ABSENT, summary_line, value_pair
from kgitops.report.content.safe_text import code_span, fenced, guarded_line, terminal_text

_MOST_LINES = 500
_SIGNS = {Presence.ADDED: "+", Presence.REMOVED: "-", Presence.CHANGED: "!"}


def render_comparison_markdown(comparison: Comparison) -> str:
    """A line of counts, and the differences; of very many the first ones."""
    old, new = code_span(comparison.old), code_span(comparison.new)
    head = f"**kgitops diff** of the {comparison.kind}s {old} and {new}: {summary_line(comparison)}"
    lines = [line for item in comparison.objects for line in _lines(item)]
    if not lines:
        return f"{head}\n"
    shown = list(map(guarded_line, lines[:_MOST_LINES]))
    parts = [head, "", fenced(shown, "diff")]
    if len(lines) > _MOST_LINES:
        parts += ["", f"{len(lines) - _MOST_LINES:,} more lines; `kgitops diff` shows all of them."]
    return "\n".join(parts) + "\n"


def _lines(item: ObjectDifference) -> Iterator[str]:
    yield f"{_SIGNS[item.presence]} {terminal_text(item.address)}"
    if item.presence is not Presence.CHANGED:
        return
    for value in item.values:
        old, new = value_pair(value, full=False)
        path = terminal_text(value.path)
        if old != ABSENT:
            yield f"-     {path}: {old}"
        if new != ABSENT:
            yield f"+     {path}: {new}"
