"""What records change of brokers."""

from dataclasses import replace

from kgitops.cluster.embedded.image.image import BrokersImage
from kgitops.cluster.embedded.image.records import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)
from kgitops.model.cluster_state import Broker


class BrokersDelta:
    """Changes of brokers."""

    def __init__(self, image: BrokersImage) -> None:
        self._image = image
        self._changed: dict[int, Broker] = {}

    def all(self) -> tuple[Broker, ...]:
        """Every registered broker, by id."""
        if not self._changed:
            return tuple(self._image.brokers.values())
        return tuple(self.apply().brokers.values())

    def register(self, record: RegisterBrokerRecord) -> None:
        """Take in a broker."""
        self._changed[record.id] = Broker(id=record.id, rack=record.rack)

    def change(self, record: BrokerRegistrationChangeRecord) -> None:
        """Take in that a broker was fenced or unfenced."""
        broker = self._changed.get(record.id) or self._image.brokers[record.id]
        self._changed[record.id] = replace(broker, fenced=record.fenced)

    def apply(self) -> BrokersImage:
        """The next image, by id."""
        if not self._changed:
            return self._image
        merged = {**self._image.brokers, **self._changed}
        return BrokersImage(brokers={key: merged[key] for key in sorted(merged)})
