"""The logical state that was last made: an apply looks often, and seldom at anything new."""

from dataclasses import replace

from kgitops.lowering.lifting import lift
from kgitops.model.cluster_state import ClusterState


class Lifted:
    """Lifts physical states; what did not change since the last one is not worked out again."""

    def __init__(self) -> None:
        self._last: tuple[ClusterState, ClusterState] | None = None

    @property
    def newest(self) -> ClusterState | None:
        """The last logical state, for where links lead; None before the first reading."""
        return self._last[1] if self._last else None

    def lift(self, physical: ClusterState) -> ClusterState:
        """The logical state.

        Raises:
            SafetyError: a record can't be trusted.
        """
        last = self._last
        if last is not None and _same(last[0], physical):
            known = last[1]
            logical = replace(
                physical,
                virtual_clusters=known.virtual_clusters,
                acls=known.acls,
                quotas=known.quotas,
                lowered=known.lowered,
            )
        else:
            logical = lift(physical)
        self._last = physical, logical
        return logical


def _same(one: ClusterState, other: ClusterState) -> bool:
    """Whether there are virtual clusters, and all that lifting looks at is equal: no topics."""
    if one.registry is None or other.registry is None:
        return False
    return (
        bool(other.registry.virtual_clusters)
        and one.registry.virtual_clusters == other.registry.virtual_clusters
        and one.acls == other.acls
        and one.quotas == other.quotas
    )
