"""Reading the usage of topics, on real brokers with real consumers."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from cluster_contract.contract import await_state, created, send

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.model.cluster_state import TopicUsage
from kgitops.model.requests import DeleteRecordsRequest
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

ORDERS = frozenset({"orders"})


def usage(cluster: KafkaCluster, name: str = "orders") -> TopicUsage:
    return cluster.read_usage(frozenset({name, "none"})).topics[name]


def produce(kafka: Sandbox, topic: str, partition: int, count: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.servers, "compression.type": "none"})
    for _ in range(count):
        producer.produce(topic, bytes(1000), partition=partition)
    assert producer.flush(30) == 0


@contextmanager
def consumer(kafka: Sandbox, topic: str, group: str, protocol: str) -> Iterator[None]:
    """A member of a group, for as long as it lasts."""
    from confluent_kafka import Consumer

    configs = {
        "bootstrap.servers": kafka.servers,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    member = Consumer(configs)
    try:
        member.subscribe([topic])
        assert member.poll(30) is not None
        yield
    finally:
        member.close()


def test_a_topic_holds_what_was_written_less_what_was_deleted(
    kafka: Sandbox, kafka_cluster: KafkaCluster
):
    """The leader's bytes, once, however many replicas hold them."""
    topic = created(kafka_cluster, "orders")
    produce(kafka, "orders", 0, 10)
    await_state(kafka_cluster, lambda _: usage(kafka_cluster).high_watermarks == (10, 0))
    assert topic.topic_id
    records = DeleteRecordsRequest(
        topic="orders", topic_id=topic.topic_id, deleted_message_offsets={0: 4}
    )
    assert send(kafka_cluster, records).ok
    found = usage(kafka_cluster)
    assert (found.log_start_offsets, found.high_watermarks) == ((4, 0), (10, 0))
    size, empty = found.size_bytes
    assert size is not None
    assert 10_000 < size < 20_000
    assert (empty, found.active_groups) == (0, ())
    offsets = kafka_cluster.read_usage(ORDERS, offsets_only=True).topics["orders"]
    assert (offsets.log_start_offsets, offsets.high_watermarks) == ((4, 0), (10, 0))
    assert (set(offsets.size_bytes), offsets.active_groups) == ({None}, None)


def test_only_those_who_read_it_now_count(kafka: Sandbox, kafka_cluster: KafkaCluster):
    """Groups of the classic protocol and of KIP-848; not those of other topics, nor idle ones."""
    for name in ("orders", "other"):
        created(kafka_cluster, name)
        produce(kafka, name, 0, 1)
    with consumer(kafka, "orders", "gone", "classic"):
        pass
    await_state(kafka_cluster, lambda _: usage(kafka_cluster).active_groups == ())
    kafka_cluster.wire.sent.clear()
    usage(kafka_cluster)
    assert "DescribeGroups" not in kafka_cluster.wire.sent, "an idle group is not looked into"
    with (
        consumer(kafka, "orders", "billing", "classic"),
        consumer(kafka, "orders", "audit", "consumer"),
        consumer(kafka, "other", "elsewhere", "consumer"),
    ):
        assert usage(kafka_cluster).active_groups == ("audit", "billing")
        assert usage(kafka_cluster, "other").active_groups == ("elsewhere",)
    await_state(kafka_cluster, lambda _: usage(kafka_cluster).active_groups == ())


def test_few_requests_tell_it(kafka: Sandbox, kafka_cluster: KafkaCluster):
    """At most three to each leader and one to each broker, and one for each kind of group there."""
    created(kafka_cluster, "orders")
    produce(kafka, "orders", 0, 1)
    with consumer(kafka, "orders", "billing", "classic"):
        kafka_cluster.wire.sent.clear()
        kafka_cluster.read_usage(ORDERS)
        assert kafka_cluster.wire.sent == {
            "Metadata": 1,
            "ListOffsets": 4,
            "DescribeLogDirs": 2,
            "ListGroups": 3,
            "DescribeGroups": 1,
        }
        kafka_cluster.wire.sent.clear()
        kafka_cluster.read_usage(ORDERS, offsets_only=True)
        assert kafka_cluster.wire.sent == {"Metadata": 1, "ListOffsets": 4}
        kafka_cluster.wire.sent.clear()
        assert kafka_cluster.read_usage(frozenset({"none"})).topics == {}
        assert kafka_cluster.wire.sent == {"Metadata": 1}


def test_what_can_not_be_told_is_unknown_and_said(kafka: Sandbox, kafka_cluster: KafkaCluster):
    """A broker that is gone takes its partitions' offsets with it; nothing is made up."""
    created(kafka_cluster, "orders")
    produce(kafka, "orders", 1, 3)
    await_state(kafka_cluster, lambda _: usage(kafka_cluster).high_watermarks == (0, 3))
    kafka.kill(1)
    try:
        told = kafka_cluster.read_usage(ORDERS)
    finally:
        kafka.start_broker(1)
    found = told.topics["orders"]
    assert found.high_watermarks[1] == 3
    # Broker 2 may lead the partition by now, which then tells all there is to tell.
    assert found.high_watermarks[0] in (None, 0)
    said = " ".join(item.problem for item in told.not_checked)
    assert ("what broker 1 holds" in said) == (found.high_watermarks[0] is None)
