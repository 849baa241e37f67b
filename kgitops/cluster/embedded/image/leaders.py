"""Who leads a partition and who is in sync, worked out from which brokers are alive."""

from collections.abc import Iterable

from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.model.cluster_state import Broker

NO_LEADER = -1


def in_sync(brokers: Iterable[Broker], replicas: tuple[int, ...]) -> tuple[int, ...]:
    """The replicas on brokers that are alive."""
    alive = {broker.id for broker in brokers if not broker.fenced}
    return tuple(replica for replica in replicas if replica in alive)


def leader(brokers: Iterable[Broker], topic: TopicImage, partition: int) -> int:
    """The first living replica: the preferred leader when it is alive (A4-44)."""
    replicas = in_sync(brokers, topic.assignment[partition])
    return replicas[0] if replicas else NO_LEADER
