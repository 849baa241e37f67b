"""An explained object as JSON."""

from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.source import Source
from kgitops.workflow.explained_values import ExplainedValue
from kgitops.workflow.explaining import ExplainedObject


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
        return {"kind": value.origin.kind.value, "name": value.origin.name}
    if explained.source is None:
        return {"kind": "last-applied", "name": ""}
    return {"kind": "default" if value.source is None else "manifest", "name": ""}


def _place(source: Source | None) -> Json:
    if source is None:
        return None
    return {"file": source.file, "line": source.line, "column": source.column}
