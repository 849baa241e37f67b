"""Quotas that apply to kgitops itself: brokers throttle its requests like those of any client.

A low one would stop an apply at its own journal, so a plan sets them after everything else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kgitops.model.cluster_state import Client
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    ClientQuotaEntity,
    ClientQuotaState,
    make_entity,
    quota_text,
)
from kgitops.model.resources.virtual_clusters import user_name
from kgitops.model.source import Finding, Severity
from kgitops.model.values import overlaid
from kgitops.plan.document.plan import Change

_NOBODY = "User:ANONYMOUS"
"""The principal of a project that does not name one."""

_Quotas = Mapping[ClientQuotaEntity, Mapping[str, float]]


def own_entities(client: Client | None, principal: str) -> dict[str, list[ClientQuotaEntity]]:
    """Return the entities whose quotas apply to kgitops, narrowest first, by its possible names.

    These are the user that logs in and the principal that the project names; ``""`` if neither is
    known.
    """
    if client is None:
        return {}
    users = {client.user, None if principal == _NOBODY else user_name(principal)}
    names = sorted(name for name in users if name) or [""]
    return {name: list(_entities(name, client.client_id)) for name in names}


def own_quota_ranks(client: Client | None, principal: str) -> dict[str, int]:
    """Return the addresses of quotas that apply to kgitops, with their order: narrower first."""
    return {
        quota_address(entity): rank
        for entities in own_entities(client, principal).values()
        for rank, entity in enumerate(entities)
    }


def warn_of_own_throttles(
    changes: Sequence[Change],
    current: Mapping[ClientQuotaEntity, ClientQuotaState],
    client: Client | None,
    principal: str,
) -> list[Finding]:
    """Warn of each change after which kgitops itself may do less than before."""
    own = own_entities(client, principal)
    if client is None or not any(change.address.startswith("quota/") for change in changes):
        return []
    before = {entity: state.quotas for entity, state in current.items()}
    after, changed_by = _afterwards(changes, before)
    warnings: list[Finding] = []
    for user, entities in own.items():
        lowered: dict[str, tuple[Change, list[str]]] = {}
        for key in sorted({key for entity in entities for key in after.get(entity, ())}):
            was, now = _effective(entities, key, before), _effective(entities, key, after)
            if now is None or (was is not None and now[1] >= was[1]):
                continue
            change = changed_by.get(now[0]) or (changed_by.get(was[0]) if was else None)
            if change is not None:
                text = f"{key} {quota_text(now[1])}"
                lowered.setdefault(change.address, (change, []))[1].append(text)
        warnings += [
            _warning(change, limits, user, client.client_id) for change, limits in lowered.values()
        ]
    return warnings


def _entities(user: str, client_id: str) -> Iterator[ClientQuotaEntity]:
    """Yield entities in the order in which brokers look for a quota (ClientQuotaManager)."""
    if user:
        yield make_entity({USER: user, CLIENT_ID: client_id})
        yield make_entity({USER: user, CLIENT_ID: None})
        yield make_entity({USER: user})
    yield make_entity({USER: None, CLIENT_ID: client_id})
    yield make_entity({USER: None, CLIENT_ID: None})
    yield make_entity({USER: None})
    yield make_entity({CLIENT_ID: client_id})
    yield make_entity({CLIENT_ID: None})


def _afterwards(
    changes: Iterable[Change], before: _Quotas
) -> tuple[_Quotas, Mapping[ClientQuotaEntity, Change]]:
    """Return the quotas once the changes are applied, and the change of each entity."""
    after = {entity: dict(quotas) for entity, quotas in before.items()}
    changed_by = {}
    for change in changes:
        for planned in change.requests:
            request = planned.request
            if isinstance(request, AlterClientQuotaRequest):
                changed_by[request.entity] = change
                after[request.entity] = overlaid(after.get(request.entity, {}), request.quotas)
    return after, changed_by


def _effective(
    entities: Iterable[ClientQuotaEntity], key: str, quotas: _Quotas
) -> tuple[ClientQuotaEntity, float] | None:
    limits = ((entity, quotas[entity][key]) for entity in entities if key in quotas.get(entity, ()))
    return next(limits, None)


def _warning(change: Change, limits: Sequence[str], user: str, client_id: str) -> Finding:
    who = f"User:{user} with the client id {client_id}" if user else f"the client id {client_id}"
    return Finding(
        source=change.source,
        problem=f"{change.address} throttles kgitops itself, which is {who}, to "
        f"{', '.join(limits)}; it is changed last here, and holds for every later plan and apply",
        advice=f"give {f'the user {user}' if user else f'the client id {client_id}'} a quota of "
        "its own that is high enough",
        severity=Severity.WARNING,
    )
