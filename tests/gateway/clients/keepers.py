"""A member of each client in another language: it reads a quiet topic, commits, and stays."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from gateway.clients.member import Member
from other_processes import running
from serve.clients.downloads import go_program, kafkajs, program

PATIENCE_S = 60
GROUP = "kept"
HERE = Path(__file__).parent
GO, KAFKAJS = HERE / "go", HERE / "kafkajs" / "scenario.cjs"


def librdkafka(member: Member, folder: Path) -> AbstractContextManager[object]:
    """It stays without being polled for five minutes, as Java's does."""
    from confluent_kafka import Consumer

    group = {"group.id": f"{member.prefix}{GROUP}", "auto.offset.reset": "earliest"}
    consumer = Consumer({**member.librdkafka(), **group, "enable.auto.commit": False})
    consumer.subscribe([member.quiet])
    message = consumer.poll(PATIENCE_S)
    assert message, "nothing was read"
    assert not message.error(), message.error()
    consumer.commit(message, asynchronous=False)
    return closing(consumer)


def kafka_python(member: Member, folder: Path) -> AbstractContextManager[object]:
    """As librdkafka's."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        member.quiet,
        **member.kafka_python(),
        group_id=f"{member.prefix}{GROUP}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    assert consumer.poll(PATIENCE_S * 1000), "nothing was read"
    consumer.commit()
    return closing(consumer)


def franz(member: Member, folder: Path) -> AbstractContextManager[object]:
    """Of the program that has all scenarios of franz-go."""
    return _runs([go_program("franz", folder, GO), member.told(), "keep"])


def sarama(member: Member, folder: Path) -> AbstractContextManager[object]:
    """Of the program that has all scenarios of sarama."""
    return _runs([go_program("sarama", folder, GO), member.told(), "keep"])


def node(member: Member, folder: Path) -> AbstractContextManager[object]:
    """Of the program that has all scenarios of KafkaJS."""
    words = [program("node", "Node.js 18 or newer"), KAFKAJS, member.told(), "keep"]
    return _runs(words, {"NODE_PATH": str(kafkajs())})


KEEPERS: Mapping[str, Callable[[Member, Path], AbstractContextManager[object]]] = {
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
    "franz-go": franz,
    "sarama": sarama,
    "kafkajs": node,
}


@contextmanager
def _runs(words: Sequence[str | Path], more: Mapping[str, str] | None = None) -> Iterator[None]:
    """A program that says when it has committed, and ends with its input."""
    with running(
        [*map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(more or {})},
    ) as process:
        assert process.stdin
        assert process.stdout
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        try:
            line = process.stdout.readline()
            assert line.strip() == GROUP, line + process.stdout.read()
            timer.cancel()
            yield
            assert process.poll() is None, process.stdout.read()
        finally:
            timer.cancel()
            process.kill()
