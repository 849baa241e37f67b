"""When a plan asks how topics are used: docs/decisions/0010."""

from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.document.plan import Plan
from kgitops.plan.usage import add_usage, topics_at_stake


def with_offsets(cluster: Cluster, desired: DesiredState, current: ClusterState) -> ClusterState:
    """The state and the offsets of those topics whose records are declared to be gone.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    declared = (topic.name for topic in desired.topics if topic.delete_records_before)
    names = frozenset(name for name in declared if name in current.topics)
    if not names:
        return current
    return current.with_usage(cluster.read_usage(names, offsets_only=True))


def with_impact(cluster: Cluster, current: ClusterState, plan: Plan) -> Plan:
    """The plan and what stands behind the topics that it may hurt.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    names = topics_at_stake(plan)
    return add_usage(plan, current, cluster.read_usage(names)) if names else plan
