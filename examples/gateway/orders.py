"""An ordinary client of Kafka: it knows nothing of virtual clusters, nor of a gateway.

python orders.py HOST:PORT topics|produce|consume
"""

import sys

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

TOPIC, GROUP = "Orders", "shop"
WAIT_S = 30.0


def main(servers: str, action: str) -> None:
    """Log in as alice, and do one thing."""
    login = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": "alice-secret",
    }
    if action == "topics":
        print(*sorted(AdminClient(login).list_topics(timeout=WAIT_S).topics))
    elif action == "produce":
        producer = Producer({**login, "enable.idempotence": True})
        producer.produce(TOPIC, b"one order")
        if producer.flush(WAIT_S):
            raise SystemExit("it was not written in time")
        print("written to", TOPIC)
    else:
        consumer = Consumer({**login, "group.id": GROUP, "auto.offset.reset": "earliest"})
        consumer.subscribe([TOPIC])
        message = consumer.poll(WAIT_S)
        if message is None:
            raise SystemExit("nothing came in time")
        if message.error():
            raise KafkaException(message.error())
        print("read from", message.topic(), (message.value() or b"").decode())
        consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
