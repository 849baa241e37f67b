"""Consumers of librdkafka in a served cluster's groups."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest
from serve.answers.groups.group_client import make_topic
from serve.raw_client import RawClient
from serve.served import cluster_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.server import KafkaServer

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_POLL_SECONDS = 0.05
_ROUNDS = 600


@pytest.fixture
def embedded() -> EmbeddedCluster:
    """A cluster whose members of KIP-848 send heartbeats often."""
    return cluster_of(static_configs={"group.consumer.heartbeat.interval.ms": "50"})


def configs(server: KafkaServer, protocol: str = "classic", **more: object) -> dict[str, object]:
    """The options of a consumer in the group ``g``."""
    if protocol == "classic":
        more |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 50}
    return {
        "bootstrap.servers": ",".join(map(str, server.endpoints)),
        "group.id": "g",
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "log_level": 2,
        **more,
    }


def poll_until(consumers: Sequence["Consumer"], is_done: Callable[[], bool]) -> None:
    """Let the consumers work until it is done."""
    for _ in range(_ROUNDS):
        for consumer in consumers:
            consumer.poll(_POLL_SECONDS)
        if is_done():
            return
    raise AssertionError([consumer.assignment() for consumer in consumers])


def assigned(consumer: "Consumer") -> set[int]:
    """The partitions that the consumer has."""
    return {item.partition for item in consumer.assignment()}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_two_consumers_share_a_topic(server: KafkaServer, client: RawClient, protocol: str) -> None:
    """Each has half; one commits and leaves, and the other has all."""
    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient

    make_topic(client, "orders", 4)
    first, second = (Consumer(configs(server, protocol)) for _ in range(2))
    try:
        first.subscribe(["orders"])
        poll_until([first], lambda: len(assigned(first)) == 4)
        second.subscribe(["orders"])
        poll_until([first, second], lambda: len(assigned(first)) == len(assigned(second)) == 2)
        assert assigned(first) | assigned(second) == {0, 1, 2, 3}
        mine = min(assigned(second))
        second.commit(
            offsets=[TopicPartition("orders", mine, 7, metadata="note")], asynchronous=False
        )
        admin = AdminClient({"bootstrap.servers": str(server.endpoints[0])})
        found = admin.describe_consumer_groups(["g"])["g"].result(timeout=30)
        assert found.state.name == "STABLE"
        assert sum(len(member.assignment.topic_partitions) for member in found.members) == 4
        second.close()
        poll_until([first], lambda: len(assigned(first)) == 4)
        kept = first.committed([TopicPartition("orders", mine)], timeout=30)[0]
        assert (kept.offset, kept.metadata) == (7, "note")
    finally:
        second.close()
        first.close()


def test_a_static_consumer_comes_back(server: KafkaServer, client: RawClient) -> None:
    """It has its partitions again without a rebalance."""
    from confluent_kafka import Consumer

    make_topic(client, "orders", 2)
    first = Consumer(configs(server, **{"group.instance.id": "one"}))
    try:
        first.subscribe(["orders"])
        poll_until([first], lambda: len(assigned(first)) == 2)
        generation = server.cluster.groups.group("g").generation
        first.close()
        first = Consumer(configs(server, **{"group.instance.id": "one"}))
        first.subscribe(["orders"])
        poll_until([first], lambda: len(assigned(first)) == 2)
        assert server.cluster.groups.group("g").generation == generation
    finally:
        first.close()


def test_consumers_move_to_kip_848_and_back(server: KafkaServer, client: RawClient) -> None:
    """One after the other: all partitions are read and no offset is lost, in either direction."""
    from confluent_kafka import Consumer, TopicPartition

    def has_half(*consumers: Consumer) -> Callable[[], bool]:
        return lambda: all(len(assigned(consumer)) == 2 for consumer in consumers)

    def started(protocol: str) -> Consumer:
        consumer = Consumer(configs(server, protocol))
        consumer.subscribe(["orders"])
        return consumer

    make_topic(client, "orders", 4)
    running = [started("classic"), started("classic")]
    try:
        poll_until(running, has_half(*running))
        mine = min(assigned(running[0]))
        offset = TopicPartition("orders", mine, 7, metadata="note")
        running[0].commit(offsets=[offset], asynchronous=False)
        for protocol in ("consumer", "consumer", "classic", "classic"):
            running.append(started(protocol))
            poll_until(running, lambda: sorted(map(len, map(assigned, running))) == [1, 1, 2])
            running.pop(0).close()
            poll_until(running, has_half(*running))
            kept = running[-1].committed([TopicPartition("orders", mine)], timeout=30)[0]
            assert (kept.offset, kept.metadata) == (7, "note")
        assert server.cluster.groups.consumers.group("g") is None
    finally:
        for consumer in running:
            consumer.close()
