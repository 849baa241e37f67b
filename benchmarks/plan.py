"""How long a no-op plan takes, beside the floor of parsing the same YAML with libyaml alone.

Each figure is a whole process: wall seconds and peak memory, the median of the rounds, floor and
plan in turn in the same run. The split comes from one more process that times the stages.

    uv run python benchmarks/plan.py                       # 100, 1,000, 10,000 topics
    uv run python benchmarks/plan.py --sizes 100000 --layouts one-file
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: bench, uid: 00000000-0000-4000-8000-000000000001}
spec:
  manifests: [manifests]
  clusters: {local: {url: "embedded:.kgitops/local.db", brokers: 3}}
"""

TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata:
  name: team-{team}.topic-{number}
  labels: {{team: team-{team}}}
spec:
  partitions: 3
  replicationFactor: 3
  configs:
    retention.ms: 604800000
    cleanup.policy: delete
    min.insync.replicas: 2
---
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: reader-{number}}}
spec:
  principal: User:reader-{number}
  permission: Allow
  operations: [Read]
  resource: {{type: topic, name: team-{team}.topic-{number}, patternType: literal}}
"""

FLOOR = """\
import sys, yaml
from pathlib import Path
for path in sorted(Path(sys.argv[1]).rglob("*.yaml")):
    with path.open("rb") as file:
        for document in yaml.load_all(file, yaml.CSafeLoader):
            pass
"""

SPLIT = """\
import json, sys, time
from pathlib import Path
marks = []
def stage(name): marks.append((name, time.perf_counter()))
stage("importing")
from kgitops.report.text.plan import render_text
from kgitops.workflow.loading import loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.project.selection import Selection, open_workspace
stage("opening the project")
workspace = open_workspace(Selection(paths=(Path(sys.argv[1]),), environ={}))
with loaded(workspace, stage) as declared:
    stage("connecting")
    with workspace.connected() as cluster:
        sealed = plan_against(cluster, declared, workspace, stage)
stage("rendering")
render_text(sealed.plan, sealed=sealed)
stage("end")
print(json.dumps({name: after - began
                  for (name, began), (_, after) in zip(marks, marks[1:])}))
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    options.add_argument("--layouts", nargs="+", default=["one-file", "file-per-topic"])
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    print("| topics | layout | floor s | plan s | ratio | floor MB | plan MB | split |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for size in given.sizes:
        for layout in given.layouts:
            with tempfile.TemporaryDirectory() as folder:
                print(row(Path(folder), size, layout, given.rounds), flush=True)


def row(folder: Path, size: int, layout: str, rounds: int) -> str:
    write_project(folder, size, layout)
    run(["-m", "kgitops", "apply", str(folder), "--auto-approve"])
    floors, plans = [], []
    for _ in range(rounds):
        floors.append(run(["-c", FLOOR, str(folder / "manifests")]))
        plans.append(run(["-m", "kgitops", "plan", str(folder), "--detailed-exitcode"]))
    split = json.loads(
        subprocess.run(
            [sys.executable, "-c", SPLIT, str(folder)], capture_output=True, check=True, text=True
        ).stdout
    )
    floor, plan = (statistics.median(wall for wall, _ in runs) for runs in (floors, plans))
    floor_mb, plan_mb = (max(peak for _, peak in runs) for runs in (floors, plans))
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in split.items())
    return (
        f"| {size:,} | {layout} | {floor:.2f} | {plan:.2f} | {plan / floor:.2f} "
        f"| {floor_mb:.0f} | {plan_mb:.0f} | {stages} |"
    )


def write_project(folder: Path, size: int, layout: str) -> None:
    (folder / "kgitops.yaml").write_text(PROJECT)
    manifests = folder / "manifests"
    manifests.mkdir()
    if layout == "one-file":
        (manifests / "all.yaml").write_text("---\n".join(documents(size)))
        return
    for number, text in enumerate(documents(size)):
        (manifests / f"topic-{number}.yaml").write_text(text)


def documents(size: int) -> Iterator[str]:
    for number in range(size):
        yield TOPIC.format(team=number % 40, number=number)


def run(words: list[str]) -> tuple[float, float]:
    """Wall seconds and peak memory in MB of one whole process, which must succeed."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words[:4])} exited {process.returncode}")
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return wall, usage.ru_maxrss / scale


if __name__ == "__main__":
    main()
