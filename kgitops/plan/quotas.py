"""Plans client quotas: compares the declared ones with those on the cluster, by entity."""

from collections.abc import Mapping, Sequence

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredQuota
from kgitops.model.requests import AlterClientQuotaRequest, Request
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
    quota_text,
)
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Drift, Kind
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import index_links
from kgitops.plan.normal_form import quota_view
from kgitops.plan.ownership import Ownership
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove

_Quotas = Mapping[str, float]


def plan_quotas(desired: DesiredState, current: ClusterState, ownership: Ownership) -> PlanDraft:
    """Plan every difference between the declared quotas and the cluster's."""
    context = PlanContext(
        desired=desired,
        current=current,
        ownership=ownership,
        links=index_links(desired, current),
    )
    for quota in desired.quotas:
        if context.may_plan(quota) and _has_scope(context, quota):
            _plan(context, quota, _current(current, quota.entity))
    declared = frozenset(quota.address for quota in desired.quotas)
    for removal in find_removals(("quota",), declared, context):
        entity = make_entity(removal.owner.last_applied["entity"])
        _remove(context, removal, entity, current)
    context.keep_others(dict.fromkeys(map(quota_address, current.quotas)), declared)
    return context.draft


def _has_scope(context: PlanContext, quota: DesiredQuota) -> bool:
    """Return whether the virtual cluster of the quota exists, or is created by this plan."""
    name = dict(quota.entity).get(VIRTUAL_CLUSTER)
    if name is None:
        return True
    source = quota.located.at("spec", "entity", "virtualCluster")
    return context.has_virtual_cluster(name, source, quota.address)


def _current(current: ClusterState, entity: ClientQuotaEntity) -> _Quotas:
    state = current.quotas.get(entity)
    return state.quotas if state else {}


def _plan(context: PlanContext, quota: DesiredQuota, current: _Quotas) -> None:
    address = quota.address
    managed = context.ownership.last_applied(address)
    last = _numbers(managed)
    if managed and current:
        context.draft.drift += _drift(quota, current, last)
    requested = {
        key: quota.quotas.get(key)
        for key in sorted({*quota.quotas, *last})
        if quota.quotas.get(key) != current.get(key)
    }
    requests, held = _requests(quota.entity, requested), _expected(requested, current)
    expects = context.expect(address, exists=bool(current), fields=held)
    if not current:
        context.create(quota, Kind.QUOTA, requests, expects=expects)
        return
    before = quota_view(quota.entity, current)
    context.adopt_or_update(quota, Kind.QUOTA, requests, before=before, expects=expects)


def _remove(
    context: PlanContext, removal: Removal, entity: ClientQuotaEntity, state: ClusterState
) -> None:
    """Remove the keys that were last applied; other keys of the entity stay.

    A partial quota still counts for its virtual cluster, so its keys are removed as well.
    """
    current, partial = _current(state, entity), state.partial_quotas
    last = _numbers(removal.owner.last_applied)
    owned = [key for key in last if key in current or (entity, key) in partial]
    requested: dict[str, float | None] = {}
    if removal.kind is RemovalKind.DELETE:
        requested = dict.fromkeys(sorted(owned))
    remove(
        context,
        removal,
        Kind.QUOTA,
        _requests(entity, requested),
        before=quota_view(entity, current) if current else None,
        expected=_expected(requested, current),
        basis=Basis(in_part=not requested and any((entity, key) in partial for key in owned)),
    )


def _numbers(last: Mapping[str, object]) -> _Quotas:
    quotas = last.get("quotas", {})
    return {key: float(text) for key, text in quotas.items()} if isinstance(quotas, dict) else {}


def _expected(requested: Mapping[str, float | None], current: _Quotas) -> Mapping[str, str | None]:
    return {f"quotas.{key}": _text(current.get(key)) for key in requested}


def _drift(quota: DesiredQuota, current: _Quotas, last: _Quotas) -> list[Drift]:
    rows = []
    for key in sorted({*current, *last}):
        if current.get(key) == last.get(key):
            continue
        wanted = quota.quotas.get(key)
        undeclared = key not in last and key not in quota.quotas
        restored = wanted != current.get(key)
        rows.append(
            Drift(
                address=quota.address,
                path=f"quotas.{key}",
                last_applied=_text(last.get(key)),
                found=_text(current.get(key)),
                rule="undeclared" if undeclared else "restored" if restored else "accepted",
            )
        )
    return rows


def _requests(
    entity: ClientQuotaEntity, requested: Mapping[str, float | None]
) -> Sequence[Request]:
    if not requested:
        return ()
    return [AlterClientQuotaRequest(entity=entity, quotas=dict(requested))]


def _text(value: float | None) -> str | None:
    return None if value is None else quota_text(value)
