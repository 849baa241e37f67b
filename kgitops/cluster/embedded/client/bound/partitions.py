"""DeleteRecords and reassignments by the names of a virtual cluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kgitops.cluster.embedded.controls import delete_records as records_control
from kgitops.cluster.embedded.controls import reassignments as reassignment_control
from kgitops.cluster.embedded.controls.delete_records import DeletedRecords
from kgitops.cluster.embedded.controls.reassignments import OngoingReassignment, TopicPartition
from kgitops.cluster.embedded.namespaces import VirtualClusterNamespace, localized
from kgitops.cluster.embedded.refusal import Refusal, missing_right
from kgitops.model.resources.acls import Operation
from kgitops.model.results import RequestResult
from kgitops.virtual_clusters.rights import ApiKey

T = TypeVar("T")


def delete_records(
    tenant: VirtualClusterNamespace, offsets: Mapping[TopicPartition, int], *, broker: int | None
) -> dict[TopicPartition, DeletedRecords]:
    """Records are gone for everyone who shares the topic (VC-036)."""
    outcomes: dict[TopicPartition, DeletedRecords] = {}
    for name, of_topic in _by_topic(offsets).items():
        try:
            link = tenant.linked(Operation.DELETE, name)
        except Refusal as refusal:
            denied = DeletedRecords(result=refusal.result)
            outcomes |= {(name, partition): denied for partition in of_topic}
            continue
        physical = {(link.topic, partition): offset for partition, offset in of_topic.items()}
        with tenant.authorized(link):
            deleted = records_control.delete_records(tenant.draft, physical, broker=broker)
        outcomes |= {
            (name, partition): replace(item, result=localized(item.result, topic, name))
            for (topic, partition), item in deleted.items()
        }
    return outcomes


def alter_partition_reassignments(
    tenant: VirtualClusterNamespace,
    reassignments: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool,
) -> dict[TopicPartition, RequestResult]:
    """Where replicas are is no business of virtual clusters (VC-002, VC-152)."""
    if not tenant.draft.authorizer.allows_cluster(Operation.ALTER):
        return dict.fromkeys(reassignments, missing_right(Operation.ALTER).result)
    results: dict[TopicPartition, RequestResult] = {}
    for name, of_topic in _by_topic(reassignments).items():
        try:
            link = tenant.existing(name)
        except Refusal as refusal:
            results |= {(name, partition): refusal.result for partition in of_topic}
            continue
        moves = {(link.topic, partition): replicas for partition, replicas in of_topic.items()}
        with tenant.authorized(link):
            moved = reassignment_control.alter_partition_reassignments(
                tenant.draft, moves, allow_replication_factor_change=allow_replication_factor_change
            )
        results |= {
            (name, partition): localized(result, topic, name)
            for (topic, partition), result in moved.items()
        }
    return results


def list_reassignments(
    tenant: VirtualClusterNamespace, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, OngoingReassignment]:
    """What moves of the linked topics, by the names of their links (VC-159).

    Raises:
        Refusal: the principal may describe neither the virtual cluster nor the physical one (31).
    """
    if not tenant.request(ApiKey.LIST_PARTITION_REASSIGNMENTS):
        raise missing_right(Operation.DESCRIBE)
    with tenant.authorized():
        moving = reassignment_control.list_reassignments(tenant.draft, None)
    found = {
        (name, partition): ongoing
        for (topic, partition), ongoing in moving.items()
        for name in tenant.local_topics(topic)
    }
    wanted = found.keys() if partitions is None else found.keys() & set(partitions)
    return {key: found[key] for key in sorted(wanted)}


def _by_topic(items: Mapping[TopicPartition, T]) -> dict[str, dict[int, T]]:
    by_topic: dict[str, dict[int, T]] = {}
    for (name, partition), item in items.items():
        by_topic.setdefault(name, {})[partition] = item
    return by_topic
