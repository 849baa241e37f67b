"""Decides AlterPartitionReassignments (A4-80)."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.controls.assignments import check_replicas
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.cluster.embedded.image.records import PartitionChangeRecord, ReassignmentRecord
from kgitops.cluster.embedded.image.state import alter_topic_request
from kgitops.cluster.embedded.refusal import Refusal, attempt, missing_right
from kgitops.model.requests import AlterStep
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult

TopicPartition = tuple[str, int]


class OngoingReassignment(Struct, frozen=True, kw_only=True):
    """A partition that is moving: all its replicas, those to add and those to remove."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def alter_partition_reassignments(
    draft: Draft,
    reassignments: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
    generated: bool = False,
) -> dict[TopicPartition, RequestResult]:
    """One result for each partition; None instead of replicas cancels.

    ``generated``: the replicas were chosen by kgitops, not by the user (P201-34).
    """
    results = {
        (name, partition): attempt(
            _check,
            draft,
            name,
            partition,
            replicas,
            allow_replication_factor_change=allow_replication_factor_change,
        )
        for (name, partition), replicas in reassignments.items()
    }
    moves: dict[str, dict[int, Sequence[int] | None]] = {}
    for key, result in results.items():
        if result.ok:
            moves.setdefault(key[0], {})[key[1]] = reassignments[key]
    for name, of_topic in moves.items():
        result = attempt(_reassign, draft, name, of_topic, generated=generated)
        results |= {(name, partition): result for partition in of_topic}
    return results


def _check(
    draft: Draft,
    name: str,
    partition: int,
    replicas: Sequence[int] | None,
    *,
    allow_replication_factor_change: bool,
) -> None:
    """Refuse to move a partition, or to cancel its move, if that is not possible."""
    if not draft.authorizer.allows_cluster(Operation.ALTER):
        raise missing_right(Operation.ALTER)
    topic = _topic(draft, name)
    if not 0 <= partition < len(topic.assignment):
        raise Refusal(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {name}:{partition}.",
        )
    if replicas is None:
        if partition not in topic.targets:
            raise Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        return
    brokers = {broker.id: broker for broker in draft.delta.brokers.all()}
    check_replicas(brokers, replicas)
    current = topic.assignment[partition]
    if len(replicas) != len(current) and not allow_replication_factor_change:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(current)} to {len(replicas)}",
        )


def _reassign(
    draft: Draft, name: str, moves: Mapping[int, Sequence[int] | None], *, generated: bool
) -> None:
    """Move partitions of one topic; policies judge the whole topic as it will be (P201-73)."""
    topic = _topic(draft, name)
    targets = {
        partition: topic.assignment[partition] if replicas is None else tuple(replicas)
        for partition, replicas in moves.items()
    }
    after = tuple(
        targets.get(partition, replicas)
        for partition, replicas in enumerate(topic.target_assignment)
    )
    request = alter_topic_request(topic, AlterStep.REPLICAS, assignment=after, generated=generated)
    draft.judge(request)
    for partition, target in targets.items():
        if moves[partition] is None:
            record = ReassignmentRecord(topic_id=topic.topic_id, partition=partition, target=None)
            draft.write(record)
        else:
            _move(draft, topic, partition, target)
    draft.accept(request)


def list_reassignments(
    draft: Draft, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, OngoingReassignment]:
    """The partitions that are moving; None asks for all.

    Raises:
        Refusal: the principal may not describe the cluster (31).
    """
    if not draft.authorizer.allows_cluster(Operation.DESCRIBE):
        raise missing_right(Operation.DESCRIBE)
    wanted = None if partitions is None else frozenset(partitions)
    by_name = draft.image.topics.by_name
    return {
        (name, partition): _ongoing(by_name[name].assignment[partition], target)
        for name in sorted(by_name)
        for partition, target in sorted(by_name[name].targets.items())
        if wanted is None or (name, partition) in wanted
    }


def finish_reassignments(draft: Draft) -> None:
    """Complete every move that was held up, except those that wait for a dead broker."""
    for topic in draft.image.topics.by_name.values():
        for partition, target in topic.targets.items():
            if _waits_for_a_dead_broker(draft, topic, partition, target):
                continue
            draft.write(
                PartitionChangeRecord(topic_id=topic.topic_id, partition=partition, replicas=target)
            )


def replicas_with_adding(topic: TopicImage, partition: int) -> tuple[int, ...]:
    """All replicas of a partition; while it moves also those to add, as Kafka counts them."""
    here = topic.assignment[partition]
    return _ongoing(here, topic.targets.get(partition, here)).replicas


def _topic(draft: Draft, name: str) -> TopicImage:
    topic = draft.delta.topics.get(name)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    return topic


def _waits_for_a_dead_broker(
    draft: Draft, topic: TopicImage, partition: int, target: tuple[int, ...]
) -> bool:
    """Return whether a replica is to be added on a broker that can't fetch it."""
    adds = set(target) - set(topic.assignment[partition])
    return any(broker.fenced and broker.id in adds for broker in draft.delta.brokers.all())


def _ongoing(current: tuple[int, ...], target: tuple[int, ...]) -> OngoingReassignment:
    adding = tuple(broker for broker in target if broker not in current)
    removing = tuple(broker for broker in current if broker not in target)
    return OngoingReassignment(replicas=(*current, *adding), adding=adding, removing=removing)


def _move(draft: Draft, topic: TopicImage, partition: int, target: tuple[int, ...]) -> None:
    if target == topic.assignment[partition] and partition not in topic.targets:
        return
    # If no replica is added, there is nothing to wait for.
    adds = set(target) - set(topic.assignment[partition])
    held = draft.faults.hold_reassignments and adds
    if held or _waits_for_a_dead_broker(draft, topic, partition, target):
        draft.write(ReassignmentRecord(topic_id=topic.topic_id, partition=partition, target=target))
    else:
        draft.write(
            PartitionChangeRecord(topic_id=topic.topic_id, partition=partition, replicas=target)
        )
