"""Checks replica assignments of clients, with the controller's error messages (A4-45)."""

from collections.abc import Sequence

from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.cluster_state import Broker
from kgitops.model.placement import PlacementError, place
from kgitops.model.resources.topics import Assignment
from kgitops.model.results import ErrorCode

ManualAssignment = Sequence[tuple[int, Sequence[int]]]
"""(partition id, broker ids) as in a request, where an id may be repeated or left out."""

_MANUAL = "The manual partition assignment includes"


def check_assignment(draft: Draft, given: ManualAssignment) -> Assignment:
    """The assignment of a new topic.

    Raises:
        Refusal: it is not valid (39).
    """
    by_partition: dict[int, Sequence[int]] = {}
    for partition, replicas in given:
        if partition in by_partition:
            raise _invalid(f"Found multiple manual partition assignments for partition {partition}")
        by_partition[partition] = replicas
    lists = check_replica_lists(draft, list(by_partition.values()), replication_factor=None)
    if sorted(by_partition) != list(range(len(by_partition))):
        raise _invalid("partitions should be a consecutive 0-based integer sequence")
    return tuple(replicas for _, replicas in sorted(zip(by_partition, lists, strict=True)))


def check_replica_lists(
    draft: Draft,
    lists: Sequence[Sequence[int]],
    *,
    replication_factor: int | None,
    first_partition: int = 0,
) -> Assignment:
    """The replica lists, checked: brokers can hold them, and their lengths agree.

    Raises:
        Refusal: they are not valid (39).
    """
    brokers = {broker.id: broker for broker in draft.delta.brokers.all()}
    for partition, replicas in enumerate(lists, start=first_partition):
        check_replicas(brokers, replicas)
        if replication_factor is None:
            replication_factor = len(replicas)
        if len(replicas) != replication_factor:
            raise _invalid(
                f"{_MANUAL} a partition with {len(replicas)} replica(s), but this is not "
                f"consistent with previous partitions, which have {replication_factor} replica(s)."
            )
        if all(brokers[broker].fenced for broker in replicas):
            raise _invalid(
                "All brokers specified in the manual partition assignment for partition "
                f"{partition} are fenced or in controlled shutdown."
            )
    return tuple(tuple(replicas) for replicas in lists)


def check_replicas(brokers: dict[int, Broker], replicas: Sequence[int]) -> None:
    """Refuse a list that is empty, or that names a broker twice or one that is not registered.

    Raises:
        Refusal: it does (39).
    """
    if not replicas:
        raise _invalid(f"{_MANUAL} an empty replica list.")
    before = None
    # Of several wrong brokers, Kafka names the one with the lowest id.
    for broker in sorted(replicas):
        if broker not in brokers:
            raise _invalid(f"{_MANUAL} broker {broker}, but no such broker is registered.")
        if broker == before:
            raise _invalid(f"{_MANUAL} the broker {broker} more than once.")
        before = broker


def place_replicas(
    draft: Draft,
    topic: str,
    *,
    partitions: int,
    replication_factor: int,
    existing: Assignment = (),
) -> Assignment:
    """The replicas of the partitions after ``existing``, as the brokers would place them.

    Raises:
        Refusal: there are not enough brokers (38).
    """
    try:
        return place(
            draft.delta.brokers.all(),
            partitions=partitions,
            replication_factor=replication_factor,
            existing=existing,
            seed=topic,
        )
    except PlacementError as error:
        reason, registered = str(error), len(draft.delta.brokers.all())
        if replication_factor > registered and not draft.options.seed:
            reason = (
                f"The target replication factor of {replication_factor} cannot be reached because "
                f"only {registered} broker(s) are registered or some brokers have all their log "
                "directories cordoned."
            )
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): {reason}",
        ) from error


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
