"""Lowers quotas of virtual clusters to physical ones, user by user (VC-219 to VC-224).

A user is in one virtual cluster, so its quotas there can be set on entities that name the user.
Entities of the default user or of a client id alone are never used (VC-222).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    INTEGRAL_KEYS,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
    make_entity,
)
from kgitops.model.resources.virtual_clusters import CapLowering, VirtualCluster

UserPart = tuple[tuple[str, str | None], ...]
"""The part of an entity about the user: one user, the default user, or empty."""


class QuotaEntries:
    """The quotas of one virtual cluster, or the global ones; entities don't name the former."""

    def __init__(self) -> None:
        self.entries: dict[ClientQuotaEntity, dict[str, float]] = {}
        self._clients: defaultdict[UserPart, set[str]] = defaultdict(set)

    def set(self, entity: ClientQuotaEntity, key: str, value: float | None) -> None:
        """Set one value; None removes it."""
        entry = self.entries.setdefault(entity, {})
        if value is None:
            entry.pop(key, None)
        else:
            entry[key] = value
        if not entry:
            del self.entries[entity]
        who, client = _split(entity)
        if client is not None:
            (self._clients[who].add if entry else self._clients[who].discard)(client)

    def get(self, entity: ClientQuotaEntity, key: str) -> float | None:
        """The value of an entity, or None."""
        entry = self.entries.get(entity)
        return entry.get(key) if entry else None

    def named(self, who: UserPart, key: str) -> Iterator[tuple[str, float]]:
        """The client ids that ``who`` has values for, sorted, with these values."""
        for client in sorted(self._clients.get(who, ())):
            value = self.get((*who, (CLIENT_ID, client)), key)
            if value is not None:
                yield client, value


_NO_ENTRIES = QuotaEntries()


class QuotaTable:
    """All quotas except those of ip addresses, which no virtual cluster has (VC-209)."""

    def __init__(self, quotas: Iterable[ClientQuotaState]) -> None:
        self.physical = QuotaEntries()
        self._virtual: dict[str | None, QuotaEntries] = {}
        for state in quotas:
            for key, value in state.quotas.items():
                self.set(state.entity, key, value)

    def set(self, entity: ClientQuotaEntity, key: str, value: float | None) -> None:
        """Set one value; None removes it."""
        family, rest = self._family(entity)
        family.set(rest, key, value)

    def get(self, entity: ClientQuotaEntity, key: str) -> float | None:
        """The declared value of an entity, or None."""
        family, rest = self._family(entity)
        return family.get(rest, key)

    def of(self, virtual_cluster: str) -> QuotaEntries:
        """The entries of a virtual cluster; its cap is the entry of the empty entity."""
        return self._virtual.get(virtual_cluster, _NO_ENTRIES)

    def cap(self, virtual_cluster: str, key: str) -> tuple[ClientQuotaEntity, float] | None:
        """The virtual cluster's own cap for a key, or else the default cap (VC-203)."""
        for name in (virtual_cluster, None):
            value = self._virtual.get(name, _NO_ENTRIES).get((), key)
            if value is not None:
                return make_entity({VIRTUAL_CLUSTER: name}), value
        return None

    def keys_in(self, virtual_cluster: str) -> tuple[str, ...]:
        """The keys of all quotas and caps that apply there; no other key has to be lowered."""
        own = self.of(virtual_cluster).entries.values()
        default = self._virtual.get(None, _NO_ENTRIES).entries.values()
        return tuple(sorted({key for entry in (*own, *default) for key in entry}))

    @property
    def capped(self) -> bool:
        """True if any virtual cluster has a cap."""
        return any(family.entries.get(()) for family in self._virtual.values())

    def states(self) -> Mapping[ClientQuotaEntity, ClientQuotaState]:
        """The table's quotas in the form that a cluster's state has."""
        entries = dict(self.physical.entries)
        for name, family in self._virtual.items():
            for rest, entry in family.entries.items():
                entries[((VIRTUAL_CLUSTER, name), *rest)] = entry
        return {
            entity: ClientQuotaState(entity=entity, quotas=dict(entry))
            for entity, entry in entries.items()
        }

    def _family(self, entity: ClientQuotaEntity) -> tuple[QuotaEntries, ClientQuotaEntity]:
        if not entity or entity[0][0] != VIRTUAL_CLUSTER:
            return self.physical, entity
        return self._virtual.setdefault(entity[0][1], QuotaEntries()), entity[1:]


def user_of(entity: ClientQuotaEntity) -> str | None:
    """The user that a global entity names, or None."""
    return entity[0][1] if entity and entity[0][0] == USER else None


def _split(entity: ClientQuotaEntity) -> tuple[UserPart, str | None]:
    """The user part of an entity, and the client id if it names one."""
    kind, name = entity[-1] if entity else ("", None)
    return (entity[:-1], name) if kind == CLIENT_ID else (entity, None)


class QuotaTarget(Struct, frozen=True, kw_only=True):
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
