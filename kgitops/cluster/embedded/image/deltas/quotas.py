"""What records change of client quotas."""

from kgitops.cluster.embedded.image.deltas.merging import with_value
from kgitops.cluster.embedded.image.image import QuotasImage
from kgitops.cluster.embedded.image.records import ClientQuotaRecord
from kgitops.model.resources.quotas import ClientQuotaEntity


class QuotasDelta:
    """Changes of client quotas."""

    def __init__(self, image: QuotasImage) -> None:
        self._image = image
        self._changed: dict[ClientQuotaEntity, dict[str, float]] = {}

    def of(self, entity: ClientQuotaEntity) -> dict[str, float]:
        """The quotas of one entity."""
        if entity in self._changed:
            return self._changed[entity]
        return dict(self._image.quotas.get(entity, {}))

    def replay(self, record: ClientQuotaRecord) -> None:
        """Take in one quota."""
        self._changed[record.entity] = with_value(self.of(record.entity), record.key, record.value)

    def apply(self) -> QuotasImage:
        """The next image."""
        if not self._changed:
            return self._image
        merged = {**self._image.quotas, **self._changed}
        return QuotasImage(quotas={entity: quotas for entity, quotas in merged.items() if quotas})
