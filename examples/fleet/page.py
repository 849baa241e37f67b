"""The page that says which drift is new: Markdown, as what changed hands is for people to read."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kgitops.report.content.safe_text import code_span

Row = Mapping[str, str | int | None]
Who = Mapping[tuple[str, str, str], str]
"""(cluster, address, path) to who did it and when."""

_PARTS = {
    "new": ("New", "Others changed this, and it is in no commit."),
    "changed": ("Changed again", "It was drift before, and has moved on."),
    "mended": ("Mended", "Put back, or written into git."),
}


def drift_page(night: str, rows: Sequence[Row], who: Who) -> str:
    """The page of one night; ``rows`` are the first of each state, and say how many there are."""
    counts = {row["state"]: int(row["of"] or 0) for row in rows}
    words = {"new": "new", "changed": "changed again", "open": "still open", "mended": "mended"}
    answer = ", ".join(f"{counts.get(state, 0):,} {word}" for state, word in words.items()) + "."
    lines = [f"# Drift of {night}", "", answer]
    unknown = [row for row in rows if row["state"] == "unknown"]
    if unknown:
        lines += ["", "## Nothing is known about these tonight", ""]
        lines += ["Their drift of the nights before stays open.", ""]
        lines += _table(
            ("plan", "why", "last known"),
            ((_unit(row), row["why"], row["since"] or "never") for row in unknown),
        )
        lines += _rest(len(unknown), counts.get("unknown", 0))
    for state, (title, meaning) in _PARTS.items():
        found = [row for row in rows if row["state"] == state]
        if found:
            lines += ["", f"## {title}", "", meaning, ""]
            lines += _differences(found, who if state != "mended" else None)
            lines += _rest(len(found), counts[state])
    return "\n".join(lines) + "\n"


def _differences(rows: Sequence[Row], who: Who | None) -> Iterable[str]:
    columns: dict[str, Callable[[Row], str | int | None]] = {
        "plan": _unit,
        "object": lambda row: row["address"],
        "what": lambda row: row["path"] or row["rule"],
        "applied": lambda row: row["last_applied"],
        "found": lambda row: row["found"],
        "since": lambda row: row["since"],
    }
    if who is not None:
        columns["by whom"] = lambda row: who.get(_key(row), "not recorded")
    return _table(columns, ([cell(row) for cell in columns.values()] for row in rows))


def _key(row: Row) -> tuple[str, str, str]:
    return str(row["cluster"]), str(row["address"]), str(row["path"])


def _unit(row: Row) -> str:
    return f"{row['cluster']}/{row['project']}"


def _rest(shown: int, count: int) -> Iterable[str]:
    if shown < count:
        yield ""
        yield f"… and {count - shown:,} more, in the history."


def _table(names: Iterable[str], rows: Iterable[Iterable[str | int | None]]) -> Iterable[str]:
    names = list(names)
    yield f"| {' | '.join(names)} |"
    yield f"|{' --- |' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str | int | None) -> str:
    """Names and values are others': a code span, in which nothing acts, nor ends the cell."""
    return "-" if text is None else code_span(str(text)).replace("|", "\\|")
