"""What an unfinished run set for a while, for a plan to take over: the journal tells."""

from kgitops.apply.resume import still_to_undo
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.topic_configs import is_throttle
from kgitops.plan.plan import PlannedRequest


def find_undoing(
    cluster: Cluster, current: ClusterState, identity: str
) -> tuple[PlannedRequest, ...]:
    """The requests that the project's unfinished runs still owe; usually nobody need ask.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    # Topics by the ten thousand have few keys between them.
    keys: set[str] = set().union(*(topic.configs for topic in current.topics.values()))
    throttled = any(broker.throttles for broker in current.brokers) or any(map(is_throttle, keys))
    return still_to_undo(cluster.registry.read() or (), identity) if throttled else ()
