"""A comparison as text for a person: object by object, value by value."""

from collections.abc import Iterator

from kgitops.comparison.comparing import Comparison, ObjectDifference, Presence
from kgitops.report.comparison.lines import summary_line, value_pair
from kgitops.report.content.safe_text import Line, Style, render_lines, terminal_text

_SIGNS = {
    Presence.ADDED: (Style.GREEN, "+"),
    Presence.REMOVED: (Style.RED, "-"),
    Presence.CHANGED: (Style.YELLOW, "~"),
}


def render_comparison(comparison: Comparison, *, full: bool = False, colour: bool = False) -> str:
    """The differences for a terminal or a log; with ``full`` all values, whole."""
    old, new = terminal_text(comparison.old), terminal_text(comparison.new)
    head: list[Line] = [[(Style.BOLD, "kgitops diff"), f"  {comparison.kind} {old} -> {new}"], []]
    rows = [line for item in comparison.objects for line in _object(item, full=full)]
    foot: list[Line] = [*([[]] if rows else []), [f"Diff: {summary_line(comparison)}."]]
    return render_lines([*head, *rows, *foot], colour=colour, ascii_only=False)


def _object(item: ObjectDifference, *, full: bool) -> Iterator[Line]:
    style, sign = _SIGNS[item.presence]
    yield ["  ", (style, sign), f" {terminal_text(item.address)}"]
    if item.presence is not Presence.CHANGED and not full:
        return
    for value in item.values:
        old, new = value_pair(value, full=full)
        path = terminal_text(value.path)
        match item.presence:
            case Presence.CHANGED:
                yield [f"      {path}  {old} -> {new}"]
            case Presence.ADDED:
                yield [f"      {path}  {new}"]
            case Presence.REMOVED:
                yield [f"      {path}  {old}"]
