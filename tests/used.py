"""The state of a cluster with its users, and all that is known of how its topics are used."""

from collections.abc import Mapping

from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import RESOURCES, Kind
from kgitops.model.resources.users import FoundUser, ScramIterations


def with_users(cluster: Cluster) -> ClusterState:
    """What is read, with all users."""
    return cluster.read_state().with_objects(cluster.read(Kind.USER), Kind.USER)


def users_of(
    cluster: Cluster, names: frozenset[str] | None = None
) -> Mapping[str, ScramIterations]:
    """The mechanisms of users, by name."""
    found = cluster.read(Kind.USER, names)
    return {it.name: it.held for it in found if isinstance(it, FoundUser)}


def groups_of(cluster: Cluster, names: frozenset[str] | None = None) -> Mapping[str, FoundGroup]:
    """Consumer groups by name."""
    found = cluster.read(Kind.GROUP, names)
    return {it.name: it for it in found if isinstance(it, FoundGroup)}


def configs_of(
    cluster: Cluster, kind: ConfigResourceType, names: frozenset[str] | None = None
) -> Mapping[str, Mapping[str, str]]:
    """The configs of resources by name; those of groups that have some."""
    found = cluster.read(RESOURCES[kind].kind, names)
    return {it.name: it.configs for it in found if not isinstance(it, FoundUser) and it.configs}


def used(cluster: Cluster) -> ClusterState:
    """What is read, and what the port tells of every topic and user there."""
    state = with_users(cluster)
    return state.with_usage(cluster.read_usage(frozenset(state.topics)))
