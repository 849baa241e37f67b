"""DeleteRecords, reassignments, elections, the bytes of replicas, rights to records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.client.connection import (
    UNSUPPORTED,
    Connection,
    before_policies,
    without_message,
)
from kgitops.cluster.embedded.controls import reassignments as reassignment_control
from kgitops.cluster.embedded.controls.reassignments import (
    OngoingReassignment,
    TopicPartition,
    replicas_with_adding,
)
from kgitops.cluster.embedded.controls.records import delete_records as records_control
from kgitops.cluster.embedded.controls.records.delete_records import DeletedRecords
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import NO_LEADER, TopicImage, leader
from kgitops.cluster.embedded.namespaces import (
    GlobalNamespace,
    namespace,
    virtual_cluster_namespace,
)
from kgitops.cluster.embedded.refusal import Refusal, attempt, missing_right
from kgitops.model.resources.acls import Operation
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey

T = TypeVar("T")


class TopicAccess(Struct, frozen=True, kw_only=True):
    """The topic that a caller's name leads to, or the error in its place."""

    result: RequestResult = OK
    topic: TopicImage | None = None


class PartitionCalls(Connection):
    """Calls about partitions."""

    def authorize_topics(
        self, operation: Operation, names: Iterable[str]
    ) -> dict[str, TopicAccess]:
        """The topics of these names, each if the caller may do the operation on it.

        Produce, Fetch and their kin ask here; bound callers name links (VC-029).
        """
        return self._read(lambda draft: {name: _topic(draft, operation, name) for name in names})

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, RequestResult]:
        """Move partitions, or cancel their moves with None; there is no validate_only (A4-80)."""
        return self._decide(
            lambda draft: _alter_reassignments(
                draft,
                reassignments,
                allow_replication_factor_change=allow_replication_factor_change,
            ),
            reassignments,
        )

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OngoingReassignment]:
        """The partitions that are moving; None asks for all.

        Raises:
            Refusal: the principal may not see them.
        """
        return self._read(lambda draft: _list_reassignments(draft, partitions))

    def elect_leaders(
        self, partitions: Iterable[TopicPartition] | None, *, unclean: bool
    ) -> dict[TopicPartition, RequestResult]:
        """Elect leaders, which the preferred replicas are as soon as they can (A4-44).

        None asks for all partitions. So each has the right leader already, or can't have it.

        Raises:
            Refusal: the principal may not.
        """
        return self._read(lambda draft: _elect_leaders(draft, partitions, unclean=unclean))

    def describe_log_dir(
        self, broker: int, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        """The bytes of each replica on the broker, or of these ones.

        Raises:
            Refusal: the principal may not see them.
        """
        return self._read(lambda draft: _describe_log_dir(draft, broker, partitions))

    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        validate_only: bool = False,
        broker: int | None = None,
        version: int = 1,
    ) -> dict[TopicPartition, DeletedRecords]:
        """Delete records below offsets. ``broker`` is the one asked; None asks each leader.

        ``validate_only`` and error messages are KIP-201's: from version 1 on in seed mode, never in
        KRaft (C-22). A policy's denial is POLICY_VIOLATION on each partition of the topic; in
        version 0 it is UNKNOWN_SERVER_ERROR and the log has the message (P201-108).
        """
        seed = self._controller.options.seed
        if validate_only and not (seed and version >= 1):
            return {key: DeletedRecords(result=UNSUPPORTED) for key in offsets}
        outcomes = self._ask(
            lambda draft: _delete_records(draft, offsets, broker=broker),
            validate_only=validate_only,
        )
        outcomes = {
            (name, partition): replace(
                item, result=before_policies("DeleteRecords", version, name, item.result)
            )
            for (name, partition), item in outcomes.items()
        }
        if seed and version >= 1:
            return outcomes
        return {
            key: replace(item, result=without_message(item.result))
            for key, item in outcomes.items()
        }


def _topic(draft: Draft, operation: Operation, name: str) -> TopicAccess:
    try:
        physical = namespace(draft).topic(operation, name)
    except Refusal as refusal:
        return TopicAccess(result=refusal.result)
    return TopicAccess(topic=draft.delta.topics.get(physical))


def _delete_records(
    draft: Draft, offsets: Mapping[TopicPartition, int], *, broker: int | None
) -> dict[TopicPartition, DeletedRecords]:
    """Delete records, for all virtual clusters that share the topic (VC-036)."""
    here = virtual_cluster_namespace(draft)
    if here is None:
        return records_control.delete_records(draft, offsets, broker=broker)
    outcomes: dict[TopicPartition, DeletedRecords] = {}
    for name, of_topic in _by_topic(offsets).items():
        try:
            link = here.linked(Operation.DELETE, name)
        except Refusal as refusal:
            denied = DeletedRecords(result=refusal.result)
            outcomes |= {(name, partition): denied for partition in of_topic}
            continue
        physical = {(link.topic, partition): offset for partition, offset in of_topic.items()}
        with here.authorized(link):
            deleted = records_control.delete_records(draft, physical, broker=broker)
        outcomes |= {
            (name, partition): replace(item, result=here.localized(item.result, name))
            for (_, partition), item in deleted.items()
        }
    return outcomes


