"""Assignors of the coordinator: ``uniform`` balances and moves little, ``range`` aligns topics."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from kgitops.serve.groups.consumers.group import ModernGroup, Partition, Partitions, ReadTopic

Topics = Mapping[str, ReadTopic]
Assign = Callable[[ModernGroup, Topics], Mapping[str, Partitions]]


def uniform(group: ModernGroup, topics: Topics) -> Mapping[str, Partitions]:
    """Members have as many partitions as each other, give or take one, and keep what they can."""
    readers = _readers(group, topics)
    kept: dict[str, set[Partition]] = {member: set() for member in group.members}
    free = []
    for partition, members in readers.items():
        holder = next((m for m in members if partition in group.target.get(m, ())), None)
        if holder is None:
            free.append(partition)
        else:
            kept[holder].add(partition)
    for partition in free:
        kept[min(readers[partition], key=lambda member: len(kept[member]))].add(partition)
    _balance(kept, readers)
    return {member: frozenset(partitions) for member, partitions in kept.items()}


def by_range(group: ModernGroup, topics: Topics) -> Mapping[str, Partitions]:
    """Each topic's partitions in runs, one for each reader in the order of ids."""
    assigned: dict[str, set[Partition]] = {member: set() for member in group.members}
    for name, topic in sorted(topics.items()):
        members = _readers_of(group, name)
        for index, member in enumerate(members):
            first = _cut(index, len(members), topic.partitions)
            last = _cut(index + 1, len(members), topic.partitions)
            assigned[member] |= {(topic.id, partition) for partition in range(first, last)}
    return {member: frozenset(partitions) for member, partitions in assigned.items()}


ASSIGNORS: Mapping[str, Assign] = {"uniform": uniform, "range": by_range}
"""``group.consumer.assignors``; the first is the default."""


def assigned(group: ModernGroup, topics: Topics) -> ModernGroup:
    """The group with a target for its epoch, by the assignor that most members ask for."""
    votes = Counter(member.assignor for member in group.members.values() if member.assignor)
    chosen = max(votes, key=votes.__getitem__) if votes else next(iter(ASSIGNORS))
    return replace(
        group,
        assignor=chosen,
        topics=topics,
        target=ASSIGNORS[chosen](group, topics),
        target_epoch=group.epoch,
    )


def _cut(index: int, members: int, partitions: int) -> int:
    """The first partition of a member's run: the first members have one more where it must be."""
    share, rest = divmod(partitions, members)
    return index * share + min(index, rest)


def _readers_of(group: ModernGroup, name: str) -> Sequence[str]:
    return sorted(key for key, member in group.members.items() if name in member.reads)


def _readers(group: ModernGroup, topics: Topics) -> Mapping[Partition, Sequence[str]]:
    """The members that may have each partition, in order."""
    found: dict[Partition, Sequence[str]] = {}
    for name, topic in sorted(topics.items()):
        members = _readers_of(group, name)
        if members:
            found |= {(topic.id, partition): members for partition in range(topic.partitions)}
    return found


def _balance(kept: dict[str, set[Partition]], readers: Mapping[Partition, Sequence[str]]) -> None:
    """Move partitions, one after the other, to readers that have at least two fewer."""
    moved = True
    while moved:
        moved = False
        for holder in sorted(kept, key=lambda member: -len(kept[member])):
            for partition in sorted(kept[holder], reverse=True):
                fewest = min(readers[partition], key=lambda member: len(kept[member]))
                if len(kept[fewest]) + 1 < len(kept[holder]):
                    kept[holder].remove(partition)
                    kept[fewest].add(partition)
                    moved = True
