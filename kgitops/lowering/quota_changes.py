"""Tracks the physical quotas for those of virtual clusters while a batch changes them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from kgitops.lowering.effects import Effects, FinalRecord, PhysicalRequest, RequestIndexes, unique
from kgitops.lowering.quota_compile import (
    QuotaTable,
    QuotaTarget,
    QuotaTargets,
    lower_user_quotas,
    user_of,
)
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
"""Returns the virtual cluster that a user, by the name in quotas, is bound to at the moment."""


class _DeclaredQuota(Struct, frozen=True):
    """A quota of a virtual cluster before a batch, and the request that changes it."""

    before: float | None
    request_index: int


class QuotaChanges:
    """Recompiles the quotas of each user that a batch affects, once, at its end."""

    def __init__(self, lowered: Iterable[LoweredQuota], quotas: Iterable[ClientQuotaState]) -> None:
        self.table = QuotaTable(quotas)
        self.lowered: dict[QuotaKey, LoweredQuota] = {}
        self._of_user: defaultdict[str, set[QuotaKey]] = defaultdict(set)
        self._users_of: defaultdict[str, set[str]] = defaultdict(set)
        for quota in lowered:
            self._put((quota.entity, quota.key), quota)
        self._stale = {user_of(q.entity) or "" for q in self.lowered.values() if not q.sources}
        self._declared: dict[QuotaKey, _DeclaredQuota] = {}
        self._physical: dict[QuotaKey, float | None] = {}
        self._dirty: defaultdict[str, set[int]] = defaultdict(set)
        self._addresses: dict[int, str] = {}
        self.changed = False

    def has_lowered(self, user: str) -> bool:
        """True if entities of this user have lowered quotas."""
        return bool(self._of_user.get(user))

    def users_in(self, virtual_cluster: str) -> frozenset[str]:
        """The users with lowered quotas of the virtual cluster, also former members."""
        return frozenset(self._users_of.get(virtual_cluster, ()))

    def lowered_of(self, user: str) -> Mapping[QuotaKey, LoweredQuota]:
        """The lowered quotas on entities of this user."""
        return {key: self.lowered[key] for key in self._of_user.get(user, ())}

    def set_quotas(self, request: AlterClientQuotaRequest, request_index: int) -> None:
        """Set declared quotas, of a virtual cluster or global."""
        entity = request.entity
        scoped = entity[0][0] == VIRTUAL_CLUSTER
        self._addresses[request_index] = quota_address(entity)
        for key, value in request.quotas.items():
            before = self.table.get(entity, key)
            if scoped:
                earlier = self._declared.get((entity, key))
                self._declared[entity, key] = _DeclaredQuota(
                    earlier.before if earlier else before, request_index
                )
            else:
                self._physical.setdefault((entity, key), before)
            self.table.set(entity, key, value)
            self.changed = True

    def mark_dirty(self, user: str, request_index: int) -> None:
        """Have the user's quotas recompiled at the end of the batch."""
        self._dirty[user].add(request_index)

    def drop_stale(self, request_index: int) -> None:
        """Remove the lowered quotas without sources, left over by an interrupted apply."""
        for user in self._stale:
            self.mark_dirty(user, request_index)
        self._stale.clear()

    def finish(self, effects: Effects, find_virtual_cluster: FindVirtualCluster) -> None:
        """Add the effects of the batch to ``effects``, and begin the next batch."""
        requests: defaultdict[ClientQuotaEntity, dict[str, float | None]] = defaultdict(dict)
        requested_by: defaultdict[ClientQuotaEntity, set[int]] = defaultdict(set)
        notes: dict[QuotaKey, str] = {}
        for user in sorted(self._dirty):
            virtual_cluster = find_virtual_cluster(user)
            targets = (
                lower_user_quotas(self.table, virtual_cluster, user)
                if virtual_cluster is not None
                else {}
            )
            for quota_key, value, indexes in self._user_changes(
                user, virtual_cluster, targets, effects
            ):
                entity, key = quota_key
                requests[entity][key] = value
                requested_by[entity].update(indexes)
                notes[quota_key] = self._note(quota_key)
        with_physical = {index for indexes in requested_by.values() for index in indexes}
        for quota_key, declared in self._declared.items():
            physical = declared.request_index in with_physical
            self._record_declared(quota_key, declared, effects, physical=physical)
        for entity, quotas in requests.items():
            effects.creations.append(_request(entity, quotas, unique(requested_by[entity]), notes))
        self._declared.clear()
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
        changed = {key for key in self._physical if user_of(key[0]) == user}
        for key in sorted(targets.keys() | self._of_user[user] | changed, key=_order):
            before, target = self.lowered.get(key), targets.get(key)
            declared = self.table.get(*key)
            actual = before.found if before else self._physical.get(key, declared)
            desired = target.value if target else declared
            requested_by = self._requested_by(user, key, before, target)
            after = (
                self._lowered(key, virtual_cluster, target) if virtual_cluster and target else None
            )
            self._record_lowered(key, before, after, requested_by, effects)
            if desired != actual:
                yield key, desired, requested_by

    def _lowered(
        self, key: QuotaKey, virtual_cluster: VirtualCluster, target: QuotaTarget
    ) -> LoweredQuota:
        return LoweredQuota(
            entity=key[0],
            key=key[1],
            virtual_cluster=virtual_cluster.name,
            value=target.value,
            sources=target.sources,
            hidden=self.table.get(*key),
            found=target.value,
        )

    def _record_lowered(
        self,
        quota_key: QuotaKey,
        before: LoweredQuota | None,
        after: LoweredQuota | None,
        requested_by: RequestIndexes,
        effects: Effects,
    ) -> None:
        """Record a hidden value before it is overwritten, and drop the record once it is back."""
        old = _records(before) if before else {}
        new = _records(after) if after else {}
        effects.before += [(key, new[key]) for key in new if new[key] != old.get(key)]
        for key in old.keys() - new.keys():
            effects.after.append(FinalRecord(record=(key, None), requested_by=requested_by))
        if after is not None:
            self._put(quota_key, after)
        elif before is not None:
            self._remove(quota_key, before)

    def _record_declared(
        self, key: QuotaKey, declared: _DeclaredQuota, effects: Effects, *, physical: bool
    ) -> None:
        before, value = declared.before, self.table.get(*key)
        requested_by = (declared.request_index,)
        if physical and before is None and value is not None:
            effects.before.append(quota_record(*key, value, RecordStatus.PENDING))
        elif physical and before is not None and before != value:
            effects.before.append(quota_record(*key, before, RecordStatus.DELETING))
        if value is not None:
            record = quota_record(*key, value)
        else:
            # A quota that an interrupted apply had only begun has a record too.
            record = removal(quota_record(*key, before or 0.0))
        effects.after.append(FinalRecord(record=record, requested_by=requested_by))

    def _requested_by(
        self, user: str, key: QuotaKey, before: LoweredQuota | None, target: QuotaTarget | None
    ) -> RequestIndexes:
        """The requests about one of the sources, or else all that affect the user."""
        sources = {quota_address(key[0])}
        sources.update(before.sources if before else (), target.sources if target else ())
        affecting = self._dirty[user]
        about = [index for index in affecting if self._addresses.get(index) in sources]
        return unique(about or affecting)

    def _note(self, key: QuotaKey) -> str:
        quota = self.lowered.get(key)
        if quota is None or quota.hidden is None or quota.hidden == quota.value:
            return ""
        return f" (in the place of {quota_text(quota.hidden)})"

    def _put(self, key: QuotaKey, quota: LoweredQuota) -> None:
        user = user_of(quota.entity) or ""
        self.lowered[key] = quota
        self._of_user[user].add(key)
        self._users_of[quota.virtual_cluster].add(user)

    def _remove(self, key: QuotaKey, quota: LoweredQuota) -> None:
        user = user_of(quota.entity) or ""
        del self.lowered[key]
        self._of_user[user].discard(key)


def _records(quota: LoweredQuota) -> dict[str, Mapping[str, Json] | None]:
    records = [lowered_quota_record(quota)]
    if quota.hidden is not None:
        records.append(shadow_record(quota.entity, quota.key, quota.hidden))
    return dict(records)


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


def _order(quota_key: QuotaKey) -> tuple[str, str]:
    return quota_address(quota_key[0]), quota_key[1]
