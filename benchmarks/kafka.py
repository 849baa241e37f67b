"""Plans and applies against a real Apache Kafka, beside the cheapest way to do the same work.

The broker is a sandbox of one node, started and removed by this script. For each size, in turn on
fresh brokers: a bare batched create (floor) and an apply; then, round by round on one cluster, a
bare parse and read (floor), a plan with nothing to change, and one with one topic in a hundred
changed. All figures are medians.

    uv run python benchmarks/kafka.py                      # 1, 100, 1,000, 10,000 x 1 and 5,000 x 3
    uv run python benchmarks/kafka.py --sizes 1000x3
"""

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from processes import Run, run

from kgitops.sandbox.sandbox import start

# Brokers make a folder a partition: on a disk that takes longer, and as long as it likes.
MEMORY = Path("/dev/shm")  # noqa: S108

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {{name: bench, uid: 00000000-0000-4000-8000-000000000001}}
spec:
  manifests: [manifests]
  clusters: {{real: {{url: "kafka://{servers}"}}}}
"""

TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {{name: {name}}}
spec:
  partitions: {partitions}
  replicationFactor: 1
  configs: {{retention.ms: {retention}, cleanup.policy: delete, min.insync.replicas: 1}}
"""

ACL = """\
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: {name}-reader}}
spec:
  principal: User:{name}
  permission: Allow
  operations: [Read]
  resource: {{type: topic, name: {name}}}
"""

# The floors use no part of kgitops: one socket, kio's compiled decoder, librdkafka's batches.
# They run with -P: this file is no package of that name.
PLAN_FLOOR = Path(__file__).with_name("floor_plan.py")
APPLY_FLOOR = Path(__file__).with_name("floor_apply.py")
COUNT = Path(__file__).with_name("count_requests.py")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = ["1x1", "100x1", "1000x1", "10000x1", "5000x3"]
    options.add_argument("--sizes", nargs="+", default=sizes, metavar="TOPICSxPARTITIONS")
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    rows = []
    for size in given.sizes:
        topics, partitions = (int(part) for part in size.split("x"))
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            rows.append(measure(Path(folder), topics, partitions, given.rounds))
    for table in zip(*rows, strict=True):
        print(f"\n{table[0][0]}\n{table[0][1]}")
        print("\n".join(row[2] for row in table))


def measure(home: Path, topics: int, partitions: int, rounds: int) -> list[tuple[str, str, str]]:
    """The table rows of one size, each with its head; every apply has a broker of its own."""
    project = home / "project"
    applies = []
    for number in range(rounds):
        with sandbox(home / f"floor-{number}") as servers:
            floor = run(["-P", str(APPLY_FLOOR), servers, str(topics), str(partitions)])
        with sandbox(home / f"kafka-{number}") as servers:
            write(project, servers, topics, partitions)
            done = run(["-m", "kgitops", "apply", str(project), "--auto-approve", "--format=json"])
            again = run(["-m", "kgitops", "plan", str(project), "--detailed-exitcode"])
            assert "No changes" in "".join(line for _, line in again.lines)
            applies.append((floor, done))
            if number < rounds - 1:
                continue
            plans = [plan_row(project, servers, topics, partitions) for _ in range(rounds)]
            write(project, servers, topics, partitions)
            sent = json.loads(run(["-P", str(COUNT), str(project)]).lines[-1][1])
    return [
        plan_text(topics, partitions, plans, sent),
        apply_text(topics, partitions, applies),
    ]


class sandbox:  # noqa: N801 - reads as a statement: with sandbox(home) as servers
    """One real broker within a block."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def __enter__(self) -> str:
        self._sandbox = start(self._home)
        return self._sandbox.servers

    def __exit__(self, *_: object) -> None:
        self._sandbox.stop()
        shutil.rmtree(self._home, ignore_errors=True)


def plan_row(project: Path, servers: str, topics: int, partitions: int) -> tuple[Run, Run, Run]:
    """Floor, no-op and 1 % drift, one after the other."""
    write(project, servers, topics, partitions)
    floor = run(["-P", str(PLAN_FLOOR), servers, str(project / "manifests")])
    no_op = run(["-m", "kgitops", "plan", str(project)])
    write(project, servers, topics, partitions, changed=max(1, topics // 100))
    drift = run(["-m", "kgitops", "plan", str(project)])
    return floor, no_op, drift


def plan_text(
    topics: int, partitions: int, plans: list[tuple[Run, Run, Run]], sent: dict[str, int]
) -> tuple[str, str, str]:
    floors, no_ops, drifts = zip(*plans, strict=True)
    floor, no_op, drift = (
        statistics.median(found.wall for found in runs) for runs in (floors, no_ops, drifts)
    )
    allowed = -(-topics // 100) + 12 + 4
    peak = max(found.megabytes for found in (*no_ops, *drifts))
    cpu = statistics.median(found.cpu for found in no_ops)
    return (
        "| topics | floor s | no-op plan s | ratio | CPU s | MB | 1 % drift s | x no-op "
        "| requests | allowed |",
        "| ---: |" + " ---: |" * 9,
        f"| {topics:,} x {partitions} | {floor:.2f} | {no_op:.2f} | {no_op / floor:.2f} "
        f"| {cpu:.2f} | {peak:.0f} | {drift:.2f} | {drift / no_op:.2f} "
        f"| {sum(sent.values())} | {allowed} |",
    )


def apply_text(
    topics: int, partitions: int, applies: list[tuple[Run, Run]]
) -> tuple[str, str, str]:
    figures = [(*bare_seconds(floor), *own_seconds(done)) for floor, done in applies]
    bare, visible, answered, verified = map(statistics.median, zip(*figures, strict=True))
    wall = statistics.median(done.wall for _, done in applies)
    peak = max(done.megabytes for _, done in applies)
    return (
        "| topics | bare create s | acknowledged s | ratio | bare until visible s | verified s "
        "| ratio | whole process s | MB |",
        "| ---: |" + " ---: |" * 8,
        f"| {topics:,} x {partitions} | {bare:.2f} | {answered:.2f} | {answered / bare:.2f} "
        f"| {visible:.2f} | {verified:.2f} | {verified / visible:.2f} | {wall:.2f} | {peak:.0f} |",
    )


def bare_seconds(floor: Run) -> tuple[float, float]:
    """Until all was acknowledged, and until the broker showed it."""
    acknowledged, visible = floor.lines[-1][1].split()
    return float(acknowledged), float(visible)


def own_seconds(done: Run) -> tuple[float, float]:
    """The same of an apply, from when its first request goes out: the plan comes before it."""
    told = [(second, json.loads(line)) for second, line in done.lines]
    first = next(second for second, event in told if event["type"] == "step_started")
    answered = next(
        second
        for second, event in told
        if event["type"] == "step_done" or event.get("reason") == "visible"
    )
    finished = next(second for second, event in told if event["type"] == "apply_finished")
    return answered - first, finished - first


def write(project: Path, servers: str, topics: int, partitions: int, *, changed: int = 0) -> None:
    manifests = project / "manifests"
    manifests.mkdir(parents=True, exist_ok=True)
    (project / "kgitops.yaml").write_text(PROJECT.format(servers=servers))
    (manifests / "all.yaml").write_text("---\n".join(documents(topics, partitions, changed)))


def documents(topics: int, partitions: int, changed: int) -> Iterator[str]:
    for number in range(topics):
        retention = 604_800_000 + (number < changed)
        name = f"topic-{number:05d}"
        yield TOPIC.format(name=name, partitions=partitions, retention=retention)
        if number % 10 == 0:
            yield ACL.format(name=name)


if __name__ == "__main__":
    main()
