"""Topics that were made in a virtual cluster, as their names tell, and are in none (VC-068)."""

from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.virtual_clusters import generated_parts


def orphans(state: ClusterState) -> tuple[str, ...]:
    """Physical topics whose last link is gone, or nobody knows; they are never deleted unasked."""
    linked = {link.topic for vc in state.virtual_clusters.values() for link in vc.links.values()}
    pending = state.lowered.pending.values() if state.lowered else ()
    known = linked.union(pending)
    return tuple(sorted(t for t in state.topics if t not in known and generated_parts(t)))


def lost_registry(state: ClusterState) -> str | None:
    """Why no virtual cluster may be made: the registry is not there, but was once (VC-330)."""
    found = orphans(state) if state.registry is None else ()
    if not found:
        return None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"the registry is gone, but {found[0]}{more} was made in a virtual cluster; restore "
        "__kgitops as docs/virtual-clusters.md says, and delete nothing before that"
    )
