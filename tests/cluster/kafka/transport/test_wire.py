"""Requests over real connections, and what becomes of them when a connection breaks."""

import gc
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from cluster.kafka.fakes import API_VERSIONS, CREATE_TOPICS, DESCRIBE_QUORUM, METADATA, proxy
from cluster.kafka.many_listeners import ManyListeners
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeQuorumRequest,
)
from kafka.protocol.metadata import MetadataRequest
from patience import eventually

from kgitops.cluster.kafka.configs.client_configs import wire_options
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UnreachableError

THREADS, EACH = 10, 30


@contextmanager
def connected(*servers: str, **options) -> Iterator[Wire]:
    with closing(Wire(servers, **options)) as wire:
        wire.connect()
        yield wire


@pytest.fixture
def broker(many: ManyListeners) -> str:
    return many.server("PLAINTEXT")


def create(*names: str, validate_only: bool = False, partitions: int = 1) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic
    topics = [
        topic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            assignments=[],
            configs=[],
        )
        for name in names
    ]
    return CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=validate_only)


def some_name() -> str:
    return f"topic-{uuid.uuid4()}"


def ask_for(*names: str) -> MetadataRequest:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def exists(wire: Wire, name: str) -> bool:
    return wire.send(ask_for(name)).topics[0].error_code == 0


def test_answers_come_in_the_order_of_their_requests(broker: str):
    names = [some_name() for _ in range(40)]
    with connected(broker) as wire:
        answers = wire.send_all(map(ask_for, names), lambda answer: answer.topics[0].name, window=7)
        assert answers == names
        assert wire.send_all([], lambda answer: answer) == []


def test_ten_threads_share_a_wire(broker: str):
    with connected(broker) as wire:

        def work(place: int) -> bool:
            names = [f"{place}-{count}" for count in range(EACH)]
            to = 1 if place % 2 else None
            got = wire.send_all(map(ask_for, names), lambda answer: answer.topics[0].name, to=to)
            return got == names

        with ThreadPoolExecutor(THREADS) as pool:
            assert all(pool.map(work, range(THREADS)))
        assert wire.sent["Metadata"] == 1 + THREADS * EACH


def test_what_is_kept_may_fail(broker: str):
    def fail(answer: object) -> None:
        raise LookupError

    with connected(broker) as wire:
        with pytest.raises(LookupError):
            wire.send_all([ask_for("a"), ask_for("b")], fail)
        assert wire.send(ask_for("c")).topics[0].name == "c"


def test_a_request_that_can_not_be_said_is_the_callers_mistake(broker: str):
    with connected(broker) as wire:
        with pytest.raises(AttributeError):
            wire.send(MetadataRequest(topics=[3]))
        assert wire.send(ask_for("c")).topics[0].name == "c"


def test_nothing_is_sent_that_was_not_asked_for(broker: str):
    with proxy(broker) as between, connected(between.server) as wire:
        wire.send(ask_for("a"))
        wire.send(DescribeConfigsRequest(resources=[]))
        assert between.seen == [API_VERSIONS, METADATA, DESCRIBE_QUORUM, METADATA, 32]
        assert wire.sent == {"Metadata": 2, "DescribeQuorum": 1, "DescribeConfigs": 1}


def test_a_connection_is_used_again(many: ManyListeners):
    with proxy(many.server("SASL")) as between:
        from cluster.kafka.many_listeners import login

        with connected(between.server, options=wire_options(login("SCRAM-SHA-512"))) as wire:
            for _ in range(5):
                wire.send(ask_for("a"))
        assert between.seen.count(API_VERSIONS) == 1


def test_what_brokers_support(broker: str):
    with connected(broker) as wire:
        assert wire.supports(MetadataRequest)
        assert wire.supports(MetadataRequest, 12)
        assert not wire.supports(MetadataRequest, 99)
        assert wire.supports(DescribeQuorumRequest, 1)


def test_a_broker_that_is_not_there(broker: str):
    with connected(broker) as wire, pytest.raises(UnreachableError) as error:
        wire.send(ask_for("a"), to=7)
    assert str(error.value) == (
        "broker 7 is not alive; the cluster has 1; start it or leave it out"
    )


def test_a_read_is_asked_again_elsewhere(broker: str):
    with proxy(broker, cut_after={32}) as between, connected(between.server) as wire:
        wire.send(DescribeConfigsRequest(resources=[]))
        assert between.seen.count(32) == 1
        assert wire.sent["DescribeConfigs"] == 2


def test_reads_on_their_way_are_asked_again_in_order(broker: str):
    names = [some_name() for _ in range(12)]
    with proxy(broker) as between, connected(between.server) as wire:
        between.cut_before, between.times = {METADATA}, 1
        answers = wire.send_all(map(ask_for, names), lambda answer: answer.topics[0].name, window=5)
    assert answers == names


