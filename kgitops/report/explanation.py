"""An explained object as text, each value with the place where it is written, and as JSON."""

import json
from collections.abc import Iterator

from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import object_name
from kgitops.model.source import Source
from kgitops.report.content.safe_text import Line, Style, render_lines
from kgitops.report.content.units import with_unit
from kgitops.workflow.explaining import ExplainedObject, ExplainedValue


def explanation_to_json(explained: ExplainedObject) -> str:
    """The object as JSON text; keys may be added, none is ever renamed.

    The origin's kind is ``manifest`` for what its document holds, ``default`` for kgitops's own
    defaults, and ``last-applied`` for values that only the registry knows.
    """
    return json_text(
        {
            "format_version": "1.0",
            "kind": "kgitops.explanation",
            "address": explained.address,
            "cluster": explained.cluster,
            "source": _place(explained.source),
            "managed": explained.managed,
            "values": [_value(value, explained) for value in explained.values],
        }
    )


def _value(value: ExplainedValue, explained: ExplainedObject) -> Json:
    asked = explained.managed is not None
    return {
        "path": value.path,
        "value": value.value,
        "origin": _origin(value, explained),
        "source": _place(value.source),
        **({"last_applied": value.last_applied} if asked else {}),
    }


def _origin(value: ExplainedValue, explained: ExplainedObject) -> Json:
    if value.origin is not None:
        removed = value.origin.removed
        return {
            "kind": value.origin.kind.value,
            "name": value.origin.name,
            **({} if removed is None else {"removed": removed}),
            **({"removed_by": value.origin.removed_by} if value.origin.removed_by else {}),
        }
    if explained.source is None:
        return {"kind": "last-applied", "name": ""}
    return {"kind": "default" if value.source is None else "manifest", "name": ""}


def _place(source: Source | None) -> Json:
    if source is None:
        return None
    return {"file": source.file, "line": source.line, "column": source.column}


def render_explanation(explained: ExplainedObject, *, colour: bool = False) -> str:
    """One line a value: its name, the value, and the place it comes from."""
    return render_lines(list(_lines(explained)), colour=colour, ascii_only=False)


def _lines(explained: ExplainedObject) -> Iterator[Line]:
    name = (Style.BOLD, str(object_name(explained.address)))
    if explained.source is None:
        yield [name, f" as last applied to {explained.cluster}: no document declares it any more"]
    else:
        yield [name, f" as declared for {explained.cluster}: {explained.source}"]
    rows = [
        (
            _label(value),
            _text(value),
            f"{_text_place(value, explained)}{_applied(value, explained)}",
        )
        for value in explained.values
    ]
    widths = [max((len(row[at]) for row in rows), default=0) for at in (0, 1)]
    for label, text, place in rows:
        yield [f"  {label:<{widths[0]}}  {text:<{widths[1]}}  ", (Style.DIM, place)]


def _applied(value: ExplainedValue, explained: ExplainedObject) -> str:
    """``; last applied: 6`` where that is another value than the declared one."""
    if explained.managed is None or explained.source is None or value.path.startswith("labels."):
        return ""
    if not explained.managed:
        return "; never applied"
    if value.last_applied == value.value:
        return "; as last applied" if value.value is not None else ""
    if value.last_applied is None:
        return "; not applied yet"
    return f"; last applied: {with_unit(value.path, _plain(value.last_applied))}"


def _label(value: ExplainedValue) -> str:
    group, _, name = value.path.partition(".")
    return name if group in ("configs", "quotas") else value.path


def _text(value: ExplainedValue) -> str:
    text = _plain(value.value)
    return with_unit(value.path, text)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_place(value: ExplainedValue, explained: ExplainedObject) -> str:
    if explained.source is None:
        return "last applied"
    if value.source is None:
        return "kgitops's default"
    if value.origin is not None and value.origin.removed is not None:
        written = value.origin.source
        removed = with_unit(value.path, value.origin.removed)
        by = value.origin.removed_by or "manifest"
        return (
            f"{by}, {value.source.file}:{value.source.line}, removes {removed} of "
            f"{value.origin.text}, {written.file}:{written.line}"
        )
    origin = "manifest" if value.origin is None else value.origin.text
    return f"{origin}, {value.source.file}:{value.source.line}"
