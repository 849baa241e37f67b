"""The state of a cluster with all that is known of how its topics are used."""

from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState


def used(cluster: Cluster) -> ClusterState:
    """What is read, and what the port tells of every topic there."""
    state = cluster.read_state()
    return state.with_usage(cluster.read_usage(frozenset(state.topics)))
