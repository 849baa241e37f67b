"""`kgitops serve` beside a real Kafka: the same requests by the same client, whole processes.

Both have one broker, started and removed by this script; kgitops has its store in a file and its
broker forwards to its controller (KIP-590). p50 and p99 are wall milliseconds of single requests,
one after the other; CPU is the server's, of all its threads. Each of the smaller requests is also
pipelined, and the server's CPU divided by their number.

    uv run python benchmarks/serve.py
    uv run python benchmarks/serve.py --scale 0.02 --rounds 20 --no-kafka     # to see that it runs
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from confluent_kafka import Producer
from msgspec import Struct
from wire_client import NEWEST_WITH_NAMES, WireClient, cpu_seconds, small_batch, until_answered

from kgitops.sandbox.sandbox import start
from kgitops.wire import messages
from kgitops.wire.apis import keys
from kgitops.wire.messages import Message

MEMORY = Path("/dev/shm")  # noqa: S108
TOPIC_RESOURCE, SET = 2, 0
PRODUCED_MB, BATCH = 200, 15_000
GOALS = {
    "start to first answer": "0.8 s",
    "memory, empty": "70 MB",
    "memory, many topics": "150 MB",
    "ApiVersions, pipelined": "0.10 ms CPU",
    "Metadata of 1, pipelined": "0.15 ms CPU",
    "IncrementalAlterConfigs of 1, pipelined": "0.60 ms CPU, and fsync",
    "CreateTopics of all x 3": "250 ms CPU for 1,000",
    "DescribeConfigs of all": "120 ms CPU for 1,000",
    "Metadata of many x 3": "150 ms CPU for 10,000",
    "Metadata of many x 3, again": "20 ms CPU for 10,000",
    "produce, 15 kB a batch": "20 MB/s",
}


class Server(Struct, frozen=True):
    """A server that answers, and how long that took."""

    address: str
    process: psutil.Process
    started: float

    @property
    def megabytes(self) -> float:
        family = [self.process, *self.process.children(recursive=True)]
        return sum(member.memory_info().rss for member in family) / 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=200, help="of single requests")
    options.add_argument("--scale", type=float, default=1.0, help="of 1,000 and 10,000 topics")
    options.add_argument("--no-kafka", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        home = Path(folder)
        with served(home) as server:
            ours = measure(server, given.rounds, given.scale, many=True)
        theirs: dict[str, str] = {}
        if not given.no_kafka:
            with kafka(home / "kafka") as server:
                theirs = measure(server, given.rounds, given.scale, many=False)
    print("| | kgitops serve | Kafka | goal |\n| --- | ---: | ---: | ---: |")
    for row, text in ours.items():
        print(f"| {row} | {text} | {theirs.get(row, '')} | {GOALS.get(row, '')} |")


@contextmanager
def served(home: Path) -> Iterator[Server]:
    """`kgitops serve`, as a process of its own; bytecode is there after a first start."""
    words = [sys.executable, "-P", "-m", "kgitops", "serve", "--brokers", "1"]
    words += ["--listen", "127.0.0.1:0", "-c"]
    for store in ("warm.db", "measured.db"):
        began = time.perf_counter()
        process = subprocess.Popen(
            [*words, f"embedded:{home / store}?compat=kraft"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("ready kafka://").strip()
            until_answered(address)
            took = time.perf_counter() - began
            if store == "measured.db":
                yield Server(address, psutil.Process(process.pid), took)
        finally:
            process.terminate()
            process.wait()


@contextmanager
def kafka(home: Path) -> Iterator[Server]:
    """A sandbox of one broker."""
    began = time.perf_counter()
    sandbox = start(home)
    until_answered(sandbox.servers)
    took = time.perf_counter() - began
    try:
        (process,) = [
            child
            for child in psutil.Process().children(recursive=True)
            if "java" in child.name() and "kafka.Kafka" in child.cmdline()
        ]
        yield Server(sandbox.servers, process, took)
    finally:
        sandbox.stop()


def measure(server: Server, rounds: int, scale: float, *, many: bool) -> dict[str, str]:
    """The text of each row."""
    client = WireClient(server.address)
    count = max(2, int(1000 * scale))
    rows = {
        "start to first answer": f"{server.started:.2f} s",
        "memory, empty": f"{server.megabytes:.0f} MB",
    }
    names = (f"single-{number}" for number in range(10**9))
    single: dict[str, Callable[[], tuple[str, Message]]] = {
        "CreateTopics of 1 x 3": lambda: ("CreateTopics", creation([next(names)])),
        "CreateTopics, only validated": lambda: (
            "CreateTopics",
            creation([next(names)], validate_only=True),
        ),
        "ApiVersions": lambda: (
            "ApiVersions",
            messages.ApiVersionsRequest(client_software_name="b", client_software_version="0"),
        ),
        "Metadata of 1": lambda: ("Metadata", metadata(["single-0"])),
        "IncrementalAlterConfigs of 1": lambda: (
            "IncrementalAlterConfigs",
            alteration(["single-0"], str(time.time_ns())),
        ),
        "DescribeConfigs of 1": lambda: ("DescribeConfigs", description(["single-0"])),
    }
    for title, make in single.items():
        if keys()[make()[0]] in client.versions:
            rows[title] = one_by_one(client, make, rounds)
    for title in ("ApiVersions", "Metadata of 1", "IncrementalAlterConfigs of 1"):
        api, message = single[title]()
        if keys()[api] in client.versions:
            rows[f"{title}, pipelined"] = pipelined(server, client, api, message, rounds)
    topics = [f"orders-{number:05}" for number in range(count)]
    for title, api, message in (
        ("CreateTopics of all x 3", "CreateTopics", creation(topics)),
        ("Metadata of all", "Metadata", messages.MetadataRequest(topics=None)),
        ("DescribeConfigs of all", "DescribeConfigs", description(topics)),
        (
            "IncrementalAlterConfigs of all",
            "IncrementalAlterConfigs",
            alteration(topics, "86400000"),
        ),
        ("CreateAcls of as many", "CreateAcls", acls(topics)),
        ("DescribeAcls of all", "DescribeAcls", any_acl()),
        ("DeleteTopics of all", "DeleteTopics", deletion(topics)),
    ):
        if api == "DescribeAcls":
            until_listed(client, count)
        rows[title] = at_once(server, client, api, message)
    if keys()["Produce"] in client.versions:
        client.ask(client.frame("CreateTopics", creation(["small"])))
        for acks, in_flight in ((1, 1), (-1, 1), (-1, 5)):
            title = (
                f"Produce of 1 record, acks={'all' if acks < 0 else acks}, {in_flight} in flight"
            )
            rows[title] = small_produced(server, client, acks, in_flight, 10 * rounds)
    rows["produce, 15 kB a batch"] = produced(server, client, scale)
    if many:
        rows |= of_many(server, client, max(2, int(10_000 * scale)))
    client.close()
    return rows


def of_many(server: Server, client: WireClient, count: int) -> dict[str, str]:
    names = [f"many-{number:05}" for number in range(count)]
    for at in range(0, count, 500):
        client.ask(client.frame("CreateTopics", creation(names[at : at + 500])))
    everything = messages.MetadataRequest(topics=None)
    return {
        "Metadata of many x 3": at_once(server, client, "Metadata", everything),
        "Metadata of many x 3, again": at_once(server, client, "Metadata", everything),
        "memory, many topics": f"{server.megabytes:.0f} MB",
    }


def one_by_one(client: WireClient, make: Callable[[], tuple[str, Message]], rounds: int) -> str:
    times = []
    for _ in range(rounds):
        request = client.frame(*make())
        began = time.perf_counter()
        client.ask(request)
        times.append(1000 * (time.perf_counter() - began))
    last = statistics.quantiles(times, n=100)[-1]
    return f"p50 {statistics.median(times):.2f}, p99 {last:.1f} ms"


def pipelined(server: Server, client: WireClient, api: str, message: Message, rounds: int) -> str:
    request, count = client.frame(api, message), max(100, 10 * rounds)
    began, cpu = time.perf_counter(), cpu_seconds(server.process)
    client.pipeline(request, count)
    seconds, cpu = time.perf_counter() - began, cpu_seconds(server.process) - cpu
    return f"{1000 * cpu / count:.3f} ms CPU, {count / seconds:,.0f} a second"


def at_once(server: Server, client: WireClient, api: str, message: Message) -> str:
    if keys()[api] not in client.versions:
        return "not answered"
    request = client.frame(api, message)
    began, cpu = time.perf_counter(), cpu_seconds(server.process)
    answer = client.ask(request)
    wall, cpu = time.perf_counter() - began, cpu_seconds(server.process) - cpu
    return f"{1000 * wall:.0f} ms, {1000 * cpu:.0f} ms CPU, {len(answer) / 1000:,.0f} kB"


def small_produced(
    server: Server, client: WireClient, acks: int, in_flight: int, count: int
) -> str:
    """Batches of one record of 100 bytes on one connection, after as many that don't count."""
    part = messages.ProduceRequest.PartitionProduceData(index=0, records=small_batch())
    topic = messages.ProduceRequest.TopicProduceData(name="small", partition_data=[part])
    message = messages.ProduceRequest(
        transactional_id=None, acks=acks, timeout_ms=30_000, topic_data=[topic]
    )
    request = client.frame("Produce", message, NEWEST_WITH_NAMES)
    while client.decoded(request).responses[0].partition_responses[0].error_code:
        time.sleep(0.05)  # the broker does not lead the partition yet
    client.windows(request, count, in_flight)
    began, cpu = time.perf_counter(), cpu_seconds(server.process)
    client.windows(request, count, in_flight)
    seconds, cpu = time.perf_counter() - began, cpu_seconds(server.process) - cpu
    return f"{count / seconds:,.0f} a second, {1000 * cpu / count:.2f} ms CPU"


