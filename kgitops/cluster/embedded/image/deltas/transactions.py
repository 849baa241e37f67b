"""What records change of producers and their transactions."""

from kgitops.cluster.embedded.image.image import TransactionImage, TransactionsImage
from kgitops.cluster.embedded.image.records import ProducerIdsRecord, TransactionRecord


class TransactionsDelta:
    """Changes of producers and their transactions."""

    def __init__(self, image: TransactionsImage) -> None:
        self._image = image
        self._changed: dict[str, TransactionImage] = {}
        self.next_producer_id = image.next_producer_id

    def get(self, transactional_id: str) -> TransactionImage | None:
        """Who may write under this physical id."""
        return self._changed.get(transactional_id) or self._image.by_id.get(transactional_id)

    def open(self) -> frozenset[str]:
        """The physical ids of which a transaction is open."""
        held = {**self._image.by_id, **self._changed}
        return frozenset(name for name, transaction in held.items() if transaction.open)

    def replay(self, record: ProducerIdsRecord | TransactionRecord) -> None:
        """Take in a producer id that was given away, or what became of a transactional id."""
        match record:
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case TransactionRecord():
                self._changed[record.transactional_id] = TransactionImage(
                    producer_id=record.producer_id, epoch=record.epoch, open=record.open
                )

    def apply(self) -> TransactionsImage:
        """The next image."""
        if not self._changed and self.next_producer_id == self._image.next_producer_id:
            return self._image
        return TransactionsImage(
            next_producer_id=self.next_producer_id, by_id={**self._image.by_id, **self._changed}
        )
