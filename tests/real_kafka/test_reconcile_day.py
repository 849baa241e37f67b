"""A day of a loop in minutes, on three real brokers: hours pass by a clock, turns are real.

Drift by kafka-configs is healed, a deletion waits and is applied by its digest, a fight is noticed,
one replica is suspended through the cluster by another, somebody else holds the lock, a broker is
lost. The events, the metrics and the registry tell exactly that.
"""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, acl, topic
from kafka_java_tools import CONFIGS, topics
from reconcile.looping import JumpingClock, Loops

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.lock import acquire
from kgitops.cluster.connect import connect
from kgitops.reconcile.http.page.content import render_status
from kgitops.reconcile.metrics.loop_metrics import LoopMetrics
from kgitops.reconcile.status import PendingPlan, TurnOutcome
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka

ZSTD = {"compression.type": "zstd"}
HEAL = {"times": 3, "withinMinutes": 60}
HERE = 'cluster="kafka",project="payments"'
ORDERS = topic("orders", replicationFactor=3, configs=ZSTD)
OLD = topic("old", replicationFactor=3, deletionPolicy="Delete")


class Day:
    """A project on a real cluster, and two replicas of the loop over it."""

    def __init__(self, project: "KafkaProject", kafka: Sandbox, plans: Path) -> None:
        self.project, self.kafka = project, kafka
        project.write_file(reconcile={"mode": "converge", "heal": HEAL})
        self.clock = JumpingClock()
        folders = {"payments": project.folder}
        self.one = Loops(folders, clock=self.clock, plans=plans)
        self.two = Loops(folders, clock=self.clock, plans=plans)

    def declare(self, *documents: Document) -> None:
        self.project.write(*documents)
        for loops in (self.one, self.two):
            loops.sources["payments"].name += "+"

    def compress(self, kind: str) -> None:
        """With Kafka's own tool, as somebody else would."""
        self.kafka.tool(
            CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", "orders",
            "--add-config", f"compression.type={kind}",
        )  # fmt: skip

    def compression(self) -> str:
        return topics(self.kafka)["orders"].configs["compression.type"]

    def turn(self, loops: Loops | None = None) -> TurnOutcome:
        """The next turn, an interval later."""
        loops = loops or self.one
        loops.go(301)
        return loops.turns[-1].outcome

    def end_of_registry(self) -> int:
        with closing(connect(f"kafka://{self.kafka.servers}", base=Path())) as cluster:
            entries = cluster.registry.read()
            assert entries
            return entries[-1].offset


@pytest.fixture
def day(project: "KafkaProject", kafka: Sandbox, tmp_path: Path) -> Day:
    return Day(project, kafka, tmp_path / "plans")


def test_a_day(day: Day, kafka: Sandbox, kgitops: Kgitops, monkeypatch) -> None:
    day.declare(ORDERS, OLD, acl())
    assert day.turn() is TurnOutcome.APPLIED
    assert set(topics(kafka)) == {"orders", "old"}
    before = day.end_of_registry()
    for _ in range(3):
        assert day.turn() is TurnOutcome.IN_SYNC
        assert day.turn(day.two) is TurnOutcome.IN_SYNC
    assert day.end_of_registry() == before, "idle turns write nothing"

    day.compress("gzip")
    assert day.turn() is TurnOutcome.APPLIED
    assert day.one.turns[-1].healed == ("topic/orders",)
    assert day.compression() == "zstd"

    a_deletion_waits_and_is_applied_by_its_digest(day, kgitops, monkeypatch)
    a_fight_is_noticed(day)
    one_suspends_and_the_other_sees_it(day, kgitops)
    somebody_else_holds_the_lock(day)
    a_broker_is_lost(day)

    assert day.one.kinds() == [
        "applied", "synced", "healed", "synced", "pending", "synced",
        "healed", "synced", "healed", "synced", "fight", "drifted", "pending", "synced",
        "suspended", "drifted", "healed", "resumed", "synced", "healed", "synced",
    ]  # fmt: skip
    counters_tell_the_whole_day(day.one)


def a_deletion_waits_and_is_applied_by_its_digest(day: Day, kgitops: Kgitops, monkeypatch) -> None:
    day.declare(ORDERS, acl())
    assert day.turn() is TurnOutcome.PENDING
    assert set(topics(day.kafka)) == {"orders", "old"}
    pending = day.one.unit().pending
    assert isinstance(pending, PendingPlan)
    assert (pending.actions, pending.levels) == ({"delete": 1}, {"disruptive": 1})
    assert day.turn(day.two) is TurnOutcome.PENDING
    told = day.two.unit().pending
    assert told is not None
    assert told.digest == pending.digest, "two replicas leave the same plan"
    metrics = shown_metrics(day.one)
    labels = 'action="delete",cluster="kafka",level="disruptive",project="payments"'
    assert metrics[f"kgitops_pending_changes{{{labels}}}"] == 1
    assert f"--expect-digest {pending.digest}" in section(day.one, "waiting")
    monkeypatch.chdir(day.project.folder)
    other = "sha256:" + "0" * 64
    assert kgitops("apply", pending.path, "--expect-digest", other).code == 9
    applied = kgitops("apply", pending.path, "--expect-digest", pending.digest)
    assert applied.code == 0, applied.said
    assert set(topics(day.kafka)) == {"orders"}
    assert day.turn() is TurnOutcome.IN_SYNC
    assert day.turn(day.two) is TurnOutcome.IN_SYNC


