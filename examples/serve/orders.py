"""A program that takes orders and adds them up by customer. The tests beside it give it a Kafka."""

import json
from collections import Counter
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, Producer

TOPIC = "orders"
_SECONDS = 30


def place(servers: str, orders: Mapping[str, int]) -> None:
    """Write an order for each customer."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for customer, amount in orders.items():
        producer.produce(TOPIC, key=customer, value=json.dumps({"amount": amount}))
    if producer.flush(_SECONDS):
        raise TimeoutError("not all orders were taken")


def add_up(servers: str, count: int) -> Mapping[str, int]:
    """Read so many orders as the group totals, which goes on there the next time."""
    configs = {"bootstrap.servers": servers, "group.id": "totals", "auto.offset.reset": "earliest"}
    consumer = Consumer(configs)
    consumer.subscribe([TOPIC])
    totals: Counter[str] = Counter()
    try:
        for message in consumer.consume(count, timeout=_SECONDS):
            if message.error():
                raise KafkaException(message.error())
            totals[message.key().decode()] += json.loads(message.value())["amount"]
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return totals
