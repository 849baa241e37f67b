"""A loop in ``auto`` whose address leads to another real cluster: nothing is applied there.

The address is a port of this machine. It leads to the brokers of one cluster, then of another, as a
changed DNS record or port forward does.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops, here, kgitops
from cli.projects import Project, as_yaml, topic
from cluster.kafka.fakes import Proxy, proxy
from kafka_clusters import StartKafka
from kafka_java_tools import TOPICS, topics
from reconcile.looping import JumpingClock, Loops

from kgitops.cluster.connect import connect
from kgitops.reconcile.status import TurnOutcome
from kgitops.sandbox.sandbox import Sandbox

__all__ = ["here", "kgitops"]
pytestmark = pytest.mark.kafka
HOUR, WEEK = "3600000", "604800000"


@pytest.fixture(scope="module")
def first(own_kafka: StartKafka) -> Sandbox:
    return own_kafka()


@pytest.fixture(scope="module")
def second(own_kafka: StartKafka) -> Sandbox:
    """Another team's cluster, with a topic of the same name."""
    kafka = own_kafka()
    kafka.tool(
        *(TOPICS, "--create", "--topic", "orders", "--partitions", "3"),
        *("--config", f"retention.ms={WEEK}"),
    )
    return kafka


@pytest.fixture
def address(first: Sandbox) -> Iterator[Proxy]:
    with proxy(first.servers) as made:
        yield made


class Loop:
    """A project in ``auto`` whose cluster is at the address, and a loop over it."""

    def __init__(self, folder: Path, address: Proxy) -> None:
        self.folder, self.address = folder, address
        self.manifests = folder / "manifests"
        self.manifests.mkdir(parents=True)
        document = topic("orders", replicationFactor=1, configs={"retention.ms": HOUR})
        (self.manifests / "all.yaml").write_text(as_yaml([document]))
        self.write()
        self.loops = self.started()

    def write(self, **pinned: str) -> None:
        cluster = {"url": f"kafka://{self.address.server}", **pinned}
        Project(self.folder).write_file(clusters={"prod": cluster}, reconcile={"mode": "auto"})

    def started(self) -> Loops:
        """The loop in a new process, which has only what is below ``--plans``."""
        plans = self.folder.parent / "plans"
        return Loops({"payments": self.folder}, clock=JumpingClock(), plans=plans)

    def turn(self) -> TurnOutcome:
        self.loops.go(301)
        return self.loops.turns[-1].outcome


def has_registry(kafka: Sandbox) -> bool:
    with closing(connect(f"kafka://{kafka.servers}", base=Path())) as cluster:
        return cluster.registry.read() is not None


def cluster_id(kafka: Sandbox) -> str:
    with closing(connect(f"kafka://{kafka.servers}", base=Path())) as cluster:
        return cluster.cluster_id


def test_nothing_is_applied_to_another_cluster(
    first: Sandbox, second: Sandbox, address: Proxy, here: Path, kgitops: Kgitops
) -> None:
    loop = Loop(here / "payments", address)
    assert loop.turn() is TurnOutcome.APPLIED
    assert topics(first)["orders"].configs["retention.ms"] == HOUR
    ids = cluster_id(first), cluster_id(second)
    others = topics(second)

    address.to = second.servers
    assert loop.turn() is TurnOutcome.REFUSED
    assert loop.turn() is TurnOutcome.REFUSED
    loop.loops = restarted = loop.started()
    assert loop.turn() is TurnOutcome.REFUSED
    (event,) = restarted.events
    assert str(event.kind) == "failed"
    assert all(each in event.sentence for each in ids)
    assert topics(second) == others
    assert not has_registry(second)

    loop.write(clusterId=ids[0])
    for words in (("plan",), ("apply", "--auto-approve"), ("reconcile", "resume")):
        ran = kgitops(*words, loop.folder)
        assert ran.code == 5, ran
        assert all(each in ran.said for each in (*ids, address.server))
    assert topics(second) == others
    assert not has_registry(second)

    loop.write()
    ran = kgitops("reconcile", "resume", loop.folder)
    assert (ran.code, ids[1] in ran.out) == (0, True), ran
    assert loop.turn() is TurnOutcome.APPLIED
    assert topics(second)["orders"].configs["retention.ms"] == HOUR
    address.to = first.servers
    assert loop.turn() is TurnOutcome.REFUSED
