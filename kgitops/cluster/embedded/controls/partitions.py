"""Decides CreatePartitions (A4-71…73)."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from kgitops.cluster.embedded.controls.assignments import check_replica_lists, place_replicas
from kgitops.cluster.embedded.controls.reassignments import replicas_with_adding
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.records import PartitionsRecord
from kgitops.cluster.embedded.image.state import alter_topic_request
from kgitops.cluster.embedded.refusal import Refusal, attempt, duplicate
from kgitops.model.requests import AlterStep
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult


class NewPartitions(Struct, frozen=True, kw_only=True):
    """A topic's new number of partitions; ``assignments`` are the replicas of the added ones.

    None: the controller places them. ``generated``: the given replicas were placed by kgitops, not
    by the user (P201-34).
    """

    topic: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None
    generated: bool = False


def create_partitions(draft: Draft, items: Sequence[NewPartitions]) -> dict[str, RequestResult]:
    """One result for each topic."""
    times = Counter(item.topic for item in items)
    results: dict[str, RequestResult] = {}
    for item in items:
        if times[item.topic] > 1:
            results[item.topic] = duplicate("Duplicate topic name.")
        else:
            results[item.topic] = attempt(create, draft, item)
    return results


def create(draft: Draft, item: NewPartitions) -> None:
    """Add partitions to one topic.

    Raises:
        Refusal: it can't be done.
    """
    if not draft.authorizer.allows_topic(Operation.ALTER, item.topic):
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = draft.delta.topics.get(item.topic)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    current = len(topic.assignment)
    if item.count == current:
        raise Refusal(ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s).")
    if item.count < current:
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {item.topic} currently has {current} partition(s); {item.count} would not "
            "be an increase.",
        )
    added = item.count - current
    replication_factor = len(replicas_with_adding(topic, 0))
    if item.assignments is None:
        assignment = place_replicas(
            draft,
            item.topic,
            partitions=item.count,
            replication_factor=replication_factor,
            existing=topic.target_assignment,
        )
    elif len(item.assignments) != added:
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added} additional partition(s), but only {len(item.assignments)} "
            "assignment(s) were specified.",
        )
    else:
        assignment = check_replica_lists(
            draft,
            item.assignments,
            replication_factor=replication_factor,
            first_partition=current,
        )
    request = alter_topic_request(
        topic,
        AlterStep.PARTITIONS,
        assignment=topic.target_assignment + assignment,
        generated=item.generated or item.assignments is None,
    )
    draft.judge(request)
    draft.write(PartitionsRecord(topic_id=topic.topic_id, assignment=assignment))
    draft.accept(request)
