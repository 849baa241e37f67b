"""The steps of random programs: requests, and the pools that their names come from.

Names come from small pools, so that requests meet what others have made. Topics' ids differ from
cluster to cluster: a step that speaks of one finds it when it is asked.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from msgspec import Struct

from kgitops.wire.apis import apis, keys
from kgitops.wire.messages import Message

Ids = Mapping[str, bytes]
"""The ids that a cluster has given to topics, by name."""

TOPICS = ("a", "b", "c.d", "c_d", "e")
BAD_TOPICS = ("", ".", "a b", "x" * 250, "__cluster_metadata")
CONFIGS: Sequence[tuple[str, str | None]] = (
    ("retention.ms", "1000"),
    ("retention.ms", "soon"),
    ("retention.ms", "-2"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "shred"),
    ("min.insync.replicas", "2"),
    ("segment.bytes", "3000000000"),
    ("segment.bytes", "1048576"),
    ("compression.type", "zstd"),
    ("no.such.config", "1"),
    ("max.message.bytes", None),
)
BROKER_CONFIGS: Sequence[tuple[str, str | None]] = (
    ("log.cleaner.threads", "2"),
    ("log.retention.ms", "86400000"),
    ("log.cleaner.threads", "-1"),
    ("num.io.threads", "9"),
)
TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
ANY, LITERAL, PREFIXED = 1, 3, 4
PRINCIPALS = ("User:a", "User:*", "Group:x", "a")
HOSTS = ("*", "10.0.0.1")
QUOTAS = (
    ("producer_byte_rate", 1e9),
    ("consumer_byte_rate", 2.5e9),
    ("request_percentage", 1e6),
    ("producer_byte_rate", -1.0),
    ("producer_byte_rate", 1.5),
    ("connection_creation_rate", 1e6),
    ("no_such_rate", 1.0),
)
TIMEOUT_MS = 30_000


class Step(Struct, frozen=True):
    """One request; ``make`` makes its message, given the ids of the cluster that is asked."""

    api: str
    version: int
    make: Callable[[Ids], Message]
    broker: int = 1

    def __str__(self) -> str:
        return f"{self.api} v{self.version}: {self.make({})}"[:500]


def step(api: str, random: Random, make: Callable[[int], Message], **more: int) -> Step:
    """A request in any version that Kafka 4.3 takes."""
    version = random.choice(apis()[keys()[api]].versions)
    message = make(version)
    return Step(api, version, lambda _: message, **more)


def topic_name(random: Random) -> str:
    """Mostly one that may be there."""
    return random.choice(BAD_TOPICS if random.random() < 0.05 else TOPICS)


def replicas(random: Random) -> list[int]:
    """Mostly brokers that are there, each once."""
    if random.random() < 0.85:
        return random.sample((1, 2, 3), random.choice((1, 2, 2, 3)))
    return random.choice(([], [1, 1], [9], [1, 9], [-1]))
