"""Three codecs of Kafka's protocol on the same messages: kgitops.wire, kio and kafka-python.

CPU milliseconds, the least of several rounds, in each of which every codec has its turn. The values
to write are built outside of the time; each codec reads what kgitops.wire wrote, and writes what it
read itself. The first use of a version, in which its code is made, is a row of its own.

    uv run python -P benchmarks/codecs.py
    uv run python -P benchmarks/codecs.py --scale 0.01 --rounds 1

(-P: benchmarks/kafka.py is no package of that name.)
"""

import argparse
import gc
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from kio.serial import entity_reader, entity_writer
from msgspec import Struct

from kgitops.wire import messages
from kgitops.wire.codec import read, write
from kgitops.wire.messages import Message

OURS, KIO, PYTHON = "kgitops.wire", "kio", "kafka-python"
CONFIGS = 32
IMPORTS = {
    OURS: "from kgitops.wire.apis import apis; apis()",
    KIO: "import kio.serial, kio.schema.metadata.v12.response",
    PYTHON: "import kafka.protocol.metadata, kafka.protocol.admin",
}
FIRST_USE = {
    OURS: "from kgitops.wire import messages; from kgitops.wire.codec import write; "
    "write(messages.MetadataResponse(), 12)",
    KIO: "import io; from kio.serial import entity_writer; "
    "from kio.schema.metadata.v12.response import MetadataResponse as M; entity_writer(M)",
    PYTHON: "from kafka.protocol.metadata import MetadataResponse as M; "
    "M(version=12, throttle_time_ms=0, brokers=[], cluster_id='', controller_id=0, topics=[])"
    ".encode(version=12)",
}


class Case(Struct, frozen=True):
    """A message of a size, and the modules in which the others have its class."""

    title: str
    message: Message
    version: int
    kio: str
    kafka_python: str


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--scale", type=float, default=1.0, help="of the numbers of topics")
    given = options.parse_args()
    gc.set_threshold(1_000_000)  # as kgitops does
    print(f"| CPU ms | {OURS} | {KIO} | {PYTHON} |\n| --- | ---: | ---: | ---: |")
    for case in cases(given.scale):
        for what, times in measure(case, given.rounds).items():
            print(row(f"{what} {case.title}", times))
    for title, programs in (("import", IMPORTS), ("import and first use", FIRST_USE)):
        print(row(title, in_processes(programs, given.rounds)))


def row(title: str, times: dict[str, float]) -> str:
    return f"| {title} | " + " | ".join(f"{1000 * times[name]:.1f}" for name in times) + " |"


def cases(scale: float) -> list[Case]:
    few, many = max(1, int(1000 * scale)), max(1, int(10_000 * scale))
    return [
        Case(
            f"CreateTopicsRequest 7, {few:,} topics",
            create_topics(few),
            7,
            "create_topics.v7.request",
            "admin",
        ),
        Case(
            f"CreateTopicsResponse 7, {few:,} x {CONFIGS} configs",
            created_topics(few),
            7,
            "create_topics.v7.response",
            "admin",
        ),
        Case(
            f"MetadataResponse 12, {many:,} x 3 partitions",
            metadata(many),
            12,
            "metadata.v12.response",
            "metadata",
        ),
        Case(
            f"DescribeConfigsResponse 4, {few:,} x {CONFIGS} with synonyms",
            described_configs(few),
            4,
            "describe_configs.v4.response",
            "admin",
        ),
    ]


