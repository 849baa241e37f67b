"""A loop over many embedded clusters: how long turns take, whether memory grows, what idle writes.

uv run python benchmarks/reconcile_loop.py [--clusters 50] [--topics 1000] [--rounds 20]

Every cluster is a file of its own with that many topics, all of one project. The first round
applies everything, the others find nothing to do; between two rounds an interval passes by a clock.
The memory is that of this process; the registries' ends say what was written.
"""

import argparse
import gc
import json
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

import psutil

from kgitops.cluster.connect import connect
from kgitops.model.clock import SystemClock
from kgitops.reconcile.looping.backoff import Pace
from kgitops.reconcile.looping.board import TargetKey
from kgitops.reconcile.looping.feed import RevisionFeed
from kgitops.reconcile.looping.loop import LoopSettings, LoopTarget, ReconcileLoop
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.sources.folder import FolderSource
from kgitops.workflow.project.selection import Selection

PROJECT = """
apiVersion: kgitops/v1
kind: Project
metadata: {name: many, uid: many-clusters}
spec:
  manifests: [manifests]
  reconcile: {mode: converge}
  clusters:
"""


class HurriedClock(SystemClock):
    """The machine's clock, on which the time between two rounds passes at once."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


def write_project(folder: Path, clusters: int, topics: int) -> list[str]:
    """A project of so many clusters and topics; the clusters' names."""
    names = [f"c{number:03}" for number in range(clusters)]
    lines = [f'    {name}: {{url: "embedded:{name}.db", brokers: 3}}' for name in names]
    (folder / "kgitops.yaml").write_text(PROJECT + "\n".join(lines) + "\n")
    (folder / "manifests").mkdir()
    documents = [
        json.dumps(
            {
                "apiVersion": "kgitops/v1",
                "kind": "Topic",
                "metadata": {"name": f"orders.{number:05}"},
                "spec": {"partitions": 3, "replicationFactor": 3, "configs": {"segment.ms": 1000}},
            }
        )
        for number in range(topics)
    ]
    (folder / "manifests" / "topics.yaml").write_text("---\n".join(f"{d}\n" for d in documents))
    return names


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--concurrency", type=int, default=2)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        measure(Path(place), words)


def measure(folder: Path, words: argparse.Namespace) -> None:
    names = write_project(folder, words.clusters, words.topics)
    clock = HurriedClock()
    feed = RevisionFeed(FolderSource(folder), clock, fresh_s=30, in_place=True)

    def target(name: str) -> LoopTarget:
        def selection(revision: Revision) -> Selection:
            return Selection(paths=(revision.folder,), cluster=name, environ={})

        return LoopTarget(key=TargetKey("many", name), feed=feed, selection=selection)

    loop = ReconcileLoop(
        [target(name) for name in names],
        LoopSettings(pace=Pace(interval_s=300, jitter=0), concurrency=words.concurrency),
        clock=clock,
    )
    process = psutil.Process()
    ends: list[int] = []
    for number in range(words.rounds):
        began = time.monotonic()
        take_round(loop)
        took = time.monotonic() - began
        turns = [unit.turns[0] for unit in loop.status().units]
        outcomes = sorted({str(turn.outcome) for turn in turns})
        middle = statistics.median(turn.seconds for turn in turns)
        gc.collect()
        memory = process.memory_info().rss / 2**20
        written = sum(end_of_registry(folder, name) for name in names)
        ends.append(written)
        print(
            f"round {number + 1:3}: {took:7.1f} s, a turn {middle:6.2f} s, {memory:7.1f} MiB, "
            f"{written:,} registry records written so far, {', '.join(outcomes)}",
            flush=True,
        )
        clock.ahead += 301
    print(f"registry records written by idle rounds: {ends[-1] - ends[0]}")


def take_round(loop: ReconcileLoop) -> None:
    """Until every target has had its next turn."""
    before = {unit.cluster: unit.turns[:1] for unit in loop.status().units}
    while True:
        loop.step()
        loop.join()
        units = loop.status().units
        if all(unit.turns and unit.turns[:1] != before.get(unit.cluster) for unit in units):
            return


def end_of_registry(folder: Path, name: str) -> int:
    with closing(connect(f"embedded:{name}.db", brokers=3, base=folder)) as cluster:
        entries = cluster.registry.read()
        return entries[-1].offset + 1 if entries else 0


if __name__ == "__main__":
    main()