def produced(server: Server, client: WireClient, scale: float) -> str:
    """By librdkafka with all acknowledgements, each batch one record."""
    if not {0, 22} <= client.versions.keys():  # Produce, InitProducerId
        return "not answered"
    client.ask(client.frame("CreateTopics", creation(["produced"])))
    producer = Producer(
        {"bootstrap.servers": server.address, "batch.size": BATCH, "linger.ms": 0, "acks": "all"}
    )
    count = int(PRODUCED_MB * 1e6 * scale / BATCH)
    began, cpu = time.perf_counter(), cpu_seconds(server.process)
    for number in range(count):
        while True:
            try:
                producer.produce("produced", bytes(BATCH), partition=number % 3)
            except BufferError:
                producer.poll(0.1)
            else:
                break
    assert producer.flush(300) == 0
    seconds, cpu = time.perf_counter() - began, cpu_seconds(server.process) - cpu
    size = count * BATCH / 1e6
    return f"{size / seconds:.0f} MB/s, {1000 * cpu / size:.1f} ms CPU a MB"


def creation(names: list[str], *, validate_only: bool = False) -> Message:
    request = messages.CreateTopicsRequest
    topics = [
        request.CreatableTopic(name=name, num_partitions=3, replication_factor=1) for name in names
    ]
    return request(topics=topics, timeout_ms=60_000, validate_only=validate_only)