def test_a_change_is_never_sent_twice(broker: str):
    done, lost = some_name(), some_name()
    with proxy(broker, cut_after={CREATE_TOPICS}) as between, connected(between.server) as wire:
        with pytest.raises(UnreachableError, match="did not answer CreateTopics") as error:
            wire.send(create(done))
        assert "what became of it must be looked up" in str(error.value)
        assert wire.sent["CreateTopics"] == 1
        # By another connection: the wire is of use still.
        eventually(lambda: exists(wire, done), what=f"the broker hears of {done}")
    with proxy(broker, cut_before={CREATE_TOPICS}) as between, connected(between.server) as wire:
        with pytest.raises(UnreachableError, match="did not answer CreateTopics"):
            wire.send(create(lost))
        assert (wire.sent["CreateTopics"], exists(wire, lost)) == (1, False)


def test_a_change_that_only_validates_may_be_sent_twice(broker: str):
    with proxy(broker, cut_after={CREATE_TOPICS}) as between, connected(between.server) as wire:
        answer = wire.send(create(some_name(), validate_only=True), may_repeat=True)
        assert (answer.topics[0].error_code, wire.sent["CreateTopics"]) == (0, 2)


def test_a_change_goes_elsewhere_while_no_byte_of_it_has_left(broker: str):
    name = some_name()
    with proxy(broker) as between:
        wire = Wire([between.server])
        wire.connect()
        between.cut_before = {METADATA}
        wire.send(ask_for("a"))  # the connection to the proxy is lost here
        assert wire.send(create(name)).topics[0].error_code == 0
        eventually(lambda: exists(wire, name), what=f"the broker hears of {name}")
        wire.close()


@pytest.mark.parametrize("again", [True, False])
def test_no_answer_in_time(broker: str, again: bool):
    with proxy(broker, hold={CREATE_TOPICS}) as between, connected(between.server) as wire:
        request = create(some_name(), validate_only=True)
        with pytest.raises(UnreachableError, match="no answer came in time"):
            wire.send(request, timeout_ms=300, may_repeat=again)


def test_requests_wait_while_the_broker_throttles(many: ManyListeners, broker: str):
    rate(broker, "throttled", 1)
    options = wire_options({"client.id": "throttled"})
    with connected(broker, options=options) as wire:
        # What came before is forgiven, so the second is the first that is told to wait.
        throttled = [
            wire.send(create(some_name(), partitions=14)).throttle_time_ms for _ in range(2)
        ]
        assert throttled[-1] > 0
        with pytest.raises(UnreachableError, match="a quota throttles this client"):
            wire.send(ask_for("a"), timeout_ms=100)
        assert wire.send(ask_for("a")).topics[0].name == "a"
        assert wire.sent["Metadata"] == 2  # the one that had no time never left


def rate(server: str, client: str, mutations: float) -> None:
    """Set ``controller_mutation_rate`` of a client id (KIP-599), and wait until it holds."""
    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type="client-id", entity_name=client)],
                ops=[entry.OpData(key="controller_mutation_rate", value=mutations, remove=False)],
            )
        ],
        validate_only=False,
    )
    with connected(server) as wire:
        assert wire.send(request).entries[0].error_code == 0


def test_clients_log_nothing_to_the_terminal():
    """Else kafka-python's warnings go to stderr: Python's last resort shows them."""
    code = (
        "from kgitops.cluster.kafka.adapter import boot\n"
        "from kgitops.model.errors import UnreachableError\n"
        "try:\n    boot('127.0.0.1:1,no-such-host.invalid:1', {})\n"
        "except UnreachableError:\n    print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("refused\n", "")


WAITING = {
    API_VERSIONS: "Wire([{server!r}], dict(connect_ms=100_000)).connect()",
    CREATE_TOPICS: (
        "wire = Wire([{server!r}]); wire.connect(); "
        "wire.send(CreateTopicsRequest(topics=[], timeout_ms=1, validate_only=True))"
    ),
}


@pytest.mark.parametrize("api", WAITING)
def test_an_interrupt_gets_through(broker: str, api: int):
    """While a connection is made, and while an answer is waited for."""
    with proxy(broker, hold={api}) as between:
        code = (
            "from kafka.protocol.admin import CreateTopicsRequest\n"
            "from kgitops.cluster.kafka.transport.wire import Wire\n"
            "try:\n"
            f"    {WAITING[api].format(server=between.server)}\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        eventually(lambda: between.seen, lambda seen: api in seen, what="the request is sent")
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=20)
    assert (said, complaint, process.returncode) == ("interrupted\n", "", 0)


def test_closing_leaves_no_thread_and_no_socket(broker: str):
    """Nor does a server that is still waited for hold them."""
    before = set(threading.enumerate())
    with proxy(broker, hold={API_VERSIONS}) as silent:
        during = set(threading.enumerate())
        with connected(silent.server, broker) as wire:
            wire.send(ask_for("a"), to=1)
            assert API_VERSIONS in silent.seen
        eventually(lambda: {*threading.enumerate()} <= during, what="the wire's threads end")
    eventually(lambda: {*threading.enumerate()} <= before, what="the proxy's threads end")
    with pytest.raises(UnreachableError):
        wire.send(ask_for("a"), timeout_ms=100)
    del wire
    gc.collect()  # an open socket would warn now, and a warning fails the test
