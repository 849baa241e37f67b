"""Caches the last lifted state: an apply reads the cluster often, mostly without changes."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from kgitops.lowering.lifting import lift
from kgitops.lowering.lowerer import Lowerer
from kgitops.lowering.records import PREFIX
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.records import Record
from kgitops.model.registry import RegistryState
from kgitops.model.requests import Request


class _LiftedState(Struct, frozen=True):
    """A physical state, its logical state, and the lowerer that can continue from there, if any."""

    physical: ClusterState
    logical: ClusterState
    lowerer: Lowerer | None = None


class LiftedStateCache:
    """Lifts physical states, and reuses the last result if nothing relevant changed.

    An apply of many batches would otherwise take time that grows with their number times the
    cluster's size. So the state after a batch is predicted: if the cluster is then in that state,
    the prediction is used; if not, the state is lifted again.
    """

    def __init__(self) -> None:
        self._last: _LiftedState | None = None
        self._expected: _LiftedState | None = None

    @property
    def newest(self) -> ClusterState | None:
        """The last logical state, to follow links in; None before the first reading."""
        return self._last.logical if self._last else None

    def lift(self, physical: ClusterState) -> ClusterState:
        """The logical state of a physical one.

        Raises:
            SafetyError: a record is damaged or unknown.
        """
        for cached in (self._last, self._expected):
            if cached is not None and _lifts_alike(cached.physical, physical):
                logical = replace(
                    physical,
                    virtual_clusters=cached.logical.virtual_clusters,
                    acls=cached.logical.acls,
                    quotas=cached.logical.quotas,
                    lowered=cached.logical.lowered,
                )
                self._last = _LiftedState(physical, logical, cached.lowerer)
                return logical
        logical = lift(physical)
        self._last = _LiftedState(physical, logical)
        return logical

    def take_lowerer(self, state: ClusterState) -> Lowerer | None:
        """The lowerer that led to this lifted state, to continue with; None if there is none.

        It is returned once: the caller registers the state that it leads to with :meth:`expect`.
        """
        last = self._last
        self._expected = None
        if last is None or last.lowerer is None or last.logical.lowered is not state.lowered:
            return None
        self._last = _LiftedState(last.physical, last.logical)
        return last.lowerer

    def expect(
        self,
        lowerer: Lowerer,
        logical: ClusterState,
        records: Iterable[Record],
        requests: Iterable[Request],
    ) -> None:
        """Predict the state after these records and requests, which were all written and sent."""
        if self._last is not None and logical.lowered is not None:
            physical = _after(self._last.physical, records, requests)
            self._expected = _LiftedState(physical, logical, lowerer)


def _lifts_alike(one: ClusterState, other: ClusterState) -> bool:
    """True if there are virtual clusters, and all inputs of lifting are equal; topics are none."""
    if one.registry is None or other.registry is None:
        return False
    return (
        bool(other.registry.virtual_clusters)
        and one.registry.virtual_clusters == other.registry.virtual_clusters
        and one.acls == other.acls
        and one.quotas == other.quotas
    )


def _after(
    physical: ClusterState, records: Iterable[Record], requests: Iterable[Request]
) -> ClusterState:
    """The inputs of lifting after these records and requests."""
    registry = physical.registry or RegistryState(topic_id="", offset=-1)
    virtual_clusters = dict(registry.virtual_clusters)
    for key, value in records:
        if value is None:
            virtual_clusters.pop(key.removeprefix(PREFIX), None)
        else:
            virtual_clusters[key.removeprefix(PREFIX)] = value
    after = physical.after(requests)
    return replace(after, registry=replace(registry, virtual_clusters=virtual_clusters))
