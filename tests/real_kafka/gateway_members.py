"""Members of virtual clusters that reach a real Kafka through ``kgitops gateway``."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

from patience import eventually
from ports import first_port

PATIENCE_S = 60.0
_PORTS = 5
"""Ports of a gateway before three brokers: one to begin with, and those of brokers 0 to 3."""


class GatewayProcess:
    """``kgitops gateway`` for the project in the current folder, in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._ready = folder / "ready"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.servers = f"127.0.0.1:{first_port(_PORTS)}"

    def start(self) -> None:
        """Start it, on the same address each time."""
        self._ready.unlink(missing_ok=True)
        words = ["gateway", "--listen", self.servers, "--ready-file", str(self._ready)]
        command = [sys.executable, "-m", "kgitops", *words, *self._options]
        self._process = process = subprocess.Popen(command, env=dict(os.environ))

        def is_ready() -> bool:
            assert process.poll() is None, "it ended before it was ready"
            return self._ready.exists()

        eventually(is_ready, what="the gateway is ready")
        self.servers = self._ready.read_text().strip().removeprefix("ready kafka://")

    def kill(self) -> None:
        """End it as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def stop(self) -> int:
        """End it as an operator does; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(PATIENCE_S)


@contextmanager
def gateway(folder: Path, *options: str) -> Iterator[GatewayProcess]:
    """A running gateway, which ends well."""
    process = GatewayProcess(folder, *options)
    process.start()
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    assert process.stop() == 0


def login(servers: str, user: str, password: str) -> dict[str, Any]:
    """The configs of librdkafka's clients."""
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": password,
        "topic.metadata.refresh.interval.ms": 1000,
        "topic.metadata.propagation.max.ms": 0,
    }


class Member:
    """A client of one user."""

    def __init__(self, servers: str, user: str, password: str) -> None:
        self._configs = login(servers, user, password)

    def topics(self) -> set[str]:
        """The names of all topics that it sees."""
        from confluent_kafka.admin import AdminClient

        return set(AdminClient(self._configs).list_topics(timeout=PATIENCE_S).topics)

    def awaits(self, topics: set[str]) -> None:
        """Waits until it sees exactly these: the gateway follows the registry."""
        eventually(self.topics, lambda seen: seen == topics, what=f"it sees {topics}")

    def writes(self, records: Mapping[str, str], transactional_id: str | None = None) -> list[str]:
        """Produces a record to each topic, in a transaction if it has an id; all errors."""
        from confluent_kafka import KafkaError, Message, Producer

        errors = []

        def told(error: KafkaError | None, message: Message) -> None:
            del message
            if error is not None:
                errors.append(error.name())

        own = {"transactional.id": transactional_id} if transactional_id else {}
        producer = Producer({**self._configs, **own, "message.timeout.ms": 8000})
        if transactional_id:
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
        for topic, value in records.items():
            producer.produce(topic, value, on_delivery=told)
        if transactional_id:
            producer.commit_transaction(PATIENCE_S)
        assert producer.flush(PATIENCE_S) == 0
        return errors

    @contextmanager
    def reads(self, group: str, *topics: str, **configs: object) -> Iterator["Reader"]:
        """A consumer in a group, that begins with the oldest record."""
        from confluent_kafka import Consumer

        own = {"group.id": group, "auto.offset.reset": "earliest", **configs}
        consumer = Consumer({**self._configs, **own})
        consumer.subscribe(list(topics))
        try:
            yield Reader(consumer)
        finally:
            consumer.close()


class Reader:
    """A consumer that tells topics and values."""

    def __init__(self, consumer: Any) -> None:  # noqa: ANN401 - librdkafka's
        self._consumer = consumer

    def awaits(self, *records: tuple[str, str]) -> None:
        """Waits for these, in any order, and for nothing else."""
        missing = set(records)

        def unread() -> set[tuple[str, str]]:
            message = self._consumer.poll(0.5)
            if message is not None:
                assert not message.error(), message.error()
                record = (message.topic(), message.value().decode())
                assert record in missing, f"it read {record}"
                missing.remove(record)
            return missing

        eventually(unread, lambda left: not left, what="it has read every record")


class Writer:
    """A producer that never stops; ``acked`` are the values that brokers have, in their order.

    ``refused`` are the names of errors of the others.
    """

    def __init__(self, configs: Mapping[str, Any], topic: str) -> None:
        self.acked: list[int] = []
        self.refused: set[str] = set()
        self._configs = configs
        self._topic = topic
        self._stop = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def goes_on(self, records: int = 50) -> None:
        """Waits until so many more are acknowledged."""
        before = len(self.acked)
        eventually(
            lambda: (len(self.acked) - before, self.refused),
            lambda found: found[0] >= records,
            what=f"{records} more are acknowledged",
        )

    def _run(self) -> None:
        from confluent_kafka import KafkaError, KafkaException, Message, Producer

        def told(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.acked.append(int(message.value()))
            else:
                self.refused.add(error.name())

        producer = Producer({**self._configs, "acks": "all", "linger.ms": 2})
        number = 0
        while not self._stop.wait(0.005):
            try:
                producer.produce(self._topic, str(number), on_delivery=told)
            except KafkaException as error:  # of a topic that it knows it can't write to
                self.refused.add(error.args[0].name())
            producer.poll(0)
            number += 1
        producer.flush(PATIENCE_S)
