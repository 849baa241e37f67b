"""Who plans or compares a fleet, each as a process of its own."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from fleet_data import Fleet
from fleet_events import Moved, event_log, moved
from fleet_values import write_project
from msgspec import Struct, field
from process_trees import Tree, run_tree

from kgitops.fleet.summary_json import read_run

HERE = Path(__file__).parent


class Setting(Struct, frozen=True, kw_only=True):
    """The fleet, and where it is; ``limit_mb`` of a Python worker of Spark."""

    fleet: Fleet
    folder: Path
    limit_mb: int | None = None


class Result(Struct, frozen=True, kw_only=True):
    """Seconds of the process, and of the work alone as it tells them itself; peaks in MB."""

    wall: float
    seconds: float
    peaks: Mapping[str, float]
    actions: Mapping[str, int] = field(default_factory=dict)
    moved: Moved | None = None

    def __str__(self) -> str:
        peak = self.peaks.get("total", 0.0)
        return f"{self.wall:.2f} s, work {self.seconds:.2f} s, {peak:,.0f} MB"


class Contestant(Struct, frozen=True, kw_only=True):
    """One way to do it, for fleets of up to ``largest`` topics; ``counts``: it tells changes."""

    name: str
    what: str
    run: Callable[[Setting, Path], Result]
    largest: int = 10**9
    counts: bool = True
    clusters: int = 10**9

    def fits(self, fleet: Fleet) -> bool:
        return fleet.topics <= self.largest and len(fleet.clusters) <= self.clusters


def fleet_plan(setting: Setting, scratch: Path) -> Result:
    """The product, on two cores."""
    log, out = scratch / "events", scratch / "out"
    log.mkdir()
    conf = event_log(log)
    if setting.limit_mb is not None:
        conf["spark.executor.pyspark.memory"] = f"{setting.limit_mb}m"
    words = ["-m", "kgitops", "fleet", "plan", "--master", "local[2]", "--out", str(out)]
    words += ["--desired", str(setting.folder / "desired")]
    words += ["--state", str(setting.folder / "state")]
    for key, value in conf.items():
        words += ["--conf", f"{key}={value}"]
    tree = run_tree(words)
    run = read_run((out / "fleet.json").read_text(), "fleet.json")
    return Result(
        wall=tree.wall,
        seconds=run.seconds,
        peaks=tree.peaks,
        actions=run.total("actions"),
        moved=moved(log),
    )


def kgitops_plan(setting: Setting, scratch: Path) -> Result:
    """One cluster as most projects have it: YAML against a snapshot in JSON."""
    fleet = setting.fleet
    (cluster, size), *_ = fleet.clusters.items()
    project, snapshot = write_project(scratch, cluster, size, acls=fleet.acls)
    words = ["-m", "kgitops", "plan", str(project), "--snapshot", str(snapshot), "-c", "cluster"]
    plan = scratch / "plan.json"
    tree = run_tree([*words, "-o", str(plan)])
    actions: dict[str, int] = {}
    for change in json.loads(plan.read_text())["changes"]:
        for action in change["actions"]:
            actions[action] = actions.get(action, 0) + 1
    return Result(wall=tree.wall, seconds=tree.wall, peaks=tree.peaks, actions=actions)


def _script(name: str, how: str) -> Callable[[Setting, Path], Result]:
    """A contestant that tells its seconds and counts on stdout."""

    def run(setting: Setting, scratch: Path) -> Result:
        words = [str(HERE / name), how, str(setting.folder), str(scratch / "out")]
        return _told(run_tree(words))

    return run


def _told(tree: Tree) -> Result:
    told = json.loads(tree.stdout)
    return Result(
        wall=tree.wall, seconds=told["seconds"], peaks=tree.peaks, actions=told["actions"]
    )


FLEET = Contestant(name="fleet", what="kgitops fleet plan on local[2]", run=fleet_plan)
CONTESTANTS = (
    Contestant(
        name="duckdb",
        what="DuckDB, one outer join of all columns",
        run=_script("fleet_duckdb.py", "full"),
    ),
    Contestant(
        name="duckdb-clusters",
        what="the same, a cluster at a time",
        run=_script("fleet_duckdb.py", "clusters"),
    ),
    Contestant(
        name="duckdb-prefilter",
        what="DuckDB, an outer join of fingerprints, then what differs",
        run=_script("fleet_duckdb.py", "prefilter"),
    ),
    Contestant(
        name="session",
        what="Spark on local[2] and its workers started and stopped, nothing else",
        run=_script("fleet_alone.py", "session"),
        counts=False,
    ),
    Contestant(
        name="diff",
        what="the diff alone on local[2]: what DuckDB does, by the product's own comparison",
        run=_script("fleet_diff.py", "diff"),
    ),
    FLEET,
    Contestant(
        name="units",
        what="the same tasks in turn in one process, without Spark",
        run=_script("fleet_alone.py", "units"),
    ),
    Contestant(
        name="whole",
        what="one process that hydrates and plans everything, a cluster at a time",
        run=_script("fleet_alone.py", "whole"),
        largest=300_000,
    ),
    Contestant(
        name="plan",
        what="kgitops plan of one cluster: YAML against a snapshot in JSON",
        run=kgitops_plan,
        largest=100_000,
        clusters=1,
    ),
)
