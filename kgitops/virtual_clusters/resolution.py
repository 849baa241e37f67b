"""Resolves a caller's virtual cluster and quota: KIP-1134's 16 lookups and the caps (VC-201)."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    ClientQuotaState,
    make_entity,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import DEFAULT, TopicLink, VirtualCluster, physical_id
from kgitops.virtual_clusters.image import VirtualClustersImage


class BoundBy(StrEnum):
    """The property that binds a caller; its user is looked up before its client id (VC-084)."""

    USER = "user"
    CLIENT_ID = "clientId"


class Binding(Struct, frozen=True, kw_only=True):
    """The namespace of one bound caller."""

    virtual_cluster: VirtualCluster
    reason: BoundBy

    def link(self, name: str) -> TopicLink | None:
        """The link of that name; global topics are never looked up instead (VC-029)."""
        return self.virtual_cluster.links.get(name)

    def physical_id(self, local_id: str) -> str:
        """The physical group or transactional id (VC-111, VC-120)."""
        return physical_id(self.virtual_cluster.name, local_id)

    def local_id(self, physical: str) -> str | None:
        """The local id of a physical one; None if that is not of this virtual cluster."""
        prefix = physical_id(self.virtual_cluster.name, "")
        return physical.removeprefix(prefix) if physical.startswith(prefix) else None


def bind(image: VirtualClustersImage, principal: str, client_id: str | None) -> Binding | None:
    """The caller's virtual cluster; None if it is in none (VC-010, VC-088)."""
    for name, reason in (
        (image.users.get(principal), BoundBy.USER),
        (image.client_ids.get(client_id) if client_id else None, BoundBy.CLIENT_ID),
    ):
        if name is not None:
            return Binding(virtual_cluster=image.by_name[name], reason=reason)
    return None


Quotas = Mapping[ClientQuotaEntity, ClientQuotaState]


class QuotaLookup(Struct, frozen=True, kw_only=True):
    """One of the 16 lookups (VC-200); ``entity`` is None if it does not apply, ``why`` explains."""

    rank: int
    path: str
    entity: ClientQuotaEntity | None
    value: float | None
    won: bool
    why: str


class Resolution(Struct, frozen=True, kw_only=True):
    """The quota in effect: the first entry with a value, and the cap of the virtual cluster.

    ``value`` is None if no entry has one, ``cap`` if there is no cap. ``bucket`` identifies the
    clients that share the entry's quota on each broker (VC-211, VC-212); empty without an entry.
    """

    value: float | None = None
    rank: int | None = None
    entity: ClientQuotaEntity | None = None
    cap: float | None = None
    cap_entity: ClientQuotaEntity | None = None
    bucket: ClientQuotaEntity = ()

    @property
    def limit(self) -> float | None:
        """The limit for one caller: an entry above the cap counts as the cap (VC-202)."""
        limits = [limit for limit in (self.value, self.cap) if limit is not None]
        return min(limits, default=None)


def resolve(
    quotas: Quotas,
    *,
    virtual_cluster: str | None,
    user: str | None,
    client_id: str | None,
    key: str,
) -> Resolution:
    """The quota of ``key`` for a caller in ``virtual_cluster``, which may be None (VC-213).

    ``user`` is a name without ``User:``, None for a principal of another type (VC-083).
    """
    cap_entity = cap_of(quotas, virtual_cluster, key) if virtual_cluster is not None else None
    cap = None if cap_entity is None else quotas[cap_entity].quotas[key]
    for rank, _, entity in _lookups(virtual_cluster, user, client_id):
        value = _value(quotas, entity, key)
        if value is not None and entity is not None:
            return Resolution(
                value=value,
                rank=rank,
                entity=entity,
                cap=cap,
                cap_entity=cap_entity,
                bucket=_bucket(entity, user, client_id),
            )
    return Resolution(cap=cap, cap_entity=cap_entity)


def explain(
    quotas: Quotas,
    *,
    virtual_cluster: str | None,
    user: str | None,
    client_id: str | None,
    key: str,
) -> tuple[QuotaLookup, ...]:
    """All 16 lookups in order, with the one that won, and the reason why the others did not."""
    rows: list[QuotaLookup] = []
    winner: int | None = None
    for rank, path, entity in _lookups(virtual_cluster, user, client_id):
        value = _value(quotas, entity, key)
        won = winner is None and value is not None
        if won:
            winner = rank
            why = "the first that says anything"
        elif entity is None:
            why = _unasked(path, virtual_cluster, user)
        elif value is None:
            why = "not set"
        else:
            why = f"set to {quota_text(value)}, but {winner} comes first"
        rows.append(QuotaLookup(rank=rank, path=path, entity=entity, value=value, won=won, why=why))
    return tuple(rows)


def cap_of(quotas: Quotas, virtual_cluster: str, key: str) -> ClientQuotaEntity | None:
    """The entity that caps this key: the virtual cluster's, else the default (VC-201, VC-203)."""
    for name in (virtual_cluster, None):
        entity = make_entity({VIRTUAL_CLUSTER: name})
        if _value(quotas, entity, key) is not None:
            return entity
    return None


def _lookups(
    virtual_cluster: str | None, user: str | None, client_id: str | None
) -> Iterator[tuple[int, str, ClientQuotaEntity | None]]:
    rank = 0
    for scope in (True, False):
        for users in (USER, DEFAULT, None):
            for clients in (CLIENT_ID, DEFAULT, None):
                if users is None and clients is None:
                    continue  # this entity is the cap, which is not one of the lookups
                rank += 1
                applies = (
                    (not scope or virtual_cluster is not None)
                    and (users != USER or user is not None)
                    and (clients != CLIENT_ID or client_id is not None)
                    and (users != DEFAULT or user is not None)
                    and (clients != DEFAULT or client_id is not None)
                )
                parts: dict[str, str | None] = {}
                if scope:
                    parts[VIRTUAL_CLUSTER] = virtual_cluster
                if users is not None:
                    parts[USER] = user if users == USER else None
                if clients is not None:
                    parts[CLIENT_ID] = client_id if clients == CLIENT_ID else None
                yield rank, _path(scope, users, clients), make_entity(parts) if applies else None


def _path(scope: bool, users: str | None, clients: str | None) -> str:
    path = "/config"
    path += "/virtual-clusters/<vc>" if scope else ""
    path += "" if users is None else f"/users/<{'user' if users == USER else 'default'}>"
    return path + (
        ""
        if clients is None
        else f"/clients/<{'client-id' if clients == CLIENT_ID else 'default'}>"
    )


def _unasked(path: str, virtual_cluster: str | None, user: str | None) -> str:
    if "<vc>" in path and virtual_cluster is None:
        return "not asked: the caller is in no virtual cluster"
    if "/users/" in path and user is None:
        return "not asked: the caller's principal is not a User"
    return "not asked: the caller gives no client id"


def _bucket(
    entity: ClientQuotaEntity, user: str | None, client_id: str | None
) -> ClientQuotaEntity:
    names = {USER: user, CLIENT_ID: client_id}
    return tuple((kind, names.get(kind, name)) for kind, name in entity)


def _value(quotas: Quotas, entity: ClientQuotaEntity | None, key: str) -> float | None:
    state = quotas.get(entity) if entity is not None else None
    return state.quotas.get(key) if state is not None else None