def measure(case: Case, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds to read and to write the message, by codec; all agree on its bytes."""
    name = type(case.message).__name__
    data = bytes(write(case.message, case.version))
    theirs = getattr(import_module(f"kio.schema.{case.kio}"), name)
    read_kio, write_kio = entity_reader(theirs), entity_writer(theirs)
    python = getattr(import_module(f"kafka.protocol.{case.kafka_python}"), name)
    values = {
        OURS: case.message,
        KIO: read_kio(data, 0)[0],
        PYTHON: python.decode(io.BytesIO(data), version=case.version),
    }

    values[PYTHON]._header = None  # noqa: SLF001 (what it decodes lacks it, and can't be encoded)

    def by_kio() -> bytes:
        buffer = io.BytesIO()
        write_kio(buffer, values[KIO])
        return buffer.getvalue()

    writers: dict[str, Callable[[], Any]] = {
        OURS: lambda: write(case.message, case.version),
        KIO: by_kio,
        PYTHON: lambda: values[PYTHON].encode(version=case.version),
    }
    readers: dict[str, Callable[[], Any]] = {
        OURS: lambda: read(type(case.message), case.version, data),
        KIO: lambda: read_kio(data, 0),
        PYTHON: lambda: python.decode(io.BytesIO(data), version=case.version),
    }
    assert bytes(writers[KIO]()) == data
    assert bytes(writers[PYTHON]()) == data
    return {"read": least(readers, rounds), "write": least(writers, rounds)}


def least(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    times: dict[str, float] = {}
    for _ in range(rounds):
        for name, work in works.items():
            gc.collect()
            began = time.process_time()
            work()
            times[name] = min(times.get(name, 1e9), time.process_time() - began)
    return times


def in_processes(programs: dict[str, str], rounds: int) -> dict[str, float]:
    """CPU seconds of a program, without those of Python alone; bytecode is cached."""
    clock = "import time as t; b = t.process_time(); {}; print(t.process_time() - b)"
    times: dict[str, float] = {}
    for _ in range(rounds + 1):
        for name, program in programs.items():
            done = subprocess.run(
                [sys.executable, "-P", "-c", clock.format(program)],
                capture_output=True,
                text=True,
                check=True,
            )
            times[name] = min(times.get(name, 1e9), json.loads(done.stdout))
    return times


def create_topics(count: int) -> Message:
    request = messages.CreateTopicsRequest
    configs = [
        request.CreatableTopicConfig(name=key, value=value)
        for key, value in (("retention.ms", "604800000"), ("cleanup.policy", "delete"))
    ]
    return request(
        topics=[
            request.CreatableTopic(
                name=f"orders-{number:05}", num_partitions=3, replication_factor=3, configs=configs
            )
            for number in range(count)
        ],
        timeout_ms=30_000,
    )


def created_topics(count: int) -> Message:
    response = messages.CreateTopicsResponse
    return response(
        topics=[
            response.CreatableTopicResult(
                name=f"orders-{number:05}",
                topic_id=number.to_bytes(16, "big"),
                num_partitions=3,
                replication_factor=3,
                configs=[
                    response.CreatableTopicConfigs(
                        name=f"some.config.of.a.topic.{key}", value="604800000", config_source=5
                    )
                    for key in range(CONFIGS)
                ],
            )
            for number in range(count)
        ]
    )


def metadata(count: int) -> Message:
    response = messages.MetadataResponse
    return response(
        brokers=[
            response.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=9092 + number)
            for number in range(3)
        ],
        cluster_id="FEp7l0e6T6GGgnr9YXV2Mw",
        controller_id=1,
        topics=[
            response.MetadataResponseTopic(
                name=f"orders-{number:05}",
                topic_id=number.to_bytes(16, "big"),
                partitions=[
                    response.MetadataResponsePartition(
                        partition_index=index,
                        leader_id=1,
                        leader_epoch=0,
                        replica_nodes=[1, 2, 3],
                        isr_nodes=[1, 2, 3],
                        offline_replicas=[],
                    )
                    for index in range(3)
                ],
            )
            for number in range(count)
        ],
    )


def described_configs(count: int) -> Message:
    response = messages.DescribeConfigsResponse
    return response(
        results=[
            response.DescribeConfigsResult(
                resource_type=2,
                resource_name=f"orders-{number:05}",
                configs=[
                    response.DescribeConfigsResourceResult(
                        name=f"some.config.of.a.topic.{key}",
                        value="604800000",
                        config_source=5,
                        synonyms=[
                            response.DescribeConfigsSynonym(
                                name=f"log.config.{key}", value="604800000", source=5
                            )
                        ],
                        config_type=5,
                    )
                    for key in range(CONFIGS)
                ],
            )
            for number in range(count)
        ]
    )


if __name__ == "__main__":
    main()
