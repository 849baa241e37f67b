"""The registry topic ``__kgitops``, read and written through librdkafka."""

from collections.abc import Mapping, Sequence

from kgitops.cluster.kafka.wire import Wire
from kgitops.cluster.port import RegistryEntry
from kgitops.model.registry import Json, RegistryState


class KafkaRegistryLog:
    """Implements :class:`kgitops.cluster.port.RegistryLog` on one compacted topic."""

    def __init__(self, wire: Wire, configs: Mapping[str, str]) -> None:
        self._wire = wire
        self._configs = configs

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Every committed entry at or after ``since``; None when there is no such topic."""
        raise NotImplementedError

    def read_state(self) -> RegistryState | None:
        """What the entries add up to, the topic's id included; None when there is no registry."""
        raise NotImplementedError

    def append(self, entries: Sequence[tuple[str, Mapping[str, Json] | None]]) -> int:
        """Write all entries or none, creating the topic first; the last one's offset."""
        raise NotImplementedError

    def fence(self) -> None:
        """Be the only writer from now on: an earlier writer's next append fails."""
        raise NotImplementedError

    def now_ms(self) -> int:
        """The log's clock."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the connections."""
