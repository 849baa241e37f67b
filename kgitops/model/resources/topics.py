"""A topic's current state, its state after a request (KIP-201), and its replication throttle.

The replication throttle (KIP-73) has two rates on a broker, and on a topic the replicas that they
apply to, each as ``PARTITION:BROKER``. A broker limits the bytes per second that it sends as a
leader and fetches as a follower, for these replicas only.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from kgitops.model.resources.names import is_internal

Assignment = tuple[tuple[int, ...], ...]
"""Broker ids per partition, by partition id; the first of each is the preferred leader (A4-44)."""

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
RATES = (LEADER_RATE, FOLLOWER_RATE)

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

_EVERY = "*"


class TopicState(Struct, frozen=True, kw_only=True):
    """The current state of a topic, with its own configs only, no broker defaults (P201-18).

    While a reassignment runs, ``assignment`` is the target set (P201-16).
    """

    name: str
    topic_id: str | None
    assignment: Assignment
    configs: Mapping[str, str] = field(default_factory=dict)
    marked_for_deletion: bool = False
    reassigning: bool = False

    @property
    def num_partitions(self) -> int:
        """The number of partitions (P201-13)."""
        return len(self.assignment)

    @property
    def replication_factor(self) -> int:
        """The number of replicas of partition 0 (P201-14)."""
        return len(self.assignment[0]) if self.assignment else 0

    @property
    def replicas_assignments(self) -> Mapping[int, tuple[int, ...]]:
        """Partition id to broker ids, in order (P201-15)."""
        return dict(enumerate(self.assignment))

    @property
    def internal(self) -> bool:
        """True if brokers own this topic (P201-20)."""
        return is_internal(self.name)


class RequestedTopicState(TopicState, frozen=True, kw_only=True):
    """The state of a topic after a request (KIP-201, RequestedTopicState).

    ``configs`` is the whole state afterwards; ``requested_configs`` has only the keys in the
    request, None for a key that it removes (P201-25…27). ``generated_replica_assignments`` is true
    if kgitops chose the assignment that this request adds (P201-23, P201-32).
    """

    requested_configs: Mapping[str, str | None] = field(default_factory=dict)
    generated_replica_assignments: bool = False

    def as_current(self) -> TopicState:
        """The topic as it is after the request."""
        return TopicState(
            name=self.name,
            topic_id=self.topic_id,
            assignment=self.assignment,
            configs=self.configs,
            marked_for_deletion=self.marked_for_deletion,
        )


def throttled_replicas(before: Assignment, after: Assignment) -> Mapping[str, str]:
    """The topic configs that throttle a move, as kafka-reassign-partitions sets them.

    Any existing replica may lead and so send; those that are added fetch. If none is added nothing
    is copied, and the mapping is empty.
    """
    leaders: list[str] = []
    followers: list[str] = []
    for partition, (old, new) in enumerate(zip(before, after, strict=False)):
        added = [broker for broker in new if broker not in old]
        if added:
            leaders += [f"{partition}:{broker}" for broker in old]
            followers += [f"{partition}:{broker}" for broker in added]
    if not followers:
        return {}
    return {LEADER_REPLICAS: ",".join(leaders), FOLLOWER_REPLICAS: ",".join(followers)}


def throttled_brokers(before: Assignment, after: Assignment) -> Mapping[int, frozenset[str]]:
    """The rates that each broker needs for a move: it sends, it fetches, or both."""
    rates: dict[int, set[str]] = {}
    for old, new in zip(before, after, strict=False):
        added = [broker for broker in new if broker not in old]
        for broker in old if added else ():
            rates.setdefault(broker, set()).add(LEADER_RATE)
        for broker in added:
            rates.setdefault(broker, set()).add(FOLLOWER_RATE)
    return {broker: frozenset(rates[broker]) for broker in sorted(rates)}


def add_throttled_replicas(existing: str | None, new: str) -> str | None:
    """A topic's list of throttled replicas with ``new`` added; None if it has them already."""
    if existing is None:
        return new
    listed = [part.strip() for part in existing.split(",") if part.strip()]
    if _EVERY in listed:
        return None
    added = [part for part in new.split(",") if part not in listed]
    return ",".join([*listed, *added]) if added else None
