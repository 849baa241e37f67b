"""Runs as ``kgitops fleet plan`` leaves them, as far as the nightly example reads them."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq

from kgitops.fleet.output.tables import PLANS
from kgitops.fleet.units.data_files import partition_folder

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"

Drift = Mapping[str, str | None]


@contextmanager
def example_modules(*names: str) -> Iterator[list[ModuleType]]:
    """The example's own modules, which import each other by short names; forgotten afterwards."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        yield [import_module(name) for name in names]
    finally:
        sys.path.remove(str(EXAMPLE))
        for name in names:
            sys.modules.pop(name, None)


def drifted(
    address: str = "topic/orders",
    path: str = "configs.retention.ms",
    *,
    found: str | None = "1",
    last_applied: str | None = "2",
    rule: str = "restored",
) -> Drift:
    """A row of a plan's drift."""
    return {
        "address": address,
        "path": path,
        "last_applied": last_applied,
        "found": found,
        "rule": rule,
    }


def write_run(run: Path, **units: Sequence[Drift] | str) -> Path:
    """A run: for each cluster its drift, or the sentence that says why there is no plan."""
    for cluster, given in units.items():
        if isinstance(given, str):
            reasons = [{"exit": 8, "sentence": given}]
            write_unit(run, cluster, status="failed", plan=None, reasons=reasons)
        else:
            write_unit(run, cluster, plan=json.dumps({"drift": list(given)}))
    return run


def write_unit(run: Path, cluster: str, **columns: object) -> None:
    """One row of the plans of a run."""
    row = {"project": "fleet", "status": "planned", "reasons": [], **columns}
    folder = run / "plans" / partition_folder("cluster", cluster)
    folder.mkdir(parents=True)
    whole = [{name: row.get(name) for name in PLANS.names}]
    pq.write_table(pa.Table.from_pylist(whole, PLANS), folder / "fleet-1.parquet")
