"""The same random requests to a served cluster and to a real Kafka 4.3, answer by answer."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest
from msgspec import Struct, field
from serve.differential.comparing import Difference, differences, plain
from serve.differential.explained import EXPLAINED_ON_THE_WIRE
from serve.differential.programs import program
from serve.differential.steps import TOPICS, Step
from serve.raw_client import RawClient

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import AuthorizerKind, Compat, Options
from kgitops.cluster.port import Cluster
from kgitops.sandbox.sandbox import Sandbox
from kgitops.serve.background import serving
from kgitops.serve.nodes import Endpoint
from kgitops.wire import messages
from kgitops.wire.messages import Message

pytestmark = [pytest.mark.kafka("serve")]

SEED = 17
LENGTH = 250
PATIENCE_S = 0.5
"""So long a broker may take to show what the controller has decided."""
READING = ("Describe", "List", "Metadata")
WHO = "User:ANONYMOUS"
BROKEN = "the connection is closed"


class Side(Struct, kw_only=True):
    """One of the two clusters, with a connection to each broker that was asked."""

    endpoints: Sequence[Endpoint]
    brokers: dict[int, RawClient] = field(default_factory=dict)
    ids: dict[str, bytes] = field(default_factory=dict)
    names: dict[bytes, str] = field(default_factory=dict)

    def ask(self, step: Step) -> Message:
        """The answer, or that the broker hangs up."""
        try:
            return self.client(step.broker).ask(step.api, step.version, step.make(self.ids))
        except ConnectionResetError:
            self.brokers.pop(step.broker).close()
            return BROKEN

    def client(self, broker: int = 1) -> RawClient:
        """The connection to a broker, whose ids begin with 1."""
        if broker not in self.brokers:
            self.brokers[broker] = RawClient(self.endpoints[broker - 1])
        return self.brokers[broker]

    def learn_ids(self) -> None:
        """The topics that are there now; old ids keep the names that they had."""
        found = self.client().ask("Metadata", 12, messages.MetadataRequest(topics=None))
        self.ids = {topic.name: topic.topic_id for topic in found.topics}
        self.names |= {topic_id: name for name, topic_id in self.ids.items()}

    def moves(self) -> bool:
        asked = messages.ListPartitionReassignmentsRequest(topics=None)
        return bool(self.client().ask("ListPartitionReassignments", 0, asked).topics)


@pytest.fixture
def sides(kafka: Sandbox, kafka_cluster: Cluster) -> Iterator[tuple[Side, Side]]:
    """A real cluster with nothing on it, and a served one."""
    options = Options(
        compat=Compat.KRAFT,
        authorizer=AuthorizerKind.ACLS,
        super_users=frozenset({WHO}),
        virtual_clusters=False,
    )
    with ExitStack() as stack:
        embedded = boot(None, brokers=3, options=options)
        stack.callback(embedded.close)
        server = stack.enter_context(serving(embedded))
        addresses = [address.rpartition(":") for address in kafka.servers.split(",")]
        real = [Endpoint(host, int(port)) for host, _, port in addresses]
        both = Side(endpoints=real), Side(endpoints=server.endpoints)
        yield both
        for side in both:
            for client in side.brokers.values():
                client.close()


def test_answers_are_alike(sides: tuple[Side, Side]) -> None:
    """Every difference is explained, and every explanation needed."""
    found = [
        (step, difference) for step in program(SEED, LENGTH) for difference in asked(step, *sides)
    ]
    unexplained = [
        f"{step}\n   {difference}"
        for step, difference in found
        if not any(reason.explains(difference) for reason in EXPLAINED_ON_THE_WIRE)
    ]
    assert not unexplained, f"{len(unexplained)} differ:\n" + "\n".join(unexplained[:60])
    needless = [
        reason.shown
        for reason in EXPLAINED_ON_THE_WIRE
        if not any(reason.explains(difference) for _, difference in found)
    ]
    assert not needless


def asked(step: Step, real: Side, served: Side) -> Sequence[Difference]:
    """Ask both; a broker is asked again while it may not have heard of what was decided."""
    deadline = time.monotonic() + PATIENCE_S
    ours = served.ask(step)
    while True:
        theirs = real.ask(step)
        both = (plain(theirs, real.names), plain(ours, served.names))
        found = list(differences(step.api, *both))
        explained = all(any(r.explains(one) for r in EXPLAINED_ON_THE_WIRE) for one in found)
        if (
            BROKEN in both
            or explained
            or not step.api.startswith(READING)
            or time.monotonic() > deadline
        ):
            break
        time.sleep(0.05)
    if step.api in {"CreateTopics", "DeleteTopics"}:
        _settle(real, served)
    if step.api == "AlterPartitionReassignments":
        while real.moves():
            assert time.monotonic() < deadline + 30, "the replicas do not arrive"
            time.sleep(0.05)
    return found


def _settle(real: Side, served: Side) -> None:
    """Wait until both know the same topics."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        real.learn_ids()
        served.learn_ids()
        known = [{name for name in side.ids if name in TOPICS} for side in (real, served)]
        if known[0] == known[1] or time.monotonic() > deadline:
            return
        time.sleep(0.02)
