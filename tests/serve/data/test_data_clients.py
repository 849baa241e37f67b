"""Producers, consumers and transactions of librdkafka on a served cluster, in this process."""

from contextlib import closing

import pytest
from cluster.clusters import a_new_topic
from patience import eventually

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.serve.server import KafkaServer


def bootstrap(server: KafkaServer) -> dict[str, str]:
    """The configs of any client of the server."""
    return {"bootstrap.servers": ",".join(map(str, server.endpoints))}


@pytest.fixture(autouse=True)
def orders(embedded: EmbeddedCluster) -> None:
    """A topic."""
    assert EmbeddedAdmin(embedded.controller).create_topics([a_new_topic("orders")])["orders"].ok


def consume(server: KafkaServer, count: int, **configs: str) -> list[bytes | None]:
    """The values of the first records of the topic's first partition."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({**bootstrap(server), "group.id": "g", **configs})
    consumer.assign([TopicPartition("orders", 0, 0)])
    found: list[bytes | None] = []

    def read() -> list[bytes | None]:
        message = consumer.poll(1)
        if message is not None:
            assert not message.error(), message.error()
            found.append(message.value())
        return found

    with closing(consumer):
        return eventually(read, lambda values: len(values) >= count, what=f"{count} records")


def test_records_are_written_and_read(server: KafkaServer) -> None:
    """By an idempotent producer, compressed, and by a consumer at another broker's partition."""
    from confluent_kafka import Producer

    producer = Producer(
        {**bootstrap(server), "enable.idempotence": True, "compression.type": "lz4", "linger.ms": 0}
    )
    for number in range(100):
        producer.produce("orders", str(number).encode(), key=b"k", partition=0)
    assert producer.flush(10) == 0
    assert consume(server, 100) == [str(number).encode() for number in range(100)]


def test_only_committed_transactions_are_read(server: KafkaServer) -> None:
    """What was aborted is not, and a second producer of the id fences the first."""
    from confluent_kafka import KafkaError, KafkaException, Producer

    configs = {**bootstrap(server), "transactional.id": "t"}
    producer = Producer(configs)
    producer.init_transactions(10)
    for number, commit in enumerate((True, False, True)):
        producer.begin_transaction()
        producer.produce("orders", str(number).encode(), partition=0)
        producer.flush(10)
        if commit:
            producer.commit_transaction(10)
        else:
            producer.abort_transaction(10)
    assert consume(server, 2) == [b"0", b"2"]
    assert consume(server, 3, **{"isolation.level": "read_uncommitted"}) == [b"0", b"1", b"2"]
    second = Producer(configs)
    second.init_transactions(10)
    producer.begin_transaction()
    producer.produce("orders", b"3", partition=0)
    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(10)
    assert fenced.value.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED)


def test_what_is_read_and_written_in_one_transaction(server: KafkaServer) -> None:
    """A member of a group commits its offsets with what it has made of the records."""
    from confluent_kafka import Consumer, Producer

    source = Producer(bootstrap(server))
    for number in range(3):
        source.produce("orders", str(number).encode(), partition=1)
    assert source.flush(10) == 0
    consumer = Consumer(
        {
            **bootstrap(server),
            "group.id": "copies",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    producer = Producer({**bootstrap(server), "transactional.id": "copies"})
    producer.init_transactions(10)
    producer.begin_transaction()
    copied: list[bytes | None] = []

    def copy() -> list[bytes | None]:
        message = consumer.poll(0.5)
        if message is not None and message.partition() == 1:
            assert not message.error()
            producer.produce("orders", message.value(), partition=0)
            copied.append(message.value())
        return copied

    eventually(copy, lambda values: len(values) == 3, what="three records")
    position = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 10)
    producer.commit_transaction(10)
    committed = {one.partition: one.offset for one in consumer.committed(consumer.assignment(), 10)}
    assert committed[1] == 3
    consumer.close()
    assert consume(server, 3, **{"isolation.level": "read_committed"}) == [b"0", b"1", b"2"]
