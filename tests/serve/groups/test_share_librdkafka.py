"""Share consumers of librdkafka, and its admin client, at a served cluster (KIP-932)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from patience import eventually
from serve.answers.groups.group_client import make_topic
from serve.plain_requests import ask
from serve.raw_client import RawClient
from serve.served import cluster_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.server import KafkaServer

if TYPE_CHECKING:
    from confluent_kafka import Message, ShareConsumer

EARLIEST = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}


@pytest.fixture
def embedded() -> Iterator[EmbeddedCluster]:
    """A cluster whose share groups notice changes soon."""
    configs = {
        "group.share.heartbeat.interval.ms": "50",
        "group.share.record.lock.duration.ms": "1000",
    }
    cluster = cluster_of(static_configs=configs)
    yield cluster
    cluster.close()


@pytest.fixture
def addresses(server: KafkaServer, client: RawClient) -> str:
    """The brokers of a cluster with 40 records in the topic ``orders``, which ``g`` reads."""
    from confluent_kafka import Producer

    make_topic(client, "orders", 4)
    resource = {"resource_type": 32, "resource_name": "g", "configs": EARLIEST}
    ask(client, "IncrementalAlterConfigs", 1, resources=resource)
    addresses = ",".join(map(str, server.endpoints))
    producer = Producer({"bootstrap.servers": addresses, "log_level": 2})
    for index in range(40):
        producer.produce("orders", str(index).encode(), partition=index % 4)
    assert producer.flush(30) == 0
    return addresses


def consumer_of(addresses: str, **more: object) -> "ShareConsumer":
    """A member of the group ``g`` that reads ``orders``."""
    from confluent_kafka import ShareConsumer

    configs = {"bootstrap.servers": addresses, "group.id": "g", "log_level": 2}
    consumer = ShareConsumer({**configs, **more})
    consumer.subscribe(["orders"])
    return consumer


def poll_until(
    consumers: Sequence["ShareConsumer"], is_done: Callable[[list["Message"]], bool]
) -> list["Message"]:
    """The records that the consumers get until it is done."""
    records: list[Message] = []

    def polled() -> list["Message"]:
        for consumer in consumers:
            records.extend(item for item in consumer.poll(timeout=0.1) if item.error() is None)
        return records

    return eventually(polled, is_done, what="records")


def test_two_consumers_share_all_partitions(addresses: str) -> None:
    """Every record goes to one of them, and after its acknowledgement to nobody."""
    with closing(consumer_of(addresses)) as first, closing(consumer_of(addresses)) as second:
        records = poll_until([first, second], lambda records: len(records) >= 40)
        assert sorted(int(item.value()) for item in records) == list(range(40))
        first.commit_sync()
        second.commit_sync()
    with closing(consumer_of(addresses)) as third:
        assert not third.poll(timeout=2)


def test_records_that_are_released_and_rejected(addresses: str) -> None:
    """The released ones come again, as the second delivery."""
    from confluent_kafka import AcknowledgeType

    explicit = {"share.acknowledgement.mode": "explicit"}
    with closing(consumer_of(addresses, **explicit)) as consumer:
        seen: list[int] = []

        def release_odd(records: list["Message"]) -> bool:
            for item in records[len(seen) :]:
                number = int(item.value())
                again = number in seen
                released = number % 2 == 1 and not again
                kind = AcknowledgeType.RELEASE if released else AcknowledgeType.REJECT
                consumer.acknowledge(item, kind)
                seen.append(number)
            return len(seen) >= 60

        poll_until([consumer], release_odd)
        odd = list(range(1, 40, 2))
        assert sorted(seen) == sorted([*range(40), *odd])
        consumer.commit_sync()
