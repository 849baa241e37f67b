"""The registry of a Kafka cluster that a project names, or a URL, as a source of name tables."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.protocol_values import uuid_to_text
from kgitops.cluster.kafka.registry.reader import RegistryReader
from kgitops.cluster.kafka.transport.virtual_cluster_requests import knows_virtual_clusters
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import RegistryEntry
from kgitops.model.errors import UsageError
from kgitops.workflow.project.clusters import ChosenCluster

_PATIENCE_S = 10.0
"""Time that a reading waits for a leader, or for the end of a write; the next one waits again."""


class KafkaSource:
    """Reads the registry over a connection of its own; no error shows secrets."""

    def __init__(self, chosen: ChosenCluster) -> None:
        """Connect.

        Raises:
            UsageError: it is no Kafka cluster, or one that needs no gateway.
            UnreachableError: it can't be reached.
        """
        self._chosen = chosen
        if chosen.url.startswith("embedded:"):
            raise UsageError(
                f"{chosen.url} is an embedded cluster, which knows virtual clusters itself; "
                "name a Kafka cluster, as in kafka://HOST:PORT"
            )
        with self._hidden():
            self._cluster = _physical(chosen)
        self._reader = RegistryReader(self._cluster.wire, _PATIENCE_S)

    def topic_id(self) -> str | None:
        """The id of the registry's topic as last found."""
        with self._hidden():
            topic = self._reader.topic or self._reader.find()
        return uuid_to_text(topic.topic_id) if topic else None

    def read(self, since: int) -> Sequence[RegistryEntry] | None:
        """Every committed entry from that offset on."""
        with self._hidden():
            return self._reader.read(since)

    def close(self) -> None:
        """Close every connection."""
        self._cluster.close()

    def _hidden(self) -> AbstractContextManager[None]:
        return self._chosen.secrets_hidden()


def _physical(chosen: ChosenCluster) -> KafkaCluster:
    cluster = chosen.connect()
    with ExitStack() as stack:
        stack.callback(cluster.close)
        physical = cluster.physical if isinstance(cluster, LoweredCluster) else None
        if not isinstance(physical, KafkaCluster):
            raise UsageError(f"{chosen.url} is not the URL of a Kafka; write kafka://HOST:PORT")
        if knows_virtual_clusters(physical.wire):
            raise UsageError(
                f"the brokers of {chosen.name} know virtual clusters themselves; clients need no "
                "gateway to be in one"
            )
        stack.pop_all()
    return physical
