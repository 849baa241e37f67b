"""``kgitops apply`` in CI and a loop over the same real Kafka, each in processes of its own.

Both see each change of the manifests at once. Whoever comes first applies it, and the other waits
or plans again: the registry's log shows each change once.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli.processes import PausedApply
from cli.projects import UID, Document, acl, as_yaml, quota, topic
from patience import eventually

from kgitops.apply.journal.reading import latest_values, unfinished_runs
from kgitops.apply.lock_claims import LOCK_PREFIX
from kgitops.cluster.connect import connect
from kgitops.cluster.port import RegistryEntry
from kgitops.model.verdict import ExitCode
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka

ROUNDS = 3
KINDS = ("zstd", "gzip", "lz4", "snappy")
MEANWHILE = {ExitCode.LOCKED, ExitCode.STALE}
"""The exits of whoever came second."""


def manifests(number: int) -> list[Document]:
    """Those of a round: something to create, a safe update, and what the loop must not apply."""
    orders = topic(
        "orders", replicationFactor=3, configs={"compression.type": KINDS[number % len(KINDS)]}
    )
    news = [topic(f"round-{made}", replicationFactor=3) for made in range(number + 1)]
    return [orders, *news, acl(), quota(consumer_byte_rate=1024 * (number + 1))]


def write(folder: Path, documents: list[Document]) -> None:
    """All at once, as a mounted folder changes."""
    draft = folder / "draft"
    draft.write_text(as_yaml(documents))
    draft.replace(folder / "manifests" / "all.yaml")


class Loop:
    """A loop in a process of its own, and the lines that it has written."""

    def __init__(self, folder: Path, plans: Path, log: Path) -> None:
        self.log = log
        words = ["reconcile", folder, "-c", "kafka", "--interval", "1s", "--jitter", "50"]
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kgitops", *words, "--plans", plans, "--format", "json"],
                stdout=output,
            )

    def lines(self) -> list[dict[str, object]]:
        whole, _, _ = self.log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def turns(self) -> list[dict[str, object]]:
        return [line for line in self.lines() if line["type"] == "turn"]

    def wait_for(self, outcome: str) -> None:
        """Until a turn that begins from now on ends so."""
        before = len(self.turns()) + 1

        def later() -> list[object]:
            assert self.process.poll() is None
            return [turn["outcome"] for turn in self.turns()[before:]]

        eventually(later, lambda outcomes: outcome in outcomes, what=f"a turn ends {outcome}")


@contextmanager
def looping(folder: Path, plans: Path, log: Path) -> Iterator[Loop]:
    loop = Loop(folder, plans, log)
    try:
        yield loop
    finally:
        loop.process.send_signal(signal.SIGTERM)
        assert loop.process.wait(60) == 143


def ci(folder: Path) -> None:
    """What a pipeline does: plan, then apply exactly that plan, again while others are faster.

    They may change what it reads while it plans, too.
    """
    while True:
        for words in (("plan", "-o", "plan.json"), ("apply", "plan.json")):
            command = [sys.executable, "-m", "kgitops", *words]
            ran = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=120,
                env={**os.environ, "KGITOPS_CLUSTER": "kafka"},
            )  # fmt: skip
            if ran.returncode:
                assert ran.returncode in MEANWHILE, ran.stdout + ran.stderr
                break
        else:
            return


def entries(kafka: Sandbox) -> list[RegistryEntry]:
    with closing(connect(f"kafka://{kafka.servers}", base=Path())) as cluster:
        return list(cluster.registry.read() or ())


def test_each_change_is_applied_once_by_whoever_comes_first(
    project: "KafkaProject", kafka: Sandbox, tmp_path: Path
) -> None:
    project.write_file(reconcile={"mode": "converge"})
    checkout = tmp_path / "checkout"
    shutil.copytree(project.folder, checkout)
    write(project.folder, manifests(0))
    with looping(project.folder, tmp_path / "plans", tmp_path / "log") as loop:
        for number in range(ROUNDS):
            write(project.folder, manifests(number))
            write(checkout, manifests(number))
            ci(checkout)
            loop.wait_for("in-sync")
        lines = loop.lines()
    log = entries(kafka)
    each_change_is_there_once(log)
    latest = latest_values(log)
    assert not unfinished_runs(latest, [UID])
    assert not [key for key in latest if key.startswith(LOCK_PREFIX)]
    turns = [line for line in lines if line["type"] == "turn"]
    assert {turn["outcome"] for turn in turns} <= {
        "in-sync", "applied", "pending", "busy", "failed",
    }  # fmt: skip
    failures_are_lost_races(lines)
    kinds = {str(line["kind"]) for line in lines if line["type"] == "event"}
    assert not kinds & {"fight", "healed", "drifted", "suspended"}, "each change was declared"
    assert not list((tmp_path / "plans").rglob("*.json"))


def failures_are_lost_races(lines: list[dict[str, object]]) -> None:
    """The manifests or the cluster changed while a turn planned, which the next one makes up for.

    A machine that is busy may answer too late, too.
    """
    failures = [line for line in lines if line["type"] == "turn" and line["outcome"] == "failed"]
    why = [turn["reasons"] for turn in failures]
    assert {turn["exit"] for turn in failures} <= {ExitCode.STALE, ExitCode.UNREACHABLE}, why


def each_change_is_there_once(log: list[RegistryEntry]) -> None:
    """What was last applied is written with each change of an object, and never twice the same."""
    values = defaultdict(list)
    for entry in log:
        if entry.key.startswith("own/"):
            assert entry.value is not None, "nothing is removed"
            values[entry.key].append(json.dumps(entry.value["last_applied"], sort_keys=True))
    assert len(values) == ROUNDS + 3
    for key, applied in values.items():
        repeated = [one for one, next_ in itertools.pairwise(applied) if one == next_]
        assert not repeated, key
    (orders,) = [applied for key, applied in values.items() if key.endswith("topic/orders")]
    assert len(orders) == ROUNDS
    assert all(len(found) == 1 for key, found in values.items() if "round-" in key)


def test_a_lock_that_is_held_is_waited_for_until_all_is_as_declared(
    project: "KafkaProject", tmp_path: Path
) -> None:
    project.write_file(reconcile={"mode": "converge"})
    write(project.folder, manifests(0))
    checkout = tmp_path / "checkout"
    shutil.copytree(project.folder, checkout)
    with looping(project.folder, tmp_path / "plans", tmp_path / "log") as loop:
        loop.wait_for("pending")
        write(checkout, manifests(1))
        apply = PausedApply(tmp_path / "gate", "apply", checkout, "-c", "kafka", "--auto-approve")
        try:
            write(project.folder, manifests(1))
            loop.wait_for("busy")
            code, _, err = apply.open()
        finally:
            apply.stop()
        assert code == 0, err
        loop.wait_for("in-sync")
        lines = loop.lines()
    failures_are_lost_races(lines)
    kinds = [str(line["kind"]) for line in lines if line["type"] == "event"]
    of_races = ("failed", "recovered")
    assert [kind for kind in kinds if kind not in of_races] == ["applied", "pending", "synced"]
