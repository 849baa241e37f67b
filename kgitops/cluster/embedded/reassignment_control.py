"""Decides AlterPartitionReassignments (A4-80)."""

from collections.abc import Mapping, Sequence

from kgitops.cluster.embedded.assignments import check_replicas
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image import TopicImage
from kgitops.cluster.embedded.records import PartitionChangeRecord, ReassignmentRecord
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult

TopicPartition = tuple[str, int]


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
        raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
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


def finish_reassignments(draft: Draft) -> None:
    """Complete every move that was held up."""
    for topic in draft.image.topics.by_name.values():
        for partition, target in topic.targets.items():
            draft.write(
                PartitionChangeRecord(topic_id=topic.topic_id, partition=partition, replicas=target)
            )


def _move(draft: Draft, topic: TopicImage, partition: int, target: tuple[int, ...]) -> None:
    if target == topic.assignment[partition] and partition not in topic.targets:
        return
    # Where no replica is added there is nothing to wait for.
    adds = set(target) - set(topic.assignment[partition])
    if draft.faults.hold_reassignments and adds:
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
