"""The state of a cluster with its users, and all that is known of how its topics are used."""

from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState


def used(cluster: Cluster) -> ClusterState:
    """What is read, and what the port tells of every topic and user there."""
    state = replace(cluster.read_state(), users=cluster.read_users())
    return state.with_usage(cluster.read_usage(frozenset(state.topics)))
