"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn, and who asks.

A transactional id belongs to the virtual cluster of its user, so that the same one in two virtual
clusters stands for two producers that do not fence each other (VC-120).
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.controls.reassignments import TopicPartition
from kgitops.cluster.embedded.controls.records import transactions as transaction_control
from kgitops.cluster.embedded.controls.records.transactions import DEFAULT_TIMEOUT_MS
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import TopicImage, TransactionImage
from kgitops.cluster.embedded.image.records import OffsetDetails, OffsetsDetails, PendingOffset
from kgitops.cluster.embedded.namespaces import GlobalNamespace, namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import OK, ErrorCode, RequestResult

NO_PRODUCER = -1


class ProducerId(Struct, frozen=True, kw_only=True):
    """The id and epoch that a producer writes with, or the error in their place."""

    result: RequestResult = OK
    producer_id: int = NO_PRODUCER
    epoch: int = NO_PRODUCER


class TransactionAccess(Struct, frozen=True, kw_only=True):
    """The physical transactional id that a caller writes with, or the error in its place."""

    result: RequestResult = OK
    physical: str | None = None


class TransactionDescription(Struct, frozen=True, kw_only=True):
    """A transactional id and the partitions in its transaction that the caller may see.

    Or the error in their place.
    """

    result: RequestResult = OK
    transaction: TransactionImage | None = None
    partitions: tuple[TopicPartition, ...] = ()


class TransactionCalls(Connection):
    """Calls of producers; a bound caller's ids are local ones (VC-120)."""

    def init_producer_id(
        self,
        transactional_id: str | None = None,
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        current: ProducerId | None = None,
    ) -> ProducerId:
        """A producer id and epoch; the previous producer of the transactional id is fenced.

        ``current`` is what a producer has that continues with the next epoch.
        """
        now_ms = self._now_ms()

        def decide(draft: Draft) -> ProducerId:
            try:
                return _init_producer_id(draft, transactional_id, timeout_ms, current, now_ms)
            except Refusal as refusal:
                return ProducerId(result=refusal.result)

        return self._ask(decide)

    def add_partitions_to_txn(
        self, transactional_id: str, producer: ProducerId, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, RequestResult]:
        """Add all partitions to the producer's transaction, or none; one result for each."""
        now_ms = self._now_ms()
        return self._ask(
            lambda draft: _add_partitions(draft, transactional_id, producer, partitions, now_ms)
        )

    def add_offsets_to_txn(
        self, transactional_id: str, producer: ProducerId, group: str
    ) -> RequestResult:
        """Add the group's offsets to the producer's transaction (VC-121)."""
        now_ms = self._now_ms()

        def decide(draft: Draft) -> None:
            here = namespace(draft)
            physical = here.transactional_id(Operation.WRITE, transactional_id)
            physical_group = here.group(Operation.READ, group)
            here.check_group(physical_group)
            transaction_control.add_group(draft, physical, _pair(producer), physical_group, now_ms)

        return self._ask(lambda draft: attempt(decide, draft))

    def txn_offset_commit(
        self,
        transactional_id: str,
        producer: ProducerId,
        group: str,
        offsets: Mapping[TopicPartition, int],
        details: OffsetsDetails | None = None,
    ) -> dict[TopicPartition, RequestResult]:
        """Commit offsets of the group together with the transaction; one result for each."""
        return self._ask(
            lambda draft: _txn_offset_commit(
                draft, transactional_id, producer, group, offsets, details or {}
            )
        )

    def end_txn(
        self, transactional_id: str, producer: ProducerId, *, committed: bool = True
    ) -> RequestResult:
        """Commit or abort the producer's transaction."""
        now_ms = self._now_ms()

        def decide(draft: Draft) -> None:
            physical = namespace(draft).transactional_id(Operation.WRITE, transactional_id)
            transaction_control.end_transaction(
                draft, physical, _pair(producer), committed=committed, now_ms=now_ms
            )

        return self._ask(lambda draft: attempt(decide, draft))

    def transaction_to_write(self, transactional_id: str) -> TransactionAccess:
        """The transactional id, if the caller may write with it, for Produce."""
        return self._read(lambda draft: _access(draft, transactional_id))

    def describe_transactions(
        self, transactional_ids: Sequence[str]
    ) -> dict[str, TransactionDescription]:
        """The state of each transactional id (KIP-664)."""
        return self._read(
            lambda draft: {name: _describe(namespace(draft), name) for name in transactional_ids}
        )

    def list_transactions(self) -> dict[str, TransactionImage]:
        """The transactional ids that the caller may see, by its names for them, in order."""
        return self._read(_list)

    def _now_ms(self) -> int:
        return self._controller.clock_and_ids.now_ms()


