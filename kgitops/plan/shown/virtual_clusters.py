"""The values shown of virtual clusters, their links and their members."""

from collections.abc import Mapping

from kgitops.model.json.declared import DeletionPolicy, read_part
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateVirtualClusterRequest,
    DeleteGroupRequest,
    Request,
)
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    LoweringOptions,
)
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, FieldChange
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.normal_form import (
    known_after_apply,
    link_view,
    member_view,
    option_texts,
    virtual_cluster_view,
)
from kgitops.plan.ownership import removal_policy
from kgitops.plan.removal import ALREADY_GONE, absence_reason
from kgitops.plan.shown.values import (
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    owner_after,
    reason_of_removal,
    releases_ownership,
    removed,
    requests_of,
    taken_risks,
)


def shown_virtual_cluster(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a virtual cluster itself."""
    del around
    before = change.before
    if releases_ownership(change):
        deleted, forgotten = risks.VIRTUAL_CLUSTER_DELETE, risks.VIRTUAL_CLUSTER_FORGET
        return _removed_whole(change, deleted, forgotten)
    (request,) = requests_of(change) or (None,)
    if before is None:
        if not isinstance(request, CreateVirtualClusterRequest):
            raise ContradictionError("is not created by its request")
        return created(
            change,
            after=virtual_cluster_view(request.virtual_cluster, request.options),
            risky={risks.VIRTUAL_CLUSTER_CREATE},
        )
    old = _options(before)
    new = old
    if isinstance(request, AlterVirtualClusterRequest) and request.options is not None:
        new = request.options
    elif request is not None:
        raise ContradictionError("has a request for something else")
    texts, wanted = option_texts(old), option_texts(new)
    return altered(
        change,
        after=virtual_cluster_view(before["name"], new),
        fields=tuple(
            FieldChange(
                path=path, before=texts[path], after=wanted[path], risk=risks.LOWERING_OPTIONS
            )
            for path in texts
            if texts[path] != wanted[path]
        ),
        adoption=risks.VIRTUAL_CLUSTER_ADOPT if is_adopted(change) else None,
    )


def _removed_whole(change: Change, deleted: Risk, forgotten: Risk) -> Shown:
    because = reason_of_removal(change, gone=change.before is None)
    return removed(change, risk=deleted if change.requests else forgotten, because=because)


def _options(view: Mapping[str, Json]) -> LoweringOptions:
    return read_part(LoweringOptions, view["lowering"])


def shown_link(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a link, also of the one of a topic that is deleted."""
    if change.owner_before is None and change.owner_after is None:
        return _unlinked(change, around)
    if releases_ownership(change):
        return _removed_whole(change, risks.LINK_REMOVE, risks.LINK_FORGET)
    before, last = change.before, owner_after(change).last_applied
    local = LocalName(last["virtualCluster"], last["name"])
    (request,) = requests_of(change) or (None,)
    if request is None:
        if before is None:
            raise ContradictionError("is not created by its request")
        adoption = risks.LINK_ADOPT if is_adopted(change) else None
        return altered(change, after=before, adoption=adoption)
    if not isinstance(request, AlterVirtualClusterRequest):
        raise ContradictionError("has a request for something else")
    to = request.topic or known_after_apply(request.target.name if request.target else "")
    target = last["target"]
    declared = None if target is None else LocalName(target["virtualCluster"], target["topic"])
    after = link_view(local, to, declared)
    if before is None:
        return created(change, after=after, risky={risks.LINK_ADD})
    # The link of a Topic that this project gives up is taken over (VC-403a).
    of_topic = is_adopted(change) and basis_of(change).handed_over
    return altered(
        change,
        after=after,
        fields=(
            FieldChange(path="topic", before=before["topic"], after=to, risk=risks.LINK_RETARGET),
        ),
        adoption=risks.LINK_ADOPT if is_adopted(change) and not of_topic else None,
        because=f"a TopicLink takes the place of the topic {local}"
        if of_topic
        else "it differs from its document",
    )


def _unlinked(change: Change, around: Surroundings) -> Shown:
    (topic,) = change.derived_from
    (request,) = requests_of(change)
    if not isinstance(request, AlterVirtualClusterRequest) or request.change is ChangeType.ADD:
        raise ContradictionError("has a request for something else")
    because = f"{reason_of_removal(around.changes[topic])}, and this is its name"
    return removed(change, risk=risks.LINK_REMOVE, because=because)


def shown_member(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a member of a virtual cluster."""
    if releases_ownership(change):
        return _left(change, around)
    last, before = owner_after(change).last_applied, change.before
    entity_type = EntityType(last["type"])
    is_group = entity_type is EntityType.GROUP
    view = member_view(last["virtualCluster"], entity_type, last["name"])
    adopts = last["adopt"]
    after = {**view, "adopts": adopts} if is_group else view
    if before is None:
        return created(change, after=after, risky={_add_risk(entity_type, adopts)})
    moved_from = next(filter(None, map(_moved_from, requests_of(change))), None)
    if moved_from is not None:
        return altered(
            change,
            after=after,
            fields=(
                FieldChange(
                    path="virtualCluster",
                    before=before["virtualCluster"],
                    after=last["virtualCluster"],
                    risk=risks.MEMBER_MOVE,
                ),
            ),
            adoption=None,
            risky=taken_risks(change),
            because=f"it moves from {moved_from}",
        )
    taken = before.get("adopts")
    risk = risks.GROUP_TAKE_OVER if adopts else risks.GROUP_ADD
    return altered(
        change,
        after=after,
        fields=(FieldChange(path="adopts", before=taken, after=adopts, risk=risk),)
        if is_group and taken != adopts
        else (),
        adoption=risks.MEMBER_ADOPT if is_adopted(change) else None,
    )


def _moved_from(request: Request) -> str | None:
    return request.moved_from if isinstance(request, AlterVirtualClusterRequest) else None


def _add_risk(entity_type: EntityType, adopts: str | None) -> Risk:
    match entity_type:
        case EntityType.GROUP:
            return risks.GROUP_TAKE_OVER if adopts else risks.GROUP_ADD
        case EntityType.TRANSACTIONAL_ID:
            return risks.TRANSACTIONAL_ID_ADD
        case EntityType.USER | EntityType.CLIENT_ID | EntityType.TOPIC:
            return risks.MEMBER_BIND


def _left(change: Change, around: Surroundings) -> Shown:
    owner = change.owner_before
    if owner is None:
        raise ContradictionError("is removed, though no project manages it")
    last, allowed = owner.last_applied, basis_of(change).still_allowed
    entity_type = EntityType(last["type"])
    because = reason_of_removal(change)
    if change.address in around.moved:
        because = "it moves to another virtual cluster"
    elif change.before is None:
        because = f"{because}{ALREADY_GONE}"
    elif (
        change.requests
        and basis_of(change).tombstone is None
        and removal_policy(owner) is DeletionPolicy.ORPHAN
    ):
        because = f"{absence_reason(change.address, None)}; what it has committed stays"
    if not change.requests:
        return removed(change, risk=risks.MEMBER_FORGET, because=because)
    drops = any(isinstance(request, DeleteGroupRequest) for request in requests_of(change))
    return removed(
        change,
        risk=_removal_risks(entity_type, drops=drops, exposed=bool(allowed)),
        because=because,
        impact={"still_allowed": list(allowed)} if allowed else {},
    )


def _removal_risks(entity_type: EntityType, *, drops: bool, exposed: bool) -> tuple[Risk, ...]:
    match entity_type:
        case EntityType.GROUP:
            return worst_first({risks.GROUP_REMOVE, *({risks.GROUP_DELETE} if drops else ())})
        case EntityType.TRANSACTIONAL_ID:
            return (risks.TRANSACTIONAL_ID_REMOVE,)
        case EntityType.USER | EntityType.CLIENT_ID | EntityType.TOPIC:
            more = {risks.MEMBER_EXPOSED} if exposed else set()
            return worst_first({risks.MEMBER_UNBIND, *more})
