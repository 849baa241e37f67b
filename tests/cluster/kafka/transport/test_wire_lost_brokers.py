"""Three brokers, of which some die: reads go on, and a cluster without a controller says so."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from cluster.kafka.promised import patience
from kafka.protocol.admin import DescribeLogDirsRequest, DescribeQuorumRequest
from kafka.protocol.metadata import MetadataRequest
from patience import eventually

from kgitops.cluster.kafka.adapter import boot
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UnreachableError
from kgitops.sandbox.sandbox import Sandbox

BROKERS = {1, 2, 3}


@pytest.fixture(scope="module")
def three(own_kafka) -> Sandbox:
    return own_kafka(brokers=3)


@pytest.fixture(autouse=True)
def _all_run(three: Sandbox) -> None:
    for broker_id in BROKERS - set(three.running):
        three.start_broker(broker_id)


@pytest.fixture
def wire(three: Sandbox) -> Iterator[Wire]:
    with closing(Wire(three.servers.split(","))) as wire:
        wire.connect()
        yield wire


def metadata(name: str = "any") -> MetadataRequest:
    topic = MetadataRequest.MetadataRequestTopic(name=name)
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


def log_dirs() -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(topics=None)


def test_each_broker_answers_for_itself(wire: Wire):
    assert wire.broker_ids() == (1, 2, 3)
    assert all(wire.send(log_dirs(), to=broker).results for broker in BROKERS)


def test_reads_go_on_when_their_broker_is_killed_in_the_middle(three: Sandbox, wire: Wire):
    """Ten threads read without an end; the broker they all talk to dies under them."""
    answered: list[str] = []
    stop = threading.Event()

    def read(thread: int) -> bool:
        names = (f"{thread}-{number}" for number in range(1 << 30))
        asked: list[str] = []

        def until_stopped() -> Iterator[MetadataRequest]:
            for name in names:
                if stop.is_set():
                    return
                asked.append(name)
                yield metadata(name)

        def keep(answer) -> str:
            answered.append(answer.topics[0].name)
            return str(answer.topics[0].name)

        return wire.send_all(until_stopped(), keep) == asked

    talked_to = port_of_first_server(three)
    with ThreadPoolExecutor(10) as pool:
        runs = [pool.submit(read, thread) for thread in range(10)]
        await_more(answered, 100)
        three.kill(talked_to)
        await_more(answered, 500)
        stop.set()
        assert all(run.result(30) for run in runs)


def test_a_killed_broker_is_named_and_comes_back(three: Sandbox, wire: Wire):
    wire.send(log_dirs(), to=3)
    three.kill(3)
    with pytest.raises(UnreachableError) as error:
        wire.send(log_dirs(), to=3, timeout_ms=10_000)
    port, contact = three.layout.server(3, "PLAINTEXT"), three.layout.server(1, "PLAINTEXT")
    assert str(error.value) in (
        f"{contact} answers, but broker 3 advertises {port}, which can't be reached: connection "
        "refused; check that broker 3 runs, and that the address in its advertised.listeners can "
        "be reached from this machine",
        "broker 3 is not alive; the cluster has 1, 2; start it or leave it out",
    )
    three.start_broker(3)
    assert wire.send(log_dirs(), to=3).results


def test_reads_wait_for_a_new_controller(three: Sandbox, wire: Wire):
    """The controller dies; whoever connects a moment later waits for the next one."""
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    quorum = DescribeQuorumRequest(
        topics=[topic(topic_name="__cluster_metadata", partitions=[partition])]
    )
    leader = wire.send(quorum).topics[0].partitions[0].leader_id
    three.kill(leader)
    with closing(boot(three.servers, {})) as cluster:
        answer = cluster.wire.send(quorum).topics[0].partitions[0]
    assert answer.leader_id in BROKERS - {leader}


def test_a_cluster_without_a_controller(three: Sandbox):
    """One of three is left: it answers Metadata as ever, naming some broker as the controller.

    If it was the controller, it takes it some seconds to find out that nobody follows it.
    """
    for broker_id in (1, 2):
        three.kill(broker_id)
    left = three.layout.server(3, "PLAINTEXT")

    def refusal() -> str:
        try:
            with patience():
                boot(three.servers, {}).close()
        except UnreachableError as refused:
            return str(refused)
        return ""

    assert eventually(refusal, what="the broker left sees that it is no controller") == (
        f"{left} answers, but its cluster has no active controller; start enough of its "
        "controllers for a majority, and try again"
    )


def port_of_first_server(three: Sandbox) -> int:
    """The broker that a wire talks to first."""
    first = three.servers.split(",")[0]
    return next(id_ for id_ in BROKERS if three.layout.server(id_, "PLAINTEXT") == first)


def await_more(answered: list[str], more: int) -> None:
    """Wait until so many more are answered."""
    start = len(answered)
    eventually(
        lambda: len(answered) - start, lambda count: count > more, what=f"{more} more are answered"
    )
