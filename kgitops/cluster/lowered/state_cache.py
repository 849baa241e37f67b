"""The logical state that was last made: an apply looks often, and seldom at anything new."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kgitops.lowering.lifting import lift
from kgitops.lowering.lowerer import Lowerer
from kgitops.lowering.records import PREFIX, Record
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import RegistryState
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    CreateAclRequest,
    DeleteAclRequest,
    Request,
)
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState


@dataclass(frozen=True, slots=True)
class _LiftedState:
    """A physical state, the logical one that it means, and what goes on from there, if anything."""

    physical: ClusterState
    logical: ClusterState
    lowering: Lowerer | None = None


class LiftedStateCache:
    """Lifts physical states; what did not change since the last one is not worked out again.

    An apply of many batches would otherwise take time that grows with their number times the
    cluster's size. So what a batch will lead to is foreseen: if the cluster is then just so, all
    that was worked out for it is right. If not, it is worked out anew.
    """

    def __init__(self) -> None:
        self._last: _LiftedState | None = None
        self._expected: _LiftedState | None = None

    @property
    def newest(self) -> ClusterState | None:
        """The last logical state, for where links lead; None before the first reading."""
        return self._last.logical if self._last else None

    def lift(self, physical: ClusterState) -> ClusterState:
        """The logical state.

        Raises:
            SafetyError: a record can't be trusted.
        """
        for known in (self._last, self._expected):
            if known is not None and _same(known.physical, physical):
                logical = replace(
                    physical,
                    virtual_clusters=known.logical.virtual_clusters,
                    acls=known.logical.acls,
                    quotas=known.logical.quotas,
                    lowered=known.logical.lowered,
                )
                self._last = _LiftedState(physical, logical, known.lowering)
                return logical
        logical = lift(physical)
        self._last = _LiftedState(physical, logical)
        return logical

    def take_lowerer(self, state: ClusterState) -> Lowerer | None:
        """What led to this lifted state, to go on from there; None: nothing did.

        It can be had once: who goes on says where that leads by :meth:`foresee`.
        """
        last = self._last
        self._expected = None
        if last is None or last.lowering is None or last.logical.lowered is not state.lowered:
            return None
        self._last = _LiftedState(last.physical, last.logical)
        return last.lowering

    def expect(
        self,
        lowering: Lowerer,
        logical: ClusterState,
        records: Iterable[Record],
        requests: Iterable[Request],
    ) -> None:
        """After the last state these records are written and these requests carried out, wholly."""
        if self._last is not None and logical.lowered is not None:
            physical = _after(self._last.physical, records, requests)
            self._expected = _LiftedState(physical, logical, lowering)


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


def _after(
    physical: ClusterState, records: Iterable[Record], requests: Iterable[Request]
) -> ClusterState:
    """What lifting will look at."""
    registry = physical.registry or RegistryState(topic_id="", offset=-1)
    kept = dict(registry.virtual_clusters)
    for key, value in records:
        if value is None:
            kept.pop(key.removeprefix(PREFIX), None)
        else:
            kept[key.removeprefix(PREFIX)] = value
    made: set[AclBinding] = set()
    deleted: set[AclBinding] = set()
    quotas = dict(physical.quotas)
    for request in requests:
        match request:
            case CreateAclRequest(binding=binding):
                made.add(binding)
            case DeleteAclRequest(binding=binding):
                deleted.add(binding)
            case AlterClientQuotaRequest():
                _set(quotas, request)
            case _:
                pass
    return replace(
        physical,
        registry=replace(registry, virtual_clusters=kept),
        acls=(physical.acls | made) - deleted,
        quotas=quotas,
    )


def _set(
    quotas: dict[ClientQuotaEntity, ClientQuotaState], request: AlterClientQuotaRequest
) -> None:
    entity = request.entity
    before = quotas.get(entity)
    asked = {**(before.quotas if before else {}), **request.quotas}
    values = {key: value for key, value in asked.items() if value is not None}
    if values:
        quotas[entity] = ClientQuotaState(entity=entity, quotas=values)
    else:
        quotas.pop(entity, None)