def _alter_reassignments(
    draft: Draft,
    reassignments: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool,
) -> dict[TopicPartition, RequestResult]:
    """Move replicas, which takes a right on the physical cluster (VC-002, VC-152)."""
    here = virtual_cluster_namespace(draft)
    if here is None:
        return reassignment_control.alter_partition_reassignments(
            draft, reassignments, allow_replication_factor_change=allow_replication_factor_change
        )
    if not draft.authorizer.allows_cluster(Operation.ALTER):
        return dict.fromkeys(reassignments, missing_right(Operation.ALTER).result)
    results: dict[TopicPartition, RequestResult] = {}
    for name, of_topic in _by_topic(reassignments).items():
        try:
            link = here.existing_link(name)
        except Refusal as refusal:
            results |= {(name, partition): refusal.result for partition in of_topic}
            continue
        moves = {(link.topic, partition): replicas for partition, replicas in of_topic.items()}
        with here.authorized(link):
            moved = reassignment_control.alter_partition_reassignments(
                draft, moves, allow_replication_factor_change=allow_replication_factor_change
            )
        results |= {
            (name, partition): here.localized(result, name)
            for (_, partition), result in moved.items()
        }
    return results


def _list_reassignments(
    draft: Draft, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, OngoingReassignment]:
    """List the partitions that are moving; a bound caller's by the names of its links (VC-159).

    Raises:
        Refusal: the principal may describe neither the virtual cluster nor the physical one (31).
    """
    here = virtual_cluster_namespace(draft)
    if here is None:
        return reassignment_control.list_reassignments(draft, partitions)
    if not here.allows_request(ApiKey.LIST_PARTITION_REASSIGNMENTS):
        raise missing_right(Operation.DESCRIBE)
    with here.authorized():
        moving = reassignment_control.list_reassignments(draft, None)
    ongoing = {
        (name, partition): move
        for (topic, partition), move in moving.items()
        for name in here.local_topics(topic)
    }
    keys = ongoing.keys() if partitions is None else ongoing.keys() & set(partitions)
    return {key: ongoing[key] for key in sorted(keys)}


def _elect_leaders(
    draft: Draft, partitions: Iterable[TopicPartition] | None, *, unclean: bool
) -> dict[TopicPartition, RequestResult]:
    if not draft.authorizer.allows_cluster(Operation.ALTER):
        raise missing_right(Operation.ALTER)
    here = namespace(draft)
    if partitions is None:
        partitions = [
            (name, partition)
            for name in here.topics()
            if (topic := here.find_topic(name)) is not None
            for partition in range(len(topic.assignment))
        ]
    return {
        (name, partition): attempt(_elect, here, name, partition, unclean=unclean)
        for name, partition in partitions
    }


def _elect(here: GlobalNamespace, name: str, partition: int, *, unclean: bool) -> None:
    topic = here.find_topic(name)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic is None:
        raise Refusal(unknown, f"No such topic as {name}")
    if not 0 <= partition < len(topic.assignment):
        raise Refusal(unknown, f"No such partition as {name}-{partition}")
    elected = leader(here.draft.delta.brokers.all(), topic, partition)
    if elected == topic.assignment[partition][0] or (unclean and elected != NO_LEADER):
        raise Refusal(
            ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        )
    if unclean:
        raise Refusal(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
            "Eligible topic partition leaders are not available.",
        )
    raise Refusal(
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
    )


def _describe_log_dir(
    draft: Draft, broker: int, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, int]:
    """The replicas of a broker; a bound caller's by the names of its links (VC-159)."""
    here = namespace(draft)
    bound = virtual_cluster_namespace(draft)
    if bound is None:
        allowed = draft.authorizer.allows_cluster(Operation.DESCRIBE)
    else:
        allowed = bound.allows_request(ApiKey.DESCRIBE_LOG_DIRS)
    if not allowed:
        raise missing_right(Operation.DESCRIBE)
    wanted = None if partitions is None else frozenset(partitions)
    names = here.topics() if wanted is None else sorted({name for name, _ in wanted})
    return {
        (name, partition): topic.offsets_of(partition)[2]
        for name in names
        if (topic := here.find_topic(name)) is not None
        for partition in range(len(topic.assignment))
        if broker in replicas_with_adding(topic, partition)
        and (wanted is None or (name, partition) in wanted)
    }


def _by_topic(items: Mapping[TopicPartition, T]) -> dict[str, dict[int, T]]:
    by_topic: dict[str, dict[int, T]] = {}
    for (name, partition), item in items.items():
        by_topic.setdefault(name, {})[partition] = item
    return by_topic
