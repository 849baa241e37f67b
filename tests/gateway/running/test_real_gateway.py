"""``kgitops gateway`` before three real brokers: names that change, and faults of every part."""

import http.client
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from uuid import uuid4

import psutil
import pytest
from gateway.running.gateway_runs import USERS, GatewayRun, rights, topic, virtual_cluster
from kafka_clusters import StartKafka
from patience import eventually
from ports import first_port

from kgitops.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("real-gateway")]
SALES = "emea.sales"
AUDIT = "emea.audit"
ALICE = "User:alice"


def declared(*, alice_in: str = SALES) -> list[dict[str, object]]:
    """Two virtual clusters with topics of their own; alice is a member of one of them."""
    return [
        virtual_cluster(SALES, *([ALICE] if alice_in == SALES else [])),
        virtual_cluster(AUDIT, *([ALICE] if alice_in == AUDIT else [])),
        topic("Orders", SALES, replicas=3),
        topic("Reports", AUDIT),
        *rights("alice", alice_in, ALICE),
    ]


@pytest.fixture(scope="module")
def three(own_kafka: StartKafka) -> Sandbox:
    return own_kafka(
        brokers=3,
        sasl=True,
        users=USERS,
        properties={
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.replication.factor": "3",
            "min.insync.replicas": "2",
            "super.users": "User:admin;User:ANONYMOUS",
        },
    )


