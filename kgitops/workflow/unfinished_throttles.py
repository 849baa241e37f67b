"""What an unfinished run set for a while, for a plan to take over: the journal tells."""

from dataclasses import replace

from kgitops.apply.run.resume import begun_changes, pending_undo_requests
from kgitops.cluster.port import Cluster
from kgitops.desired.state import Project
from kgitops.model.cluster_state import ClusterState
from kgitops.model.topic_configs import is_throttle
from kgitops.plan.document.plan import Plan, PlannedRequest


def find_undoing(
    cluster: Cluster, current: ClusterState, project: Project
) -> tuple[PlannedRequest, ...]:
    """The requests that the project's unfinished runs still owe; usually nobody need ask.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    # Topics by the ten thousand have few keys between them.
    keys: set[str] = set().union(*(topic.configs for topic in current.topics.values()))
    throttled = any(broker.throttles for broker in current.brokers) or any(map(is_throttle, keys))
    return pending_undo_requests(cluster.registry.read() or (), project) if throttled else ()


def with_own_drift(cluster: Cluster, plan: Plan, project: Project) -> Plan:
    """Say of what an unfinished run of this project changed that it was no one else.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    if not plan.drift:
        return plan
    made = {
        (change.address, field.path, field.after)
        for change in begun_changes(cluster.registry.read() or (), project)
        for field in change.fields
    }
    return replace(
        plan,
        drift=tuple(
            replace(row, rule="unfinished") if (row.address, row.path, row.found) in made else row
            for row in plan.drift
        ),
    )
