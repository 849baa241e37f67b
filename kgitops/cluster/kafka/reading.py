"""What a real cluster holds, read in few, large requests."""

from kgitops.cluster.kafka.registry_log import KafkaRegistryLog
from kgitops.cluster.kafka.wire import Wire
from kgitops.model.cluster_state import ClusterState


def read_state(
    wire: Wire, registry: KafkaRegistryLog, topics: frozenset[str] | None = None
) -> ClusterState:
    """The cluster now; ``topics`` narrows which topics are read.

    Raises:
        UnreachableError: it can't be read, or the principal may not read what a diff needs.
        SafetyError: its registry can't be trusted.
    """
    raise NotImplementedError