def _init_producer_id(
    draft: Draft,
    transactional_id: str | None,
    timeout_ms: int,
    current: ProducerId | None,
    now_ms: int,
) -> ProducerId:
    if transactional_id is None:
        anywhere = draft.authorizer.allows_somewhere(Operation.WRITE, ResourceType.TOPIC)
        if not anywhere and not draft.authorizer.allows_cluster(Operation.IDEMPOTENT_WRITE):
            raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        return ProducerId(producer_id=transaction_control.new_producer_id(draft), epoch=0)
    physical = namespace(draft).transactional_id(Operation.WRITE, transactional_id)
    if not transactional_id:
        raise Refusal(ErrorCode.INVALID_REQUEST, "The transactional id is empty.")
    now = transaction_control.begin_producer(
        draft,
        physical,
        timeout_ms=timeout_ms,
        current=_pair(current) if current else None,
        now_ms=now_ms,
    )
    return ProducerId(producer_id=now.producer_id, epoch=now.epoch)


def _add_partitions(
    draft: Draft,
    transactional_id: str,
    producer: ProducerId,
    partitions: Sequence[TopicPartition],
    now_ms: int,
) -> dict[TopicPartition, RequestResult]:
    here = namespace(draft)
    try:
        physical = here.transactional_id(Operation.WRITE, transactional_id)
    except Refusal as refusal:
        return dict.fromkeys(partitions, refusal.result)
    found: dict[TopicPartition, tuple[str, int]] = {}
    refused: dict[TopicPartition, RequestResult] = {}
    for key in partitions:
        try:
            found[key] = (_topic(here, Operation.WRITE, key).topic_id, key[1])
        except Refusal as refusal:
            refused[key] = refusal.result
    if refused:
        left_out = RequestResult(code=ErrorCode.OPERATION_NOT_ATTEMPTED)
        return {key: refused.get(key, left_out) for key in partitions}
    result = attempt(
        transaction_control.add_partitions,
        draft,
        physical,
        _pair(producer),
        found.values(),
        now_ms,
    )
    return dict.fromkeys(partitions, result)


def _topic(here: GlobalNamespace, operation: Operation, key: TopicPartition) -> TopicImage:
    name, partition = key
    topic = here.draft.delta.topics.get(here.topic(operation, name))
    if topic is None or not 0 <= partition < len(topic.assignment):
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return topic


def _txn_offset_commit(
    draft: Draft,
    transactional_id: str,
    producer: ProducerId,
    group: str,
    offsets: Mapping[TopicPartition, int],
    details: OffsetsDetails,
) -> dict[TopicPartition, RequestResult]:
    here = namespace(draft)
    try:
        physical = here.transactional_id(Operation.WRITE, transactional_id)
        physical_group = here.group(Operation.READ, group)
    except Refusal as refusal:
        return dict.fromkeys(offsets, refusal.result)
    results: dict[TopicPartition, RequestResult] = {}
    kept: list[PendingOffset] = []
    for (name, partition), offset in offsets.items():
        try:
            topic = _topic(here, Operation.READ, (name, partition))
        except Refusal as refusal:
            results[name, partition] = refusal.result
        else:
            remarks = details.get((name, partition), OffsetDetails())
            kept.append(
                PendingOffset(
                    group=physical_group,
                    virtual_cluster=here.virtual_cluster,
                    topic=topic.name,
                    partition=partition,
                    offset=offset,
                    leader_epoch=remarks.leader_epoch,
                    metadata=remarks.metadata,
                )
            )
    result = attempt(
        transaction_control.commit_offsets,
        draft,
        physical,
        _pair(producer),
        physical_group,
        kept,
    )
    return {key: results.get(key, result) for key in offsets}


def _access(draft: Draft, transactional_id: str) -> TransactionAccess:
    try:
        physical = namespace(draft).transactional_id(Operation.WRITE, transactional_id)
    except Refusal as refusal:
        return TransactionAccess(result=refusal.result)
    return TransactionAccess(physical=physical)


def _describe(here: GlobalNamespace, name: str) -> TransactionDescription:
    try:
        physical = here.transactional_id(Operation.DESCRIBE, name)
    except Refusal as refusal:
        return TransactionDescription(result=refusal.result)
    held = here.draft.delta.transactions.get(physical)
    if held is None:
        unknown = RequestResult(code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return TransactionDescription(result=unknown)
    partitions: list[TopicPartition] = []
    for topic_id, partition in held.contents.partitions:
        topic = here.draft.delta.topics.by_id(topic_id)
        for local in here.local_topics(topic.name)[:1] if topic else ():
            if here.may(Operation.DESCRIBE, ResourceType.TOPIC, local):
                partitions += [(local, partition)]
    return TransactionDescription(transaction=held, partitions=tuple(partitions))


def _list(draft: Draft) -> dict[str, TransactionImage]:
    here = namespace(draft)
    found = {}
    for physical, held in sorted(draft.image.transactions.by_id.items()):
        local = here.local_id(physical)
        if local is not None and here.may(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, local):
            found[local] = held
    return found


def _pair(producer: ProducerId) -> tuple[int, int]:
    return producer.producer_id, producer.epoch