def deletion(names: list[str]) -> Message:
    request = messages.DeleteTopicsRequest
    return request(
        topics=[request.DeleteTopicState(name=name) for name in names], timeout_ms=60_000
    )


def metadata(names: list[str]) -> Message:
    request = messages.MetadataRequest
    return request(topics=[request.MetadataRequestTopic(name=name) for name in names])


def description(names: list[str]) -> Message:
    request = messages.DescribeConfigsRequest
    return request(
        resources=[
            request.DescribeConfigsResource(
                resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None
            )
            for name in names
        ]
    )


def alteration(names: list[str], value: str) -> Message:
    request = messages.IncrementalAlterConfigsRequest
    return request(
        resources=[
            request.AlterConfigsResource(
                resource_type=TOPIC_RESOURCE,
                resource_name=name,
                configs=[
                    request.AlterableConfig(name="retention.ms", config_operation=SET, value=value)
                ],
            )
            for name in names
        ]
    )


def acls(names: list[str]) -> Message:
    request = messages.CreateAclsRequest
    return request(
        creations=[
            request.AclCreation(
                resource_type=TOPIC_RESOURCE,
                resource_name=name,
                resource_pattern_type=3,
                principal="User:billing",
                host="*",
                operation=3,
                permission_type=3,
            )
            for name in names
        ]
    )


def until_listed(client: WireClient, count: int) -> None:
    """Wait for ACLs: Kafka's broker applies them after the controller has answered."""
    while len(client.decoded(client.frame("DescribeAcls", any_acl())).resources) < count:
        time.sleep(0.05)


def any_acl() -> Message:
    return messages.DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


if __name__ == "__main__":
    main()
