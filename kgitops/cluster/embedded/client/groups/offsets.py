"""OffsetCommit, OffsetFetch and OffsetDelete.

Offsets are kept by physical group and topic, so that a topic's two names, or a renamed link, have
the same (VC-045).
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.controls import groups as group_control
from kgitops.cluster.embedded.controls.reassignments import TopicPartition
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import GroupImage
from kgitops.cluster.embedded.image.records import (
    GroupRecord,
    OffsetDetails,
    OffsetsDetails,
    RemoveGroupRecord,
)
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import OK, ErrorCode, RequestResult

NO_GROUP = Refusal(ErrorCode.GROUP_ID_NOT_FOUND, "The group id does not exist.")
_NO_DETAILS = OffsetDetails()
_UNSTABLE = RequestResult(code=ErrorCode.UNSTABLE_OFFSET_COMMIT)


class FetchedOffsets(Struct, frozen=True, kw_only=True):
    """Committed offsets of a group, and the partitions whose offsets the caller may not see.

    Partitions without a committed offset are left out, details are of those that have any.
    """

    result: RequestResult = OK
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    details: OffsetsDetails = field(default_factory=dict)
    refused: Mapping[TopicPartition, RequestResult] = field(default_factory=dict)


class OffsetCalls(Connection):
    """Calls about committed offsets; a bound caller's names are local ones (VC-111)."""

    def offset_commit(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        details: OffsetsDetails | None = None,
        refused: Mapping[TopicPartition, ErrorCode] | None = None,
    ) -> dict[TopicPartition, RequestResult]:
        """Commit offsets of the group; one result for each partition.

        ``refused`` has the coordinator's errors, for partitions that have no other.
        """
        return self._ask(
            lambda draft: _offset_commit(draft, group, offsets, details or {}, refused or {})
        )

    def offset_fetch(
        self,
        group: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        stable: bool = False,
    ) -> FetchedOffsets:
        """Offsets that the group has committed in these partitions, or in all.

        ``stable`` refuses (88) those that an open transaction may change (KIP-447).
        """
        return self._read_groups(lambda draft: _offset_fetch(draft, group, partitions, stable))

    def offset_delete(
        self, group: str, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, RequestResult]:
        """Delete committed offsets of the group; one result for each partition."""
        return self._ask(lambda draft: _offset_delete(draft, group, partitions))


def check_known(here: GlobalNamespace, physical: str) -> None:
    """Refuse a request about a group that does not exist in this namespace.

    Raises:
        Refusal: it does not (69).
    """
    if here.draft.delta.groups.get(physical) is None or here.local_group(physical) is None:
        raise NO_GROUP


def _offset_commit(
    draft: Draft,
    group: str,
    offsets: Mapping[TopicPartition, int],
    details: OffsetsDetails,
    refused: Mapping[TopicPartition, ErrorCode],
) -> dict[TopicPartition, RequestResult]:
    """One result for each partition; the group then belongs to its virtual cluster (VC-113)."""
    here = namespace(draft)
    try:
        physical = here.group(Operation.READ, group)
        here.check_group(physical)
    except Refusal as refusal:
        return dict.fromkeys(offsets, refusal.result)
    return {
        key: attempt(_commit, here, physical, key, offset, details.get(key), refused.get(key))
        for key, offset in offsets.items()
    }


def _offset_fetch(
    draft: Draft, group: str, partitions: Iterable[TopicPartition] | None, stable: bool
) -> FetchedOffsets:
    """Offsets that the group has committed in these partitions; None: in all."""
    here = namespace(draft)
    try:
        physical = here.group(Operation.DESCRIBE, group)
    except Refusal as refusal:
        return FetchedOffsets(result=refusal.result)
    committed = _committed(here, physical)
    pending = _pending(draft, physical) if stable else frozenset()
    if partitions is None:
        return _fetched(committed, _visible(here, committed), {}, pending)
    physical_keys: dict[TopicPartition, TopicPartition] = {}
    refused: dict[TopicPartition, RequestResult] = {}
    for name, partition in partitions:
        try:
            physical_keys[name, partition] = here.topic(Operation.DESCRIBE, name), partition
        except Refusal as refusal:
            refused[name, partition] = refusal.result
    return _fetched(committed, physical_keys, refused, pending)


