"""A comparison of two states as text, as JSON and as Markdown."""

from collections.abc import Iterator

from kgitops.comparison.comparing import Comparison, ObjectDifference, Presence, ValueDifference
from kgitops.model.json.layout import json_line
from kgitops.model.registry import Json
from kgitops.model.wording import shortened_pair
from kgitops.report.content.safe_text import (
    Line,
    Style,
    code_span,
    fenced,
    guarded_line,
    render_lines,
    terminal_text,
)

ABSENT = "(none)"
KIND, FORMAT_VERSION = "kgitops.diff", "1.0"
_MOST_LINES = 500
_MARKDOWN_SIGNS = {Presence.ADDED: "+", Presence.REMOVED: "-", Presence.CHANGED: "!"}
_SIGNS = {
    Presence.ADDED: (Style.GREEN, "+"),
    Presence.REMOVED: (Style.RED, "-"),
    Presence.CHANGED: (Style.YELLOW, "~"),
}


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


def comparison_json(comparison: Comparison) -> Json:
    """Every object that differs; a value that one side lacks has no ``old`` or no ``new``."""
    counts = {presence.value: comparison.count(presence) for presence in Presence}
    return {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        "compares": comparison.kind.value,
        "old": comparison.old,
        "new": comparison.new,
        "objects": list(map(_object_json, comparison.objects)),
        "summary": {**counts, "same": comparison.same},
    }


def _object_json(item: ObjectDifference) -> Json:
    return {
        "address": item.address,
        "presence": item.presence.value,
        "values": list(map(_value_json, item.values)),
    }


def _value_json(value: ValueDifference) -> Json:
    sides = {"old": value.old, "new": value.new}
    return {"path": value.path, **{key: side for key, side in sides.items() if side != ()}}


def render_comparison_markdown(comparison: Comparison) -> str:
    """A line of counts, and the differences; of very many the first ones."""
    old, new = code_span(comparison.old), code_span(comparison.new)
    head = f"**kgitops diff** of the {comparison.kind}s {old} and {new}: {summary_line(comparison)}"
    lines = [line for item in comparison.objects for line in _markdown_lines(item)]
    if not lines:
        return f"{head}\n"
    shown = list(map(guarded_line, lines[:_MOST_LINES]))
    parts = [head, "", fenced(shown, "diff")]
    if len(lines) > _MOST_LINES:
        parts += ["", f"{len(lines) - _MOST_LINES:,} more lines; `kgitops diff` shows all of them."]
    return "\n".join(parts) + "\n"


def _markdown_lines(item: ObjectDifference) -> Iterator[str]:
    yield f"{_MARKDOWN_SIGNS[item.presence]} {terminal_text(item.address)}"
    if item.presence is not Presence.CHANGED:
        return
    for value in item.values:
        old, new = value_pair(value, full=False)
        path = terminal_text(value.path)
        if old != ABSENT:
            yield f"-     {path}: {old}"
        if new != ABSENT:
            yield f"+     {path}: {new}"


def render_comparison(comparison: Comparison, *, full: bool = False, colour: bool = False) -> str:
    """The differences for a terminal or a log; with ``full`` all values, whole."""
    old, new = terminal_text(comparison.old), terminal_text(comparison.new)
    head: list[Line] = [[(Style.BOLD, "kgitops diff"), f"  {comparison.kind} {old} -> {new}"], []]
    rows = [line for item in comparison.objects for line in _text_lines(item, full=full)]
    foot: list[Line] = [*([[]] if rows else []), [f"Diff: {summary_line(comparison)}."]]
    return render_lines([*head, *rows, *foot], colour=colour, ascii_only=False)


def _text_lines(item: ObjectDifference, *, full: bool) -> Iterator[Line]:
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
