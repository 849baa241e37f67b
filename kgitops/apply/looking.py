"""Looking at the cluster: what steps are about, as it is now."""

from collections.abc import Iterable

from kgitops.apply.steps import Step, topics_of
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import DeleteRecordsRequest


def look(cluster: Cluster, steps: Iterable[Step]) -> ClusterState:
    """The objects of these steps; where records are deleted, the topics' offsets as well.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    steps = tuple(steps)
    state = cluster.read_state(topics_of(steps))
    cut = frozenset(
        step.planned.request.topic
        for step in steps
        if step.planned and isinstance(step.planned.request, DeleteRecordsRequest)
    )
    return state.with_usage(cluster.read_usage(cut, offsets_only=True)) if cut else state
