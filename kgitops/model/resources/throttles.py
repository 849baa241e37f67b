"""Kafka's replication throttle: two rates on a broker, and on a topic the replicas they hold for.

A broker limits what it sends as a leader and fetches as a follower, in bytes per second, and only
for the replicas that their topic names, each as ``PARTITION:BROKER`` (KIP-73).
"""

from collections.abc import Mapping

from kgitops.model.resources.topics import Assignment

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
RATES = (LEADER_RATE, FOLLOWER_RATE)

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

_EVERY = "*"


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