def _pending(draft: Draft, physical: str) -> frozenset[TopicPartition]:
    """The partitions in which open transactions have offsets of the group."""
    return frozenset(
        (offset.topic, offset.partition)
        for transaction in draft.image.transactions.by_id.values()
        if transaction.open
        for offset in transaction.contents.offsets
        if offset.group == physical
    )


def _fetched(
    group: GroupImage,
    keys: Mapping[TopicPartition, TopicPartition],
    refused: Mapping[TopicPartition, RequestResult],
    pending: frozenset[TopicPartition],
) -> FetchedOffsets:
    """Offsets and details by the caller's names, of which ``keys`` has the physical ones."""
    refused = {
        **refused,
        **{key: _UNSTABLE for key, physical in keys.items() if physical in pending},
    }
    keys = {key: physical for key, physical in keys.items() if key not in refused}
    return FetchedOffsets(
        offsets={
            key: group.committed[physical]
            for key, physical in keys.items()
            if physical in group.committed
        },
        details={
            key: group.details[physical]
            for key, physical in keys.items()
            if physical in group.details
        },
        refused=refused,
    )


def _offset_delete(
    draft: Draft, group: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, RequestResult]:
    """One result for each partition, also for those without a committed offset."""
    here = namespace(draft)
    try:
        physical = here.group(Operation.DELETE, group)
        check_known(here, physical)
        subscribed = _subscribed(draft, physical)
    except Refusal as refusal:
        return dict.fromkeys(partitions, refusal.result)
    return {key: attempt(_forget, here, physical, key, subscribed) for key in partitions}


def _subscribed(draft: Draft, physical: str) -> frozenset[str]:
    """The topics that the group's members read: their offsets are in use.

    Raises:
        Refusal: it has members that do not tell (68).
    """
    if not draft.has_members(physical):
        return frozenset()
    topics = draft.members.subscribed_topics(physical) if draft.members else None
    if topics is None:
        raise Refusal(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    return topics


def _commit(
    here: GlobalNamespace,
    physical: str,
    key: TopicPartition,
    offset: int,
    details: OffsetDetails | None,
    error: ErrorCode | None,
) -> None:
    name, partition = key
    topic = here.topic(Operation.READ, name), partition
    if error:
        group_control.check_partition(here.draft, *topic)
        raise Refusal(error)
    group_control.commit(
        here.draft,
        physical,
        {topic: offset},
        virtual_cluster=here.virtual_cluster,
        details={topic: details} if details and details != _NO_DETAILS else {},
    )


def _committed(here: GlobalNamespace, physical: str) -> GroupImage:
    group = here.draft.delta.groups.get(physical)
    # A group of that id that was made elsewhere is hidden from the caller (VC-117).
    return group if group and here.local_group(physical) is not None else GroupImage()


def _visible(here: GlobalNamespace, group: GroupImage) -> dict[TopicPartition, TopicPartition]:
    """The offsets' physical names by the caller's first, if it may describe the topic (VC-039)."""
    return {
        (name, partition): (topic, partition)
        for topic, partition in sorted(group.committed)
        for name in here.local_topics(topic)[:1]
        if here.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
    }


def _forget(
    here: GlobalNamespace, physical: str, key: TopicPartition, subscribed: frozenset[str]
) -> None:
    name, partition = key
    deleted = here.topic(Operation.READ, name), partition
    if name in subscribed:
        raise Refusal(
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
            "Deleting offsets of a topic is forbidden while the consumer group is actively "
            "subscribed to it.",
        )
    group = here.draft.delta.groups.get(physical)
    if group is None or deleted not in group.committed:
        return
    here.draft.write(
        RemoveGroupRecord(group=physical),
        GroupRecord(
            group=physical,
            virtual_cluster=group.virtual_cluster,
            committed={k: group.committed[k] for k in group.committed if k != deleted},
            details={k: group.details[k] for k in group.details if k != deleted},
        ),
    )
