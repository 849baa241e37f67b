"""The diff alone on Spark: what DuckDB does, by the product's own comparison and tasks.

It reads, compares and hydrates as a fleet's plan does, and writes what differs to Parquet with its
text before and after. It plans nothing: no requests, no risks, no policies. Prints its seconds
without the start of Spark, and what it counted.
"""

import gc
import json
import sys
import time
from collections import Counter
from pathlib import Path

import fleet_diff  # itself, as executors import it
import pyarrow as pa
import pyarrow.parquet as pq

from kgitops.fleet.diff.inputs import side_from_rows
from kgitops.fleet.diff.narrow import NarrowedSides, narrow_sides
from kgitops.fleet.spark.session import session
from kgitops.fleet.spark.tasks import run_tasks
from kgitops.fleet.tables.desired_rows import open_desired
from kgitops.fleet.tables.hydrating import open_state
from kgitops.model.json.canonical import canonical_text
from kgitops.model.json.declared import DesiredObject, last_applied
from kgitops.model.resources.addresses import topic_address
from kgitops.plan.normal_form import topic_view

CHANGED = pa.schema(
    [
        ("address", pa.string()),
        ("action", pa.string()),
        ("before", pa.string()),
        ("last_applied", pa.string()),
        ("after", pa.string()),
        ("file", pa.string()),
        ("line", pa.int32()),
    ]
)


def work(spec: str) -> str:
    """Compare one cluster's two files, and write what differs."""
    folder, cluster, out = json.loads(spec)
    gc.disable()
    files = {side: sorted(Path(folder, side, cluster).iterdir()) for side in ("state", "desired")}
    name = cluster.removeprefix("cluster=")
    side = side_from_rows(open_desired(files["desired"], "bench", name))
    rows = _rows(narrow_sides(side, open_state(files["state"], name)))
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), CHANGED, strict=True)
    ]
    table = pa.Table.from_arrays(columns, schema=CHANGED)
    pq.write_table(table, Path(out, f"changes-{name}.parquet"), compression="zstd")
    gc.enable()
    return json.dumps(Counter(row[1] for row in rows))


def _rows(found: NarrowedSides) -> list[tuple[object, ...]]:
    declared = {item.address: item for item in found.desired.objects}
    topics = {topic_address(topic.name): topic for topic in found.current.topics.values()}
    registry = found.current.registry
    owners = registry.owners if registry else {}
    rows: list[tuple[object, ...]] = []
    for address in sorted(declared.keys() | topics.keys()):
        item, topic, owner = declared.get(address), topics.get(address), owners.get(address)
        action = "create" if topic is None else "delete" if item is None else "update"
        before = None if topic is None else canonical_text(topic_view(topic))
        last = None if owner is None else canonical_text(owner.last_applied)
        rows.append((address, action, before, last, *_declared(item)))
    return rows


def _declared(item: DesiredObject | None) -> tuple[str | None, str | None, int | None]:
    if item is None:
        return None, None, None
    source = item.located.source
    return canonical_text(last_applied(item)), source.file, source.line


def main() -> None:
    folder, out = Path(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True)
    clusters = sorted(path.name for path in (folder / "state").iterdir())
    specs = [json.dumps([str(folder), cluster, str(out)]) for cluster in clusters]
    conf = {"spark.executorEnv.PYTHONPATH": str(Path(__file__).parent)}
    counts: Counter[str] = Counter()
    with session("local[2]", None, conf, work=fleet_diff.work) as spark:
        spark.engine()
        started = time.perf_counter()
        for answer in run_tasks(spark, specs, fleet_diff.work):
            counts.update(json.loads(answer))
        seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "actions": counts}))


if __name__ == "__main__":
    main()
