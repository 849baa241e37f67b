"""Topics that were made in a virtual cluster, and that no link leads to any more (VC-068)."""

from kgitops.model.cluster_state import ClusterState
from kgitops.model.names import is_internal
from kgitops.model.virtual_clusters import generated_parts


def orphans(state: ClusterState) -> tuple[str, ...]:
    """Their physical names, sorted. Nothing ever deletes them by itself (VC-032)."""
    linked = {
        link.topic for found in state.virtual_clusters.values() for link in found.links.values()
    }
    pending = set(state.lowered.pending.values()) if state.lowered else set()
    return tuple(
        sorted(
            name
            for name in state.topics
            if generated_parts(name) and not is_internal(name) and name not in linked | pending
        )
    )