def a_fight_is_noticed(day: Day) -> None:
    """It was healed once already within the hour."""
    for _ in range(2):
        day.compress("gzip")
        assert day.turn() is TurnOutcome.APPLIED
    day.compress("gzip")
    assert day.turn() is TurnOutcome.PENDING
    assert day.turn() is TurnOutcome.PENDING
    assert day.one.turns[-1].fights == ("topic/orders",)
    assert day.compression() == "gzip"
    assert shown_metrics(day.one)[f"kgitops_fought_objects{{{HERE}}}"] == 1
    assert "topic/orders" in section(day.one, "fights")
    day.compress("zstd")
    assert day.turn() is TurnOutcome.IN_SYNC
    assert section(day.one, "fights") == "", "it is over"
    day.clock.pass_by(3600)


def one_suspends_and_the_other_sees_it(day: Day, kgitops: Kgitops) -> None:
    words = (day.project.folder, "-c", "kafka")
    assert kgitops("reconcile", "suspend", *words, "--reason", "moving racks").code == 0
    day.compress("gzip")
    for loops in (day.one, day.two):
        assert day.turn(loops) is TurnOutcome.SUSPENDED
        found = loops.unit().suspension
        assert found is not None
        assert found.reason == "moving racks"
        assert shown_metrics(loops)[f"kgitops_suspended{{{HERE}}}"] == 1
        assert "moving racks" in section(loops, "suspended")
    assert day.compression() == "gzip"
    assert kgitops("reconcile", "resume", *words).code == 0
    assert day.turn() is TurnOutcome.APPLIED
    assert day.compression() == "zstd"
    assert day.turn(day.two) is TurnOutcome.IN_SYNC


def somebody_else_holds_the_lock(day: Day) -> None:
    day.compress("gzip")
    with closing(connect(f"kafka://{day.kafka.servers}", base=Path())) as cluster:
        lock = acquire(
            ApplyContext(
                cluster=cluster,
                settings=ApplySettings(),
                on_event=lambda _: None,
                interrupted=lambda: None,
            ),
            holder="ci",
        )
        assert lock is not None
        try:
            assert day.turn() is TurnOutcome.BUSY
            assert "locked by ci" in day.one.turns[-1].reasons[0].sentence
        finally:
            lock.release()
    day.one.go(10)
    assert day.one.turns[-1].outcome is TurnOutcome.APPLIED, "it did not wait for the interval"
    assert day.compression() == "zstd"


def a_broker_is_lost(day: Day) -> None:
    """Two of three brokers carry on, and so does the loop."""
    day.kafka.kill(day.kafka.broker_ids[-1])
    try:
        assert day.turn() in (TurnOutcome.IN_SYNC, TurnOutcome.FAILED)
    finally:
        day.kafka.start_broker(day.kafka.broker_ids[-1])
    assert day.turn() is TurnOutcome.IN_SYNC


def counters_tell_the_whole_day(loops: Loops) -> None:
    """What was counted is what the turns and events told, one by one."""
    found = shown_metrics(loops)
    outcomes = Counter(str(turn.outcome) for turn in loops.turns)
    for outcome, count in outcomes.items():
        labels = f'cluster="kafka",outcome="{outcome}",project="payments"'
        assert found[f"kgitops_reconcile_total{{{labels}}}"] == count
    assert found[f"kgitops_healed_objects_total{{{HERE}}}"] == loops.kinds().count("healed") == 5
    assert found[f"kgitops_lock_wait_total{{{HERE}}}"] == outcomes["busy"] == 1
    created = 'action="create",cluster="kafka",project="payments"'
    assert found[f"kgitops_applied_changes_total{{{created}}}"] == 3
    assert found[f"kgitops_suspended{{{HERE}}}"] == found[f"kgitops_fought_objects{{{HERE}}}"] == 0
    assert not [name for name in found if name.startswith("kgitops_pending_changes")]
    assert {section(loops, name) for name in ("waiting", "suspended", "fights")} == {""}


def section(loops: Loops, name: str) -> str:
    """A section of the page for people; empty where it has none of that name."""
    clock = loops.clock
    page = render_status(loops.loop.status(), clock.now(), clock.monotonic()).html.decode()
    return page.partition(f'aria-labelledby="{name}"')[2].partition("</section>")[0]


def shown_metrics(loops: Loops) -> dict[str, float]:
    """The metrics of all turns so far as Prometheus reads them."""
    metrics = LoopMetrics()
    for turn in loops.turns:
        metrics.observe(turn)
    exposition = metrics.exposition(loops.loop.status(), loops.clock.monotonic())
    lines = exposition.body.decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, value in pairs}
