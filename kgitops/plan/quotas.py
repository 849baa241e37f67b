"""Plans client quotas: compares the declared ones with those on the cluster, by entity."""

from collections.abc import Mapping

from kgitops.desired.state import DesiredQuota, DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import (
    VIRTUAL_CLUSTER,
    ClientQuotaEntity,
    make_entity,
    quota_text,
)
from kgitops.plan.context import (
    PlanContext,
    PlanDraft,
    because_adopted,
    because_remembered,
    protection_fields,
    registry_fields,
    takeover_risks,
)
from kgitops.plan.document import risks
from kgitops.plan.document.plan import (
    Action,
    Change,
    Drift,
    FieldChange,
    Kind,
    PlannedRequest,
    Precondition,
)
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.link_index import index_links
from kgitops.plan.normal_form import quota_view
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.planned_requests import chain
from kgitops.plan.removal import Removal, RemovalKind, find_removals

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
            _plan(context, quota, _found(current, quota.entity))
    declared = frozenset(quota.address for quota in desired.quotas)
    for removal in find_removals(("quota",), declared, context):
        entity = make_entity(removal.owner.last_applied["entity"])
        _remove(context, removal, entity, current)
    context.keep_others(dict.fromkeys(map(quota_address, current.quotas)), declared)
    return context.draft


def _has_scope(context: PlanContext, quota: DesiredQuota) -> bool:
    """Tell if the virtual cluster of the quota exists, or is created by this plan."""
    name = dict(quota.entity).get(VIRTUAL_CLUSTER)
    if name is None:
        return True
    source = quota.located.at("spec", "entity", "virtualCluster")
    return context.has_virtual_cluster(name, source, quota.address)


def _found(current: ClusterState, entity: ClientQuotaEntity) -> _Quotas:
    state = current.quotas.get(entity)
    return state.quotas if state else {}


def _plan(context: PlanContext, quota: DesiredQuota, found: _Quotas) -> None:
    address = quota.address
    owner = context.ownership.owner(address)
    managed = context.ownership.last_applied(address)
    mine = context.ownership.status(address) is OwnershipStatus.MINE
    last = _numbers(managed)
    if managed and not found:
        context.report_missing(address)
    elif managed:
        context.draft.drift += _drift(quota, found, last)
    requested = {
        key: quota.quotas.get(key)
        for key in sorted({*quota.quotas, *last})
        if quota.quotas.get(key) != found.get(key)
    }
    creates = not found
    adopts = bool(found) and not mine
    adopted = adopts or bool(mine and found and owner and owner.adopted)
    after = context.owner_after(quota, adopted=adopted)
    if not requested and not adopts and owner == after:
        return
    fields = (*_fields(requested, found), *protection_fields(owner, after))
    actions = (Action.CREATE,) if creates else ((Action.UPDATE,) if requested else ())
    if adopts:
        actions = (Action.ADOPT, *actions)
    elif not requested:
        fields = registry_fields(owner, after)
    risky = {field.risk for field in fields if field.risk}
    risky |= takeover_risks(context.ownership, address)
    if adopts:
        risky.add(risks.QUOTA_ADOPT)
    expects = Precondition(
        object=address,
        exists=bool(found),
        owner=context.owner_label(address),
        fields={f"quotas.{key}": _text(found.get(key)) for key in requested},
    )
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.QUOTA,
            actions=actions or (Action.UPDATE,),
            risks=worst_first(risky or {risks.REGISTRY_ONLY}),
            because=because_adopted(context.ownership, address)
            if adopts
            else _because(bool(managed), requested, creates=creates)
            or because_remembered(owner, after),
            source=quota.located.source,
            before=quota_view(quota.entity, found) if found else None,
            after=quota_view(quota.entity, _merged(found, requested)),
            fields=fields,
            preconditions=(expects,),
            requests=_step(quota.entity, requested, expects),
            owner_before=owner,
            owner_after=after,
        )
    )


def _because(managed: bool, requested: Mapping[str, float | None], *, creates: bool) -> str | None:
    if creates:
        return "it was deleted outside of kgitops" if managed else "it is declared"
    if requested:
        return "it differs from its document"
    return None


def _remove(
    context: PlanContext, removal: Removal, entity: ClientQuotaEntity, current: ClusterState
) -> None:
    """Remove the keys that were last applied; other keys of the entity stay.

    A partial quota still counts for its virtual cluster, so its keys are removed as well.
    """
    found, partial = _found(current, entity), current.partial_quotas
    owned = [
        key
        for key in _numbers(removal.owner.last_applied)
        if key in found or (entity, key) in partial
    ]
    requested: dict[str, float | None] = {}
    if removal.kind is RemovalKind.DELETE:
        requested = dict.fromkeys(sorted(owned))
    gone = "" if owned else "; it is already gone from the cluster"
    expects = Precondition(
        object=removal.address,
        exists=bool(found),
        owner=removal.owner.project,
        fields={f"quotas.{key}": _text(found.get(key)) for key in requested},
    )
    left = _merged(found, requested)
    context.draft.changes.append(
        Change(
            address=removal.address,
            kind=Kind.QUOTA,
            actions=(Action.DELETE if requested else Action.FORGET,),
            risks=(risks.QUOTA_REMOVE if requested else risks.QUOTA_FORGET,),
            because=f"{removal.because}{gone}",
            source=removal.source,
            before=quota_view(entity, found) if found else None,
            after=quota_view(entity, left) if left else None,
            fields=_fields(requested, found),
            preconditions=(expects,),
            requests=_step(entity, requested, expects),
            owner_before=removal.owner,
            owner_after=removal.owner_after,
        )
    )


def _numbers(last: Mapping[str, object]) -> _Quotas:
    quotas = last.get("quotas", {})
    return {key: float(text) for key, text in quotas.items()} if isinstance(quotas, dict) else {}


def _merged(found: _Quotas, requested: Mapping[str, float | None]) -> _Quotas:
    merged = {**found, **requested}
    return {key: value for key, value in merged.items() if value is not None}


def _fields(requested: Mapping[str, float | None], found: _Quotas) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(
            path=f"quotas.{key}",
            before=_text(found.get(key)),
            after=_text(value),
            risk=_risk(found.get(key), value),
        )
        for key, value in requested.items()
    )


def _risk(before: float | None, after: float | None) -> Risk:
    if after is None:
        return risks.QUOTA_REMOVE
    if before is None:
        return risks.QUOTA_CREATE
    return risks.QUOTA_LOWER if after < before else risks.QUOTA_RAISE


def _drift(quota: DesiredQuota, found: _Quotas, last: _Quotas) -> list[Drift]:
    rows = []
    for key in sorted({*found, *last}):
        if found.get(key) == last.get(key):
            continue
        wanted = quota.quotas.get(key)
        undeclared = key not in last and key not in quota.quotas
        restored = wanted != found.get(key)
        rows.append(
            Drift(
                address=quota.address,
                path=f"quotas.{key}",
                last_applied=_text(last.get(key)),
                found=_text(found.get(key)),
                rule="undeclared" if undeclared else "restored" if restored else "accepted",
            )
        )
    return rows


def _step(
    entity: ClientQuotaEntity, requested: Mapping[str, float | None], expects: Precondition
) -> tuple[PlannedRequest, ...]:
    if not requested:
        return ()
    request = AlterClientQuotaRequest(entity=entity, quotas=dict(requested))
    return chain([request], expects)


def _text(value: float | None) -> str | None:
    return None if value is None else quota_text(value)
