"""DuckDB does a fleet's diff on the same Parquet: the yardstick of ``fleet.py``.

All three write what differs to Parquet, with its text before and after, and print their seconds
without the start of the process, and what they counted.

``full``: one outer join of all columns. ``clusters``: the same, a cluster at a time, so that no
join is larger than memory. ``prefilter``: an outer join of fingerprints, then only what differs.
"""

import json
import sys
import time
from pathlib import Path

import duckdb

FULL = """
    SELECT coalesce(d.cluster, s.cluster) AS cluster, coalesce(d.address, s.address) AS address,
           CASE WHEN s.address IS NULL THEN 'create'
                WHEN d.address IS NULL THEN 'delete' ELSE 'update' END AS action,
           s.found AS before, s.last_applied, d.declared AS after, d.file, d.line
    FROM (SELECT * FROM {desired} WHERE kind <> 'project') d
    FULL OUTER JOIN (SELECT * FROM {state} WHERE kind <> 'cluster') s
      ON d.cluster = s.cluster AND d.address = s.address
    WHERE d.declared IS DISTINCT FROM s.last_applied OR s.fingerprint IS NULL
"""

PREFILTER = """
    WITH differs AS (
      SELECT coalesce(d.cluster, s.cluster) AS cluster, coalesce(d.address, s.address) AS address,
             CASE WHEN s.address IS NULL THEN 'create'
                  WHEN d.address IS NULL THEN 'delete' ELSE 'update' END AS action
      FROM (SELECT cluster, address, fingerprint FROM {desired} WHERE kind <> 'project') d
      FULL OUTER JOIN (SELECT cluster, address, fingerprint FROM {state} WHERE kind <> 'cluster') s
        ON d.cluster = s.cluster AND d.address = s.address
      WHERE d.fingerprint IS DISTINCT FROM s.fingerprint OR s.fingerprint IS NULL
    )
    SELECT x.cluster, x.address, x.action,
           s.found AS before, s.last_applied, d.declared AS after, d.file, d.line
    FROM differs x
    LEFT JOIN {state} s ON x.cluster = s.cluster AND x.address = s.address
    LEFT JOIN {desired} d ON x.cluster = d.cluster AND x.address = d.address
"""


def main() -> None:
    how, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True)
    database = duckdb.connect(config={"threads": 2, "temp_directory": str(out / "spill")})
    started = time.perf_counter()
    query = PREFILTER if how == "prefilter" else FULL
    parts = sorted(path.name for path in (folder / "state").iterdir()) if how == "clusters" else []
    for part in parts or ["*"]:
        sides = {
            side: f"read_parquet('{folder / side / part}/*.parquet', hive_partitioning = true)"
            for side in ("state", "desired")
        }
        file = out / f"changes-{part.replace('*', 'all')}.parquet"
        database.execute(f"COPY ({query.format(**sides)}) TO '{file}' (COMPRESSION zstd)")
    seconds = time.perf_counter() - started
    counted = database.execute(
        f"SELECT action, count(*) FROM '{out}/changes-*.parquet' GROUP BY action"  # noqa: S608
    ).fetchall()
    print(json.dumps({"seconds": seconds, "actions": dict(counted)}))


if __name__ == "__main__":
    main()
