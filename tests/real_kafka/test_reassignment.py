"""Replicas move under a throttle, on real brokers with real data (issue 4, item 5)."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from cli.conftest import Kgitops
from cli.projects import UID, topic
from patience import eventually

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.run.resume import resume
from kgitops.cluster.port import Cluster
from kgitops.desired.state import Project
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.topics import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka

ONE = topic(assignments={0: [1], 1: [2]})
THREE = topic(assignments={0: [1, 2, 3], 1: [2, 3, 1]}, configs={"min.insync.replicas": 2})
CONFIGS = "kafka.admin.ConfigCommand"
SHORT = ApplySettings(timeout_ms=10_000, lease_ms=15_000)  # as moving_driver's
DRIVER = Path(__file__).with_name("moving_driver.py")
PATIENCE_S = 60


def prepare(
    project: "KafkaProject", kgitops: Kgitops, kafka: Sandbox, *, mb: int, rate: int
) -> None:
    """A topic on one replica with so much data, and a project that throttles to ``rate``."""
    file = project.folder / "kgitops.yaml"
    content = yaml.safe_load(file.read_text())
    content["spec"]["safety"] = {"replicationThrottle": rate}
    file.write_text(yaml.safe_dump(content))
    project.write(ONE)
    made = kgitops("apply", project.folder, "--auto-approve")
    assert made.code == 0, made.said
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.servers, "linger.ms": 20})
    record = os.urandom(100_000)
    for number in range(mb * 10):
        producer.produce("orders", record, partition=number % 2)
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    project.write(THREE)


def orders(cluster: Cluster) -> ClusterState:
    return cluster.read_state(frozenset({"orders"}))


def rates(cluster: Cluster) -> list[dict[str, str]]:
    return [dict(broker.throttles or {}) for broker in orders(cluster).brokers]


def await_moving(cluster: Cluster) -> None:
    """Wait until data moves."""
    eventually(
        lambda: orders(cluster).topics["orders"],
        lambda topic: topic.reassigning,
        what="replicas are copied",
    )


def test_killed_while_data_moves_a_resume_finishes_and_leaves_only_what_others_set(
    project: "KafkaProject", kgitops: Kgitops, kafka: Sandbox, kafka_cluster: Cluster
) -> None:
    """120 MB at 6 MB/s: each leader sends its 60 MB twice, so it takes twenty seconds."""
    prepare(project, kgitops, kafka, mb=120, rate=6_000_000)
    theirs = f"{FOLLOWER_RATE}=30000000"
    words = ("--alter", "--entity-type", "brokers", "--entity-name", "3", "--add-config", theirs)
    kafka.tool(CONFIGS, *words)
    eventually(lambda: rates(kafka_cluster)[2], what="broker 3 has a rate")
    saved = project.folder / "plan.json"
    planned = kgitops("plan", project.folder, "-o", saved)
    assert planned.code == 0, planned.said
    assert "broker/3 has follower.replication.throttled.rate=30000000 already" in planned.said

    process = subprocess.Popen([sys.executable, DRIVER, kafka.servers, saved])
    await_moving(kafka_cluster)
    process.kill()
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    killed = time.monotonic()
    during = orders(kafka_cluster).topics["orders"]
    assert during.reassigning, "nothing held the copying back"
    assert "min.insync.replicas" not in during.configs
    shown = kafka.tool(CONFIGS, "--describe", "--entity-type", "brokers", "--entity-name", "1")
    assert f"{LEADER_RATE}=6000000" in shown
    assert f"{FOLLOWER_RATE}=6000000" in shown
    marks = kafka.tool(CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", "orders")
    assert f"{LEADER_REPLICAS}=0:1,1:2 " in marks
    assert not re.search(r"min.insync.replicas=2.*DYNAMIC_TOPIC_CONFIG", marks)
    leased = SHORT.lease_ms / 1000 + 1
    time.sleep(max(0.0, killed + leased - time.monotonic()))
    context = ApplyContext(
        cluster=kafka_cluster, settings=SHORT, on_event=lambda _: None, interrupted=lambda: None
    )
    result = resume(context, project=Project(name="payments", uid=UID), holder="the next one")
    assert result is not None
    assert result.verdict.exit == 0, result.verdict
    after = orders(kafka_cluster).topics["orders"]
    assert after.assignment == ((1, 2, 3), (2, 3, 1))
    assert after.configs == {"min.insync.replicas": "2"}
    assert rates(kafka_cluster) == [{}, {}, {FOLLOWER_RATE: "30000000"}]
    described = kafka.tool("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", "orders")
    assert [sorted(isr.split(",")) for isr in re.findall(r"Isr: ([\d,]+)", described)] == [
        ["1", "2", "3"]
    ] * 2
    assert kgitops("plan", project.folder, "--detailed-exitcode").code == 0


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal of its own."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def test_an_interrupt_asks_whether_to_cancel_and_a_yes_puts_everything_back(
    project: "KafkaProject",
    kgitops: Kgitops,
    kafka: Sandbox,
    kafka_cluster: Cluster,
    terminal: tuple[int, int],
) -> None:
    prepare(project, kgitops, kafka, mb=40, rate=500_000)
    ours, theirs = terminal
    words = [sys.executable, "-m", "kgitops", "apply", project.folder, "--auto-approve"]
    process = subprocess.Popen(words, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs)
    said = ""

    def heard() -> str:
        nonlocal said
        said += os.read(ours, 65536).decode(errors="replace")
        return said

    copying = "copying replicas of orders: 2 partitions left"
    eventually(heard, lambda text: copying in text, what="it says what is copied")
    process.send_signal(signal.SIGINT)
    eventually(heard, lambda text: "Only 'yes' is taken: " in text, what="it asks")
    os.write(ours, b"yes\n")
    assert process.wait(PATIENCE_S) == 130
    state = orders(kafka_cluster)
    assert not state.topics["orders"].reassigning
    assert state.topics["orders"].assignment == ((1,), (2,))
    assert state.topics["orders"].configs == {}
    assert rates(kafka_cluster) == [{}, {}, {}]


def test_without_a_terminal_the_move_goes_on_and_a_new_plan_ends_it(
    project: "KafkaProject", kgitops: Kgitops, kafka: Sandbox, kafka_cluster: Cluster
) -> None:
    """Nobody can be asked: the throttle stays while data moves, and a plan then takes it off."""
    prepare(project, kgitops, kafka, mb=12, rate=1_000_000)
    words = [sys.executable, "-m", "kgitops", "apply", project.folder, "--auto-approve"]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    await_moving(kafka_cluster)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "its replicas are still being copied" in " ".join(out.split())
    assert rates(kafka_cluster)[0] == {LEADER_RATE: "1000000", FOLLOWER_RATE: "1000000"}
    assert orders(kafka_cluster).topics["orders"].reassigning
    went_on = kgitops("apply", project.folder, "--auto-approve")
    assert went_on.code == 0, went_on.said
    after = orders(kafka_cluster).topics["orders"]
    assert (after.assignment, after.reassigning) == (((1, 2, 3), (2, 3, 1)), False)
    assert after.configs == {"min.insync.replicas": "2"}
    assert rates(kafka_cluster) == [{}, {}, {}]
    assert "unfinished" in went_on.said
