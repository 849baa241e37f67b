"""Looking at the cluster: what steps are about, as it is now."""

from collections.abc import Iterable
from dataclasses import replace

from kgitops.apply.context import Surroundings
from kgitops.apply.steps.steps import Step, groups_of, links_of, topics_of
from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.requests import DeleteRecordsRequest


def look(cluster: Cluster, steps: Iterable[Step]) -> ClusterState:
    """The objects of these steps.

    Where records are deleted, the topics' offsets as well, and where it is about the offsets of
    groups, these.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    steps = tuple(steps)
    state = cluster.read_state(topics_of(steps), links_of(steps))
    groups = groups_of(steps)
    if groups:
        state = replace(state, group_offsets=cluster.read_group_offsets(groups))
    requests = [step.request for step in steps]
    cut = frozenset(item.topic for item in requests if isinstance(item, DeleteRecordsRequest))
    return state.with_usage(cluster.read_usage(cut, offsets_only=True)) if cut else state


def look_patiently(around: Surroundings, steps: Iterable[Step], *, deadline: float) -> ClusterState:
    """As ``look``, but a cluster that can't be read is asked again until ``deadline``.

    Raises:
        UnreachableError: the deadline has passed, or the run was interrupted.
        SafetyError: the cluster's registry can't be trusted.
    """
    steps = tuple(steps)
    while True:
        try:
            return look(around.cluster, steps)
        except UnreachableError:
            if around.clock.monotonic() >= deadline or around.interrupted() is not None:
                raise
        around.clock.sleep(around.settings.retry_ms / 1000)
