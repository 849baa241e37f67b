"""What records change of brokers' dynamic configs."""

from kgitops.cluster.embedded.image.deltas.merging import with_value
from kgitops.cluster.embedded.image.image import ConfigsImage
from kgitops.cluster.embedded.image.records import ConfigRecord


class ConfigsDelta:
    """Changes of brokers' dynamic configs."""

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self._changed: dict[str, dict[str, str]] = {}

    def of_broker(self, broker: str) -> dict[str, str]:
        """The dynamic configs of one broker; ``""`` for those of all."""
        if broker in self._changed:
            return self._changed[broker]
        return dict(self._image.brokers.get(broker, {}))

    def configure(self, record: ConfigRecord) -> None:
        """Take in one config."""
        self._changed[record.resource] = with_value(
            self.of_broker(record.resource), record.key, record.value
        )

    def apply(self) -> ConfigsImage:
        """The next image."""
        if not self._changed:
            return self._image
        merged = {**self._image.brokers, **self._changed}
        return ConfigsImage(brokers={key: value for key, value in merged.items() if value})
