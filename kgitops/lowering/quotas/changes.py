"""The physical quotas that stand for those of virtual clusters, and what a batch makes of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kgitops.lowering.effects import Effects, FinalRecord, PhysicalRequest, RequestIndexes, unique
from kgitops.lowering.quotas.compile import QuotaTarget, QuotaTargets, lower_user_quotas
from kgitops.lowering.quotas.table import QuotaTable, user_of
from kgitops.lowering.records import (
    QuotaKey,
    RecordStatus,
    lowered_quota_record,
    quota_record,
    removal,
    shadow_record,
)
from kgitops.model.lowered import LoweredQuota
from kgitops.model.registry import Json
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import VirtualCluster

FindVirtualCluster = Callable[[str], VirtualCluster | None]
"""The virtual cluster that a user of quotas is bound to by now."""


@dataclass(frozen=True, slots=True)
class _DeclaredQuota:
    """A quota of a virtual cluster before a batch, and who asked for it to change."""

    before: float | None
    request_index: int


class QuotaChanges:
    """Recompiles the users whom a batch touches, once each, when it is over."""

    def __init__(self, lowered: Iterable[LoweredQuota], quotas: Iterable[ClientQuotaState]) -> None:
        self.table = QuotaTable(quotas)
        self.lowered: dict[QuotaKey, LoweredQuota] = {}
        self._of_user: defaultdict[str, set[QuotaKey]] = defaultdict(set)
        self._users_of: defaultdict[str, set[str]] = defaultdict(set)
        for quota in lowered:
            self._put((quota.entity, quota.key), quota)
        self._stale = {user_of(q.entity) or "" for q in self.lowered.values() if not q.sources}
        self._meant: dict[QuotaKey, _DeclaredQuota] = {}
        self._physical: dict[QuotaKey, float | None] = {}
        self._dirty: defaultdict[str, set[int]] = defaultdict(set)
        self._addresses: dict[int, str] = {}
        self.changed = False

    def has_lowered(self, user: str) -> bool:
        """Whether something stands on entities of this user."""
        return bool(self._of_user.get(user))

    def users_in(self, virtual_cluster: str) -> frozenset[str]:
        """The users on whose entities something stands for it, bound or left over."""
        return frozenset(self._users_of.get(virtual_cluster, ()))

    def lowered_of(self, user: str) -> Mapping[QuotaKey, LoweredQuota]:
        """What stands on entities of this user."""
        return {place: self.lowered[place] for place in self._of_user.get(user, ())}

    def set_quotas(self, request: AlterClientQuotaRequest, request_index: int) -> None:
        """Quotas, of a virtual cluster or global, are meant from now on."""
        entity = request.entity
        scoped = entity[0][0] == VIRTUAL_CLUSTER
        self._addresses[request_index] = quota_address(entity)
        for key, value in request.quotas.items():
            before = self.table.get(entity, key)
            if scoped:
                known = self._meant.get((entity, key))
                self._meant[entity, key] = _DeclaredQuota(
                    known.before if known else before, request_index
                )
            else:
                self._physical.setdefault((entity, key), before)
            self.table.set(entity, key, value)
            self.changed = True

    def mark_dirty(self, user: str, request_index: int) -> None:
        """What stands on the user's entities may be no longer right."""
        self._dirty[user].add(request_index)

    def drop_stale(self, request_index: int) -> None:
        """Look at what an interrupted apply left over."""
        for user in self._stale:
            self.mark_dirty(user, request_index)
        self._stale.clear()

    def finish(self, effects: Effects, whereabouts: FindVirtualCluster) -> None:
        """Say what the batch comes down to, and begin the next one."""
        requests: defaultdict[ClientQuotaEntity, dict[str, float | None]] = defaultdict(dict)
        requested_by: defaultdict[ClientQuotaEntity, set[int]] = defaultdict(set)
        notes: dict[QuotaKey, str] = {}
        for user in sorted(self._dirty):
            virtual_cluster = whereabouts(user)
            targets = (
                lower_user_quotas(self.table, virtual_cluster, user)
                if virtual_cluster is not None
                else {}
            )
            for place, wanted, why in self._user_changes(user, virtual_cluster, targets, effects):
                requests[place[0]][place[1]] = wanted
                requested_by[place[0]].update(why)
                notes[place] = self._note(place)
        asked = {request_index for those in requested_by.values() for request_index in those}
        for place, meant in self._meant.items():
            self._record(place, meant, effects, physical=meant.request_index in asked)
        for entity, quotas in requests.items():
            effects.creations.append(_request(entity, quotas, unique(requested_by[entity]), notes))
        self._meant.clear()
        self._physical.clear()
        self._dirty.clear()
        self._addresses.clear()

    def _user_changes(
        self,
        user: str,
        virtual_cluster: VirtualCluster | None,
        targets: QuotaTargets,
        effects: Effects,
    ) -> Iterable[tuple[QuotaKey, float | None, RequestIndexes]]:
        """Each physical value of the user that has to change; records go to ``effects``."""
        changed = {place for place in self._physical if user_of(place[0]) == user}
        for place in sorted(targets.keys() | self._of_user[user] | changed, key=_order):
            before, target = self.lowered.get(place), targets.get(place)
            meant = self.table.get(*place)
            there = before.found if before else self._physical.get(place, meant)
            wanted = target.value if target else meant
            requested_by = self._requested_by(user, place, before, target)
            after = (
                self._lowered(place, virtual_cluster, target)
                if virtual_cluster and target
                else None
            )
            self._keep(place, before, after, requested_by, effects)
            if wanted != there:
                yield place, wanted, requested_by

    def _lowered(
        self, place: QuotaKey, virtual_cluster: VirtualCluster, target: QuotaTarget
    ) -> LoweredQuota:
        return LoweredQuota(
            entity=place[0],
            key=place[1],
            virtual_cluster=virtual_cluster.name,
            value=target.value,
            sources=target.sources,
            hidden=self.table.get(*place),
            found=target.value,
        )

    def _keep(
        self,
        place: QuotaKey,
        before: LoweredQuota | None,
        after: LoweredQuota | None,
        requested_by: RequestIndexes,
        effects: Effects,
    ) -> None:
        """What is hidden is written down before it is overwritten, and struck out once back."""
        old = _records(before) if before else {}
        new = _records(after) if after else {}
        effects.before += [(key, new[key]) for key in new if new[key] != old.get(key)]
        for key in old.keys() - new.keys():
            effects.after.append(FinalRecord(record=(key, None), requested_by=requested_by))
        if after is not None:
            self._put(place, after)
        elif before is not None:
            self._remove(place, before)

    def _record(
        self, place: QuotaKey, meant: _DeclaredQuota, effects: Effects, *, physical: bool
    ) -> None:
        value = self.table.get(*place)
        requested_by = (meant.request_index,)
        if physical and meant.before is None and value is not None:
            effects.before.append(quota_record(*place, value, RecordStatus.PENDING))
        elif physical and meant.before is not None and meant.before != value:
            effects.before.append(quota_record(*place, meant.before, RecordStatus.DELETING))
        if value is not None:
            record = quota_record(*place, value)
        else:
            # One that an interrupted apply had only begun has a record as well.
            record = removal(quota_record(*place, meant.before or 0.0))
        effects.after.append(FinalRecord(record=record, requested_by=requested_by))

    def _requested_by(
        self, user: str, place: QuotaKey, before: LoweredQuota | None, target: QuotaTarget | None
    ) -> RequestIndexes:
        """Of those who touched the user, the ones whose quota it is about, or else all."""
        sources = {quota_address(place[0])}
        sources.update(before.sources if before else (), target.sources if target else ())
        touched = self._dirty[user]
        about = [
            request_index
            for request_index in touched
            if self._addresses.get(request_index) in sources
        ]
        return unique(about or touched)

    def _note(self, place: QuotaKey) -> str:
        quota = self.lowered.get(place)
        if quota is None or quota.hidden is None or quota.hidden == quota.value:
            return ""
        return f" (in the place of {quota_text(quota.hidden)})"

    def _put(self, place: QuotaKey, quota: LoweredQuota) -> None:
        user = user_of(quota.entity) or ""
        self.lowered[place] = quota
        self._of_user[user].add(place)
        self._users_of[quota.virtual_cluster].add(user)

    def _remove(self, place: QuotaKey, quota: LoweredQuota) -> None:
        user = user_of(quota.entity) or ""
        del self.lowered[place]
        self._of_user[user].discard(place)


def _records(quota: LoweredQuota) -> dict[str, Mapping[str, Json] | None]:
    found = [lowered_quota_record(quota)]
    if quota.hidden is not None:
        found.append(shadow_record(quota.entity, quota.key, quota.hidden))
    return dict(found)


def _request(
    entity: ClientQuotaEntity,
    quotas: Mapping[str, float | None],
    requested_by: RequestIndexes,
    notes: Mapping[QuotaKey, str],
) -> PhysicalRequest:
    values = ", ".join(
        f"{key}={'none' if value is None else quota_text(value)}{notes[entity, key]}"
        for key, value in sorted(quotas.items())
    )
    return PhysicalRequest(
        request=AlterClientQuotaRequest(entity=entity, quotas=dict(quotas)),
        requested_by=requested_by,
        line=f"set {quota_address(entity)} {values}",
    )


def _order(place: QuotaKey) -> tuple[str, str]:
    return quota_address(place[0]), place[1]
