"""One process plans a whole fleet, a cluster at a time: what ``fleet.py`` compares Spark with.

``whole``: every row is hydrated and given to the planner, as ``kgitops plan`` does. ``units``: what
a task of Spark does, without Spark. ``session``: no plan at all, only Spark and its workers started
and stopped.
Prints its seconds without the start of the process, and what it counted.
"""

import json
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from kgitops.cluster.snapshot import SnapshotCluster
from kgitops.fleet.diff.inputs import side_from_rows
from kgitops.fleet.planning import plan_task, plan_unit
from kgitops.fleet.spark.session import session
from kgitops.fleet.tables.desired_rows import open_desired
from kgitops.fleet.tables.hydrating import read_state
from kgitops.fleet.units.discovery import find_units
from kgitops.plan.planner import make_plan


def whole(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for part in sorted((folder / "state").iterdir()):
        cluster = part.name.removeprefix("cluster=")
        state = read_state(sorted(part.iterdir()), cluster)
        files = sorted((folder / "desired" / part.name).iterdir())
        rows = open_desired(files, "bench", cluster)
        plan = make_plan(
            side_from_rows(rows).whole(),
            state,
            target_name=cluster,
            capabilities=SnapshotCluster(state).capabilities,
        )
        counts.update(str(action) for change in plan.changes for action in change.actions)
    return counts


def units(folder: Path, out: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    out.mkdir(parents=True)
    found = find_units([folder / "desired"], [folder / "state"], [], {})
    for unit in found.units:
        counts.update(plan_unit(unit, out, created=datetime.now(UTC), environ={}).actions)
    return counts


def main() -> None:
    how, folder = sys.argv[1], Path(sys.argv[2])
    started = time.perf_counter()
    counts: Counter[str] = Counter()
    if how == "whole":
        counts = whole(folder)
    elif how == "units":
        counts = units(folder, Path(sys.argv[3]))
    else:
        with session("local[2]", None, {}, work=plan_task) as spark:
            spark.engine()
    print(json.dumps({"seconds": time.perf_counter() - started, "actions": dict(counts)}))


if __name__ == "__main__":
    main()
