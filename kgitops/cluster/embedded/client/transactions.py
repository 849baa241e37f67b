"""InitProducerId, AddOffsetsToTxn and EndTxn.

A transactional id belongs to the virtual cluster of its user, so that the same one in two virtual
clusters stands for two producers that do not fence each other (VC-120).
"""

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.client.connection import Connection
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.image.image import TransactionImage
from kgitops.cluster.embedded.image.records import ProducerIdsRecord, TransactionRecord
from kgitops.cluster.embedded.namespaces import namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import OK, ErrorCode, RequestResult

NO_PRODUCER = -1


class ProducerId(Struct, frozen=True, kw_only=True):
    """The id and epoch that a producer writes with, or the error in their place."""

    result: RequestResult = OK
    producer_id: int = NO_PRODUCER
    epoch: int = NO_PRODUCER


class TransactionCalls(Connection):
    """Calls of producers; a bound caller's ids are local ones (VC-120)."""

    def init_producer_id(self, transactional_id: str | None = None) -> ProducerId:
        """A producer id and epoch; the previous producer of the transactional id is fenced."""
        return self._ask(lambda draft: _init_producer_id(draft, transactional_id))

    def add_offsets_to_txn(
        self, transactional_id: str, producer: ProducerId, group: str
    ) -> RequestResult:
        """Add the group's offsets to the producer's transaction."""
        return self._ask(
            lambda draft: attempt(_add_offsets_to_txn, draft, transactional_id, producer, group)
        )

    def end_txn(self, transactional_id: str, producer: ProducerId) -> RequestResult:
        """End the producer's transaction."""
        return self._ask(lambda draft: attempt(_end_txn, draft, transactional_id, producer))


def _init_producer_id(draft: Draft, transactional_id: str | None) -> ProducerId:
    """A producer id; the previous producer is fenced, and its transaction is ended.

    None: an idempotent producer without transactions, which needs any right to write.
    """
    try:
        return _begin(draft, transactional_id)
    except Refusal as refusal:
        return ProducerId(result=refusal.result)


def _add_offsets_to_txn(
    draft: Draft, transactional_id: str, producer: ProducerId, group: str
) -> None:
    """Open a transaction that will commit offsets of a group of the same namespace (VC-121).

    Raises:
        Refusal: the producer has been fenced, or may not.
    """
    here = namespace(draft)
    physical = here.transactional_id(Operation.WRITE, transactional_id)
    here.check_group(here.group(Operation.READ, group))
    _write(draft, physical, replace(_held(draft, physical, producer), open=True))


def _end_txn(draft: Draft, transactional_id: str, producer: ProducerId) -> None:
    """End the transaction: it is committed or aborted.

    Raises:
        Refusal: the producer has been fenced, or may not.
    """
    physical = namespace(draft).transactional_id(Operation.WRITE, transactional_id)
    _write(draft, physical, replace(_held(draft, physical, producer), open=False))


def _begin(draft: Draft, transactional_id: str | None) -> ProducerId:
    if transactional_id is None:
        anywhere = draft.authorizer.allows_somewhere(Operation.WRITE, ResourceType.TOPIC)
        if not anywhere and not draft.authorizer.allows_cluster(Operation.IDEMPOTENT_WRITE):
            raise Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        return ProducerId(producer_id=_new_producer_id(draft), epoch=0)
    physical = namespace(draft).transactional_id(Operation.WRITE, transactional_id)
    before = draft.delta.transactions.get(physical)
    if before is None:
        now = TransactionImage(producer_id=_new_producer_id(draft), epoch=0)
    else:
        now = TransactionImage(producer_id=before.producer_id, epoch=before.epoch + 1)
    _write(draft, physical, now)
    return ProducerId(producer_id=now.producer_id, epoch=now.epoch)


def _new_producer_id(draft: Draft) -> int:
    producer_id = draft.delta.transactions.next_producer_id
    draft.write(ProducerIdsRecord(next_producer_id=producer_id + 1))
    return producer_id


def _held(draft: Draft, physical: str, producer: ProducerId) -> TransactionImage:
    held = draft.delta.transactions.get(physical)
    if held is None or held.producer_id != producer.producer_id:
        raise Refusal(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            "The producer attempted to use a producer id which is not currently assigned to its "
            "transactional id.",
        )
    if held.epoch != producer.epoch:
        raise Refusal(
            ErrorCode.PRODUCER_FENCED,
            "There is a newer producer with the same transactionalId which fences the current one.",
        )
    return held


def _write(draft: Draft, physical: str, held: TransactionImage) -> None:
    draft.write(
        TransactionRecord(
            transactional_id=physical,
            producer_id=held.producer_id,
            epoch=held.epoch,
            open=held.open,
        )
    )