@pytest.fixture
def run(
    three: Sandbox, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[GatewayRun]:
    """A gateway's project, applied; the gateway itself is to be started."""
    for broker_id in set(three.broker_ids) - set(three.running):
        three.start_broker(broker_id)
    made = GatewayRun(three, tmp_path_factory.mktemp("gateway"))
    made.apply(*declared())
    yield made
    if made.process is not None:
        made.kill()


def topics_of(run: GatewayRun, user: str = "alice") -> set[str]:
    from confluent_kafka.admin import AdminClient

    return set(AdminClient(run.client(user)).list_topics(timeout=30).topics)


class Producing:
    """Produces numbered messages until it is told to stop; each has to be acknowledged."""

    def __init__(self, run: GatewayRun) -> None:
        from confluent_kafka import Producer

        self._producer = Producer(
            run.client(
                **{"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 120_000}
            )
        )
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.name = uuid4().hex
        self.sent = 0
        self.acknowledged: set[int] = set()
        self.errors: list[str] = []
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            number = self.sent
            self.sent += 1

            def told(error: object, _: object, number: int = number) -> None:
                if error is None:
                    self.acknowledged.add(number)
                else:
                    self.errors.append(str(error))

            value = f"{self.name} {number}"
            self._producer.produce("Orders", value.encode(), on_delivery=told)
            self._producer.poll(0)
            time.sleep(0.002)

    def goes_on(self, more: int) -> None:
        """Wait until more than so many others are acknowledged."""
        before = len(self.acknowledged)
        eventually(
            lambda: len(self.acknowledged) - before,
            lambda count: count > more,
            what=f"{more} more are acknowledged",
        )

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(120) == 0
        assert self.errors == []
        assert self.acknowledged == set(range(self.sent))


def consumed(run: GatewayRun, group: str, producing: Producing) -> list[int]:
    """The numbers in the topic that were produced, not those of other tests."""
    from confluent_kafka import Consumer

    consumer = Consumer(run.client(**{"group.id": group, "auto.offset.reset": "earliest"}))
    consumer.subscribe(["Orders"])
    found: list[int] = []

    def read() -> int:
        for message in consumer.consume(1000, 1):  # the topic may hold many of other tests
            if message.error() is None:
                name, _, number = (message.value() or b"").decode().partition(" ")
                if name == producing.name:
                    found.append(int(number))
        return len(set(found))

    with closing(consumer):
        count = producing.sent
        eventually(read, lambda numbers: numbers >= count, what=f"{count} numbers are read")
    return found


def test_a_member_sees_local_names_and_others_see_the_clusters(run: GatewayRun) -> None:
    run.start()
    assert "Orders" in topics_of(run)
    physical = topics_of(run, "admin")
    assert "__kgitops" in physical
    assert sum(name.endswith(".Orders") for name in physical) >= 1
    assert run.end() == 0
    assert run.refusals == []


def test_clients_go_on_when_the_gateway_is_killed_and_comes_back(run: GatewayRun) -> None:
    run.start()
    producing = Producing(run)
    producing.goes_on(100)
    run.kill()
    time.sleep(1)
    run.start()
    producing.goes_on(100)
    producing.stop()
    found = consumed(run, "killed", producing)
    assert sorted(found) == list(range(producing.sent))


def test_clients_go_on_when_it_drains_and_another_one_takes_its_place(run: GatewayRun) -> None:
    run.start()
    producing = Producing(run)
    producing.goes_on(100)
    assert run.end() == 0
    run.start()
    producing.goes_on(100)
    producing.stop()
    assert "cut off" not in run.log.read_text()


def test_clients_go_on_when_a_broker_dies(run: GatewayRun, three: Sandbox) -> None:
    run.start()
    producing = Producing(run)
    producing.goes_on(100)
    victim = three.broker_ids[-1]
    three.kill(victim)
    producing.goes_on(300)
    three.start_broker(victim)
    producing.stop()


def test_names_and_members_change_while_clients_write(run: GatewayRun) -> None:
    run.start()
    producing = Producing(run)
    producing.goes_on(100)
    run.apply(*declared(), topic("Returns", SALES))
    eventually(
        partial(topics_of, run),
        lambda names: names == {"Orders", "Returns"},
        what="the new name is there",
    )
    producing.stop()
    assert run.refusals == []
    run.apply(*declared(alice_in=AUDIT), topic("Returns", SALES))
    eventually(
        partial(topics_of, run),
        lambda names: names == {"Reports"},
        what="the member is in its new place",
    )
    run.apply(*declared(), topic("Returns", SALES))
    eventually(
        partial(topics_of, run),
        lambda names: names == {"Orders", "Returns"},
        what="the member is back",
    )


def test_the_last_names_go_on_while_the_registry_cant_be_read(
    three: Sandbox, run: GatewayRun
) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    metrics = first_port()

    def ready() -> int:
        connection = http.client.HTTPConnection("127.0.0.1", metrics, timeout=10)
        connection.request("GET", "/readyz")
        return connection.getresponse().status

    allow_keeper(run)
    run.user = "keeper"
    run.start("--max-table-age", "3s", "--metrics", f"127.0.0.1:{metrics}")
    old = AdminClient(run.client())
    assert "Orders" in old.list_topics(timeout=30).topics
    assert ready() == 200
    allow_keeper(run, allowed=False)
    eventually(ready, lambda code: code == 503, what="it is no longer ready")
    assert "the names of virtual clusters stay as they were last read" in run.log.read_text()
    assert "Orders" in old.list_topics(timeout=30).topics
    with pytest.raises(KafkaException):
        AdminClient(run.client()).list_topics(timeout=5)
    assert run.refusals[-1]["reason"] == "stale"
    allow_keeper(run)
    eventually(ready, lambda code: code == 200, what="it is ready again")
    assert "Orders" in topics_of(run)


def test_workers_share_a_port_and_one_that_dies_is_replaced(run: GatewayRun) -> None:
    metrics = first_port()
    run.start("--workers", "2", "--metrics", f"127.0.0.1:{metrics}")
    assert run.process
    parent = psutil.Process(run.process.pid)

    def metric(name: str) -> float:
        connection = http.client.HTTPConnection("127.0.0.1", metrics, timeout=10)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))

    for _ in range(5):
        assert "Orders" in topics_of(run)
    eventually(
        partial(metric, "kgitops_gateway_connections_total"),
        lambda total: total >= 5,
        what="connections are counted",
    )
    came = metric("kgitops_gateway_connections_total")
    producing = Producing(run)
    producing.goes_on(100)
    first, second = parent.children()
    os.kill(first.pid, signal.SIGKILL)
    eventually(
        partial(metric, "kgitops_gateway_worker_restarts_total"),
        lambda total: total == 1,
        what="the worker is replaced",
    )
    eventually(
        partial(metric, "kgitops_gateway_workers"),
        lambda count: count == 2,
        what="the worker is back",
    )
    assert second.is_running()
    assert metric("kgitops_gateway_connections_total") >= came
    producing.stop()
    workers = parent.children()
    run.kill()
    eventually(
        lambda: [worker for worker in workers if worker.is_running()],
        lambda left: not left,
        what="workers end with their parent",
    )


def allow_keeper(run: GatewayRun, *, allowed: bool = True) -> None:
    """Let the user keeper read the registry, and nothing else; or not even that."""
    from confluent_kafka.admin import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        AdminClient,
        ResourcePatternType,
        ResourceType,
    )

    admin = AdminClient({**run.client("admin"), "bootstrap.servers": run.servers})
    resource = (ResourceType.TOPIC, "__kgitops", ResourcePatternType.LITERAL, "User:keeper", "*")
    if allowed:
        bindings = [
            AclBinding(*resource, operation, AclPermissionType.ALLOW)
            for operation in (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)
        ]
        done = [*admin.create_acls(bindings).values()]
    else:
        every = AclBindingFilter(*resource, AclOperation.ANY, AclPermissionType.ANY)
        done = [*admin.delete_acls([every]).values()]
    for future in done:
        future.result(30)
