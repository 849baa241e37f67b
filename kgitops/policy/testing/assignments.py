"""Which brokers hold the replicas of a topic for which a test names only counts."""

from collections.abc import Mapping, Sequence

from kgitops.model.cluster_state import Broker
from kgitops.model.placement import place
from kgitops.model.resources.topics import Assignment

Assignments = Mapping[int, Sequence[int]]
"""Partition id, from 0 on, to the ids of the brokers that hold it."""


def assignment_of(
    name: str, partitions: int, replication_factor: int, assignments: Assignments | None
) -> Assignment:
    """The replicas that ``assignments`` give; without them they are placed evenly."""
    if assignments is not None:
        return tuple(tuple(assignments[partition]) for partition in sorted(assignments))
    return place(
        brokers_for((), replication_factor),
        partitions=partitions,
        replication_factor=replication_factor,
        seed=name,
    )


def brokers_for(assignment: Assignment, replication_factor: int) -> tuple[Broker, ...]:
    """Brokers that hold ``assignment`` and can hold so many replicas, three at least."""
    used = {broker for replicas in assignment for broker in replicas}
    return numbered(max(3, replication_factor, *used))


def numbered(count: int) -> tuple[Broker, ...]:
    """So many brokers, with ids from 1 on."""
    return tuple(Broker(id=number) for number in range(1, count + 1))
