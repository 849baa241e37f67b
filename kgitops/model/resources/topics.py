"""A topic as it is, and as a request would leave it (KIP-201)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgitops.model.resources.names import is_internal

Assignment = tuple[tuple[int, ...], ...]
"""Broker ids per partition, by partition id; the first of each is the preferred leader (A4-44)."""

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
RATES = (LEADER_RATE, FOLLOWER_RATE)

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

_EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """A topic as it is, its own configs only: broker defaults are not part of it (P201-18).

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
        """How many partitions (P201-13)."""
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
        """Whether brokers own this topic (P201-20)."""
        return is_internal(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedTopicState(TopicState):
    """A topic as it would be after a request (KIP-201, RequestedTopicState).

    ``configs`` is the true state afterwards; ``requested_configs`` only what the request names,
    None for a key that it removes (P201-25…27). ``generated_replica_assignments`` is true when
    the assignment that this request adds was placed for the user (P201-23, P201-32).
    """

    requested_configs: Mapping[str, str | None] = field(default_factory=dict)
    generated_replica_assignments: bool = False


def throttled_replicas(before: Assignment, after: Assignment) -> Mapping[str, str]:
    """What a topic must name so that a move is throttled, as kafka-reassign-partitions does it.

    Any replica that is there may lead and so send; those that are added fetch. Where none is
    added nothing is copied, and the mapping is empty.
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


def beside(there: str | None, ours: str) -> str | None:
    """A topic's list with ``ours`` beside what others put there; None where it holds all anyway."""
    if there is None:
        return ours
    held = [part.strip() for part in there.split(",") if part.strip()]
    if _EVERY in held:
        return None
    added = [part for part in ours.split(",") if part not in held]
    return ",".join([*held, *added]) if added else None
