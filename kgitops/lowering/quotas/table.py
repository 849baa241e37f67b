"""Indexes declared quotas for lookup: those of each virtual cluster, and global ones."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
    make_entity,
)

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
