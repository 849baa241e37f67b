"""The JSON Schema of a fleet's summary, ``fleet.json``.

Objects may gain keys within a major version, so readers must ignore what they don't know.
"""

import json
from pathlib import Path

from kgitops.fleet.summary_json import COUNTS, FLEET_KIND
from kgitops.model.registry import Json
from kgitops.model.source import Severity
from kgitops.model.verdict import ExitCode

_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_COUNTS: Json = {"type": "object", "additionalProperties": _COUNT}
_EXIT: Json = {"enum": [int(code) for code in ExitCode]}
_MOMENT: Json = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}


def fleet_schema() -> dict[str, Json]:
    """The schema of what ``fleet plan --out DIR`` writes as ``DIR/fleet.json``."""
    run = {
        "format_version": {"type": "string", "pattern": r"^1\.\d+$"},
        "kind": {"const": FLEET_KIND},
        "created": _MOMENT,
        "version": _TEXT,
        "milliseconds": _COUNT,
        "units": _array({"$ref": "#/$defs/unit"}),
        "findings": _array({"$ref": "#/$defs/finding"}),
        "unplanned": _array(_TEXT),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kgitops fleet",
        "description": "What a run of kgitops fleet plan came to: a unit is one project on one "
        "cluster. The tables beside this file hold every change.",
        **_object(run),
        "$defs": {
            "unit": _unit(),
            "reason": _object({"exit": _EXIT, "sentence": _TEXT}),
            "finding": _object(
                {
                    "source": {"anyOf": [{"$ref": "#/$defs/source"}, {"type": "null"}]},
                    "problem": _TEXT,
                    "advice": _TEXT,
                    "severity": {"enum": [str(severity) for severity in Severity]},
                }
            ),
            "source": _object(
                {
                    "file": _TEXT,
                    "line": {"type": "integer"},
                    "column": {"type": "integer"},
                }
            ),
        },
    }


def schema_text() -> str:
    """The text of ``schemas/fleet.schema.json``."""
    return json.dumps(fleet_schema(), indent=2) + "\n"


def _unit() -> Json:
    violation = {"policy": _TEXT, "level": _TEXT, "outcome": _TEXT, "count": _COUNT}
    return _object(
        {
            "cluster": _TEXT,
            "project": _TEXT,
            "identity": _TEXT,
            "planned": {"type": "boolean"},
            "captured_at": _TEXT,
            **dict.fromkeys(COUNTS, _COUNTS),
            "violations": _array(_object(violation)),
            "lost": _TEXT,
            "exit": _EXIT,
            "reasons": _array({"$ref": "#/$defs/reason"}),
            "reason_count": _COUNT,
            "findings": _array({"$ref": "#/$defs/finding"}),
            "finding_count": _COUNT,
            "warning_count": _COUNT,
            "files": _array(_TEXT),
            "milliseconds": _COUNT,
        }
    )


def _object(properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _array(items: Json) -> Json:
    return {"type": "array", "items": items}


if __name__ == "__main__":
    Path("schemas/fleet.schema.json").write_text(schema_text(), encoding="utf-8")
