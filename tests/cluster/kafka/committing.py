"""Offsets committed on real brokers by nobody's member."""

import time
from collections.abc import Mapping

_PATIENCE_S = 60


def commit(configs: Mapping[str, str], group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """As a consumer does that was given its partitions by hand.

    The first one ever has to wait until brokers have made the topic of offsets.
    """
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    member = Consumer({**configs, "group.id": group, "enable.auto.commit": False})
    places = [TopicPartition(topic, part, offset) for (topic, part), offset in offsets.items()]
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            try:
                member.commit(offsets=places, asynchronous=False)
            except KafkaException as error:
                soon = (KafkaError._WAIT_COORD, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
                if error.args[0].code() not in soon or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return
    finally:
        member.close()
