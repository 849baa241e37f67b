"""Decides AlterPartitionReassignments (A4-80)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgitops.cluster.embedded.assignments import check_replicas
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image import TopicImage
from kgitops.cluster.embedded.records import PartitionChangeRecord, ReassignmentRecord
from kgitops.cluster.embedded.refusal import Refusal, attempt, needs
from kgitops.model.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OngoingReassignment:
    """A partition on the move: all its replicas, those that come and those that go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def alter_partition_reassignments(
    draft: Draft,
    reassignments: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
) -> dict[TopicPartition, RequestResult]:
    """One result for each partition; None instead of replicas cancels."""
    return {
        (name, partition): attempt(
            reassign,
            draft,
            name,
            partition,
            replicas,
            allow_replication_factor_change=allow_replication_factor_change,
        )
        for (name, partition), replicas in reassignments.items()
    }


def reassign(
    draft: Draft,
    name: str,
    partition: int,
    replicas: Sequence[int] | None,
    *,
    allow_replication_factor_change: bool = True,
) -> None:
    """Move one partition, or cancel its move.

    Raises:
        Refusal: it can't be done.
    """
    if not draft.authorizer.cluster(Operation.ALTER):
        raise needs(Operation.ALTER)
    topic = draft.delta.topics.get(name)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    if not 0 <= partition < len(topic.assignment):
        raise Refusal(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {name}:{partition}.",
        )
    if replicas is None:
        _cancel(draft, topic, partition)
        return
    brokers = {broker.id: broker for broker in draft.delta.brokers.all()}
    check_replicas(brokers, replicas)
    current = topic.assignment[partition]
    if len(replicas) != len(current) and not allow_replication_factor_change:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(current)} to {len(replicas)}",
        )
    _move(draft, topic, partition, tuple(replicas))


def list_ongoing(
    draft: Draft, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, OngoingReassignment]:
    """The partitions that are on the move; None asks for all.

    Raises:
        Refusal: the principal may not describe the cluster (31).
    """
    if not draft.authorizer.cluster(Operation.DESCRIBE):
        raise needs(Operation.DESCRIBE)
    wanted = None if partitions is None else frozenset(partitions)
    by_name = draft.image.topics.by_name
    return {
        (name, partition): _ongoing(by_name[name].assignment[partition], target)
        for name in sorted(by_name)
        for partition, target in sorted(by_name[name].targets.items())
        if wanted is None or (name, partition) in wanted
    }


def finish_reassignments(draft: Draft) -> None:
    """Complete every move that was held up, but for those that wait for a dead broker."""
    for topic in draft.image.topics.by_name.values():
        for partition, target in topic.targets.items():
            if _waits_for_a_dead_broker(draft, topic, partition, target):
                continue
            draft.write(
                PartitionChangeRecord(topic_id=topic.topic_id, partition=partition, replicas=target)
            )


def replicas_on_the_way(topic: TopicImage, partition: int) -> tuple[int, ...]:
    """All replicas of a partition: while it moves also those that come, as Kafka counts them."""
    here = topic.assignment[partition]
    return _ongoing(here, topic.targets.get(partition, here)).replicas


def _waits_for_a_dead_broker(
    draft: Draft, topic: TopicImage, partition: int, target: tuple[int, ...]
) -> bool:
    """Whether a replica is to come to a broker that can't fetch it."""
    adds = set(target) - set(topic.assignment[partition])
    return any(broker.fenced and broker.id in adds for broker in draft.delta.brokers.all())


def _ongoing(current: tuple[int, ...], target: tuple[int, ...]) -> OngoingReassignment:
    adding = tuple(broker for broker in target if broker not in current)
    removing = tuple(broker for broker in current if broker not in target)
    return OngoingReassignment(replicas=(*current, *adding), adding=adding, removing=removing)


def _move(draft: Draft, topic: TopicImage, partition: int, target: tuple[int, ...]) -> None:
    if target == topic.assignment[partition] and partition not in topic.targets:
        return
    # Where no replica is added there is nothing to wait for.
    adds = set(target) - set(topic.assignment[partition])
    held = draft.faults.hold_reassignments and adds
    if held or _waits_for_a_dead_broker(draft, topic, partition, target):
        draft.write(ReassignmentRecord(topic_id=topic.topic_id, partition=partition, target=target))
    else:
        draft.write(
            PartitionChangeRecord(topic_id=topic.topic_id, partition=partition, replicas=target)
        )


def _cancel(draft: Draft, topic: TopicImage, partition: int) -> None:
    if partition not in topic.targets:
        raise Refusal(
            ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
        )
    draft.write(ReassignmentRecord(topic_id=topic.topic_id, partition=partition, target=None))
