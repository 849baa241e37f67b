"""Lowers quotas of virtual clusters to physical ones, user by user (VC-219 to VC-224).

A user is in one virtual cluster, so its quotas there can be set on entities that name the user.
Entities of the default user or of a client id alone are never used (VC-222).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kgitops.lowering.quotas.table import QuotaEntries, QuotaTable, UserPart
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    INTEGRAL_KEYS,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
)
from kgitops.model.resources.virtual_clusters import CapLowering, VirtualCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaTarget:
    """A physical value to set, None for no value, and the addresses of the quotas behind it."""

    value: float | None
    sources: tuple[str, ...]


QuotaTargets = dict[tuple[ClientQuotaEntity, str], QuotaTarget]


def lower_user_quotas(
    table: QuotaTable, virtual_cluster: VirtualCluster, user: str
) -> QuotaTargets:
    """The values that the physical entities of one bound user need, if not those declared.

    ``user`` is the name in quotas, of the principal ``User:<user>``.
    """
    targets: QuotaTargets = {}
    for key in table.keys_in(virtual_cluster.name):
        lowering = _UserQuotas(table, virtual_cluster, user, key)
        targets |= {(entity, key): target for entity, target in lowering.targets()}
    return targets


def user_cap(
    table: QuotaTable, virtual_cluster: VirtualCluster, key: str
) -> tuple[str, float] | None:
    """The address of the virtual cluster's cap, and each user's limit under it (VC-221)."""
    cap = table.cap(virtual_cluster.name, key)
    if cap is None or virtual_cluster.options.cap_lowering is CapLowering.NONE:
        return None
    entity, value = cap
    if virtual_cluster.options.cap_lowering is CapLowering.DIVIDE:
        value /= max(len(virtual_cluster.users), 1)
        if key in INTEGRAL_KEYS:
            value = float(max(int(value), 1))
    return quota_address(entity), value


class _UserQuotas:
    """Lowers the quotas of one user for one key; entries are looked up in Kafka's own order."""

    def __init__(
        self, table: QuotaTable, virtual_cluster: VirtualCluster, user: str, key: str
    ) -> None:
        self._table = table
        self._virtual_cluster = virtual_cluster
        self._key = key
        self._user: UserPart = ((USER, user),)
        self._lowered: dict[ClientQuotaEntity, tuple[float, str]] = {}

    def targets(self) -> Iterator[tuple[ClientQuotaEntity, QuotaTarget]]:
        scope = (VIRTUAL_CLUSTER, self._virtual_cluster.name)
        last = self._walk(self._table.of(self._virtual_cluster.name), (scope,))
        cap = user_cap(self._table, self._virtual_cluster, self._key)
        if last is not None:
            yield from self._hidden(last)
        # The global quota that the user would fall back to ranks below the cap, or exceeds it.
        elif cap is not None and self._walk(self._table.physical, ()) is None:
            self._lowered[self._user] = cap[1], cap[0]
        for entity, (value, source) in self._lowered.items():
            if cap is None:
                yield entity, QuotaTarget(value=value, sources=(source,))
            elif source != quota_address(entity):
                sources = (source,) if value < cap[1] else (source, cap[0])
                yield entity, QuotaTarget(value=min(value, cap[1]), sources=_once(sources))
            elif value > cap[1]:
                yield entity, QuotaTarget(value=cap[1], sources=(cap[0],))

    def _walk(self, family: QuotaEntries, scope: ClientQuotaEntity) -> ClientQuotaEntity | None:
        """Lower entries until one covers all client ids; return the entity of that one."""
        default: UserPart = ((USER, None),)
        nobody: UserPart = ()
        for who in (self._user, default, nobody):
            for client, value in family.named(who, self._key):
                entity = (*self._user, (CLIENT_ID, client))
                source = quota_address((*scope, *who, (CLIENT_ID, client)))
                self._lowered.setdefault(entity, (value, source))
            for rest in ((*who, (CLIENT_ID, None)), who):
                value_or_none = family.get(rest, self._key) if rest else None
                if value_or_none is not None:
                    entity = (*self._user, *rest[len(who) :])
                    self._lowered[entity] = value_or_none, quota_address((*scope, *rest))
                    return entity
        return None

    def _hidden(self, last: ClientQuotaEntity) -> Iterator[tuple[ClientQuotaEntity, QuotaTarget]]:
        """The user's global entries that Kafka would prefer to the last lowered one (VC-220)."""
        physical = self._table.physical
        hidden = [(*self._user, (CLIENT_ID, c)) for c, _ in physical.named(self._user, self._key)]
        if last == self._user:
            hidden.append((*self._user, (CLIENT_ID, None)))
        for entity in hidden:
            exists = physical.get(entity, self._key) is not None
            if exists and entity not in self._lowered:
                yield entity, QuotaTarget(value=None, sources=(self._lowered[last][1],))


def _once(sources: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sources))
