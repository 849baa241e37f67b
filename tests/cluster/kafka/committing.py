"""Offsets committed on real brokers by nobody's member."""

from collections.abc import Mapping
from contextlib import closing

from patience import eventually


def commit(configs: Mapping[str, str], group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """As a consumer does that was given its partitions by hand.

    The first one ever has to wait until brokers have made the topic of offsets.
    """
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    member = Consumer({**configs, "group.id": group, "enable.auto.commit": False})
    places = [TopicPartition(topic, part, offset) for (topic, part), offset in offsets.items()]
    soon = (KafkaError._WAIT_COORD, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)

    def refusal() -> KafkaError | None:
        try:
            member.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in soon:
                raise
            return error.args[0]
        return None

    with closing(member):
        eventually(refusal, lambda error: error is None, what="the group has a coordinator")
