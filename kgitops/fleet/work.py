"""A unit's work as Spark's tasks do it: JSON text in, JSON text out."""

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from kgitops.fleet import summary_json
from kgitops.fleet.planning import plan_unit
from kgitops.fleet.units.here import work_in
from kgitops.fleet.units.unit import Unit
from kgitops.fleet.units.unit_json import read_unit, unit_to_text
from kgitops.model import clock
from kgitops.model.json.canonical import canonical_text


def specs_of(units: Sequence[Unit], out: Path, created: datetime) -> list[str]:
    """What each unit's task is told: the unit, where rows go, and where paths are meant from."""
    return [
        canonical_text(
            {
                "unit": unit_to_text(unit),
                "out": str(out.absolute()),
                "created": clock.to_text(created),
                "here": str(Path.cwd()),
            }
        )
        for unit in units
    ]


def work(spec: str) -> str:
    """Plan the unit, write its rows, and answer with its summary.

    Raises:
        KgitopsError: the folder where the command was typed is not there; rows can't be written.
    """
    given = json.loads(spec)
    work_in(given["here"])
    summary = plan_unit(
        read_unit(given["unit"]),
        Path(given["out"]),
        created=clock.from_text(given["created"]),
        environ=os.environ,
    )
    return summary_json.unit_to_text(summary)
