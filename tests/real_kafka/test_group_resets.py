"""A consumer group's reset and end by the command line, with consumers that really read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, document
from patience import eventually
from used import configs_of, groups_of

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka

METRICS = ConfigResourceType.CLIENT_METRICS
GROUP, TOPIC, SESSION = "billing", "orders", "consumer.session.timeout.ms"
OLD_MS, NEW_MS = 1_793_000_000_000, 1_793_600_000_000
BETWEEN = "2026-10-29T00:00:00Z"
PROTOCOLS = ("classic", "consumer")
_PATIENCE_S = 60


# Its records are months old, and brokers look every five minutes for what they retain no longer.
ORDERS = document("Topic", TOPIC, partitions=1, replicationFactor=1, configs={"retention.ms": -1})


def group(**spec: object) -> Document:
    return document("ConsumerGroup", GROUP, **spec)


def reset(to: object, version: str = "1") -> Document:
    return group(resetOffsets={"version": version, "to": to, "topics": [TOPIC]})


def produce(kafka: Sandbox) -> None:
    """Five old records and five new ones."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.servers, **kafka.configs})
    for number in range(10):
        at = OLD_MS if number < 5 else NEW_MS
        producer.produce(TOPIC, str(number).encode(), partition=0, timestamp=at + number)
    assert producer.flush(_PATIENCE_S) == 0


@contextmanager
def reading(kafka: Sandbox, protocol: str) -> Iterator[Callable[[], int]]:
    """A member of the group; the function gives the offset of the next record that it gets."""
    from confluent_kafka import Consumer

    configs = {
        "bootstrap.servers": kafka.servers,
        **kafka.configs,
        "group.id": GROUP,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        # A member that joins before it has heard of a new topic would hear of it after minutes.
        "topic.metadata.refresh.interval.ms": 1000,
    }
    consumer = Consumer(configs)

    def next_offset() -> int:
        message = consumer.poll(_PATIENCE_S)
        assert message is not None
        assert message.error() is None, message.error()
        consumer.commit(message=message, asynchronous=False)
        offset = message.offset()
        assert offset is not None
        return offset

    try:
        consumer.subscribe([TOPIC])
        yield next_offset
    finally:
        consumer.close()


def found(cluster: KafkaCluster) -> FoundGroup | None:
    return groups_of(cluster, frozenset({GROUP})).get(GROUP)


def await_idle(cluster: KafkaCluster) -> None:
    """Wait until the coordinator has seen the last member leave."""
    eventually(
        lambda: found(cluster),
        lambda held: held is None or not held.active,
        what="the last member has left",
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_goes_back_to_a_time_and_ends(
    project: "KafkaProject",
    kafka: Sandbox,
    kafka_cluster: KafkaCluster,
    kgitops: Kgitops,
    protocol: str,
) -> None:
    here = str(project.folder)

    def run(*words: str) -> int:
        ran = kgitops(*words, "-c", "kafka")
        said.append(f"{ran.out}\n{ran.said}")
        return ran.code

    said: list[str] = []
    project.write(ORDERS)
    assert run("apply", here, "--auto-approve") == 0, said
    produce(kafka)
    project.write(ORDERS, reset({"timestamp": BETWEEN}))
    with reading(kafka, protocol) as next_offset:
        assert [next_offset() for _ in range(8)] == list(range(8))
        assert run("plan", here) == 1
        assert "group/billing has members" in said[-1]
        assert run("apply", here, "--auto-approve") == 1
        busy = found(kafka_cluster)
    assert busy == FoundGroup(name=GROUP, known=True, active=True, offsets={(TOPIC, 0): 8})

    await_idle(kafka_cluster)
    saved = str(Path(here) / "reset.plan")
    assert run("plan", here, "-o", saved) == 0, said
    assert "8 -> 5 (at most 3 records are read again)" in said[-1]
    with reading(kafka, protocol) as next_offset:
        assert next_offset() == 8
        assert run("apply", saved) == 4
    await_idle(kafka_cluster)
    after = found(kafka_cluster)
    assert after is not None
    assert after.offsets == {(TOPIC, 0): 9}

    assert run("plan", here, "-o", saved) == 0, said
    assert run("apply", saved) == 0, said
    with reading(kafka, protocol) as next_offset:
        assert [next_offset(), next_offset()] == [5, 6]
    await_idle(kafka_cluster)
    assert run("plan", here, "--detailed-exitcode") == 0, said

    drop = document(
        "Tombstone",
        "drop-billing",
        target={"kind": "ConsumerGroup", "name": GROUP},
        reason="nobody needs it",
    )
    project.write(ORDERS, drop)
    assert run("apply", here, "--auto-approve") == 0, said
    assert found(kafka_cluster) is None
    assert run("plan", here, "--detailed-exitcode") == 0, said


def test_configs_of_a_group_and_client_metrics_come_and_go(
    project: "KafkaProject", kafka_cluster: KafkaCluster, kgitops: Kgitops
) -> None:
    here = str(project.folder)

    def run(*words: str) -> int:
        ran = kgitops(*words, here, "-c", "kafka")
        said.append(f"{ran.out}\n{ran.said}")
        return ran.code

    said: list[str] = []
    names = frozenset({"lag"})
    metrics = document(
        "ClientMetrics", "lag", configs={"interval.ms": 60000, "metrics": ["b.", "a."]}
    )
    project.write(ORDERS, metrics, group(configs={SESSION: 50000}, deletionPolicy="Delete"))
    assert run("apply", "--auto-approve") == 0, said
    held = found(kafka_cluster)
    assert held == FoundGroup(name=GROUP, configs={SESSION: "50000"})
    assert configs_of(kafka_cluster, METRICS, names)["lag"]["metrics"] == "a.,b."
    assert run("plan", "--detailed-exitcode") == 0, said
    assert run("drift") == 0, said

    too_short = group(configs={SESSION: 1}, deletionPolicy="Delete")
    project.write(ORDERS, metrics, too_short)
    assert run("plan") == 1
    assert "the broker refuses AlterConfigResource of group/billing" in said[-1]

    project.write(ORDERS)
    assert run("apply", "--auto-approve") == 0, said
    assert found(kafka_cluster) is None
    assert configs_of(kafka_cluster, METRICS, names) == {}
