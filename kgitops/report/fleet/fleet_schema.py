"""The JSON Schema of a fleet's summary, ``fleet.json``.

Objects may gain keys within a major version, so readers must ignore what they don't know.
"""

from pathlib import Path

from kgitops.fleet.summary_json import FleetDocument
from kgitops.model.json.schema import document_schema, schema_text
from kgitops.model.registry import Json


def fleet_schema() -> dict[str, Json]:
    """The schema of what ``fleet plan --out DIR`` writes as ``DIR/fleet.json``."""
    return document_schema(
        FleetDocument,
        title="kgitops fleet",
        description="What a run of kgitops fleet plan came to: a unit is one project on one "
        "cluster. The tables beside this file hold every change.",
    )


if __name__ == "__main__":
    text = schema_text(fleet_schema())
    Path("schemas/fleet.schema.json").write_text(text, encoding="utf-8")
