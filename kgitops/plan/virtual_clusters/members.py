"""Plans the members of virtual clusters: users, client ids, groups, transactional ids."""

from collections.abc import Sequence

from kgitops.desired.state import DesiredMember, DesiredState, MembersMode
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Owner
from kgitops.model.requests import AlterVirtualClusterRequest, CopyGroupOffsetsRequest, Request
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.model.source import Finding
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
from kgitops.plan.document.plan import Action, Change, Drift, FieldChange, Kind, Precondition
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.link_index import index_links
from kgitops.plan.normal_form import member_view
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.planned_requests import chain
from kgitops.plan.removal import find_removals
from kgitops.plan.virtual_clusters.member_removal import remove_member
from kgitops.plan.virtual_clusters.membership import Membership

_KINDS = ("user", "client", "group", "txn")
_INSTRUCTIONS = ("removeOldAclsFrom", "move", "copyOffsets")
"""Instructions that a document gives once; they are not state, and cause no change alone."""


def plan_members(desired: DesiredState, current: ClusterState, ownership: Ownership) -> PlanDraft:
    """Plan every difference between the declared members and the cluster's."""
    context = PlanContext(
        desired=desired,
        current=current,
        ownership=ownership,
        links=index_links(desired, current),
    )
    membership = Membership(current)
    moved: set[str] = set()
    for member in desired.members:
        at = member.located.source
        if context.may_plan(member) and context.has_virtual_cluster(
            member.virtual_cluster, at, member.address
        ):
            _check_sources(context, member)
            left = _plan(context, member, membership)
            moved |= {left} if left else set()
    declared = frozenset(member.address for member in desired.members)
    for removal in find_removals(_KINDS, declared, context):
        remove_member(context, removal, membership, moved=removal.address in moved)
    found = list(membership.addresses())
    context.keep_others(dict.fromkeys(found), declared | moved)
    _report_extra(context, membership, declared)
    return context.draft


def kind_of_member(entity_type: EntityType) -> Kind:
    """Return the kind under which a member is planned."""
    return Kind.GROUP if entity_type is EntityType.GROUP else Kind.BINDING


def _plan(context: PlanContext, member: DesiredMember, membership: Membership) -> str | None:
    """Plan one member; return the address that it leaves, if it moves."""
    if membership.has(member):
        _keep_or_change(context, member, membership)
        return None
    elsewhere = membership.elsewhere(member)
    if elsewhere is None:
        _add(context, member, None)
        return None
    problem = membership.refusal(member, elsewhere)
    if problem:
        context.draft.findings.append(problem)
        return None
    old = member_address(elsewhere, member.entity_type, member.name)
    if context.ownership.status(old) is OwnershipStatus.FOREIGN:
        context.draft.refuse(
            f"{member.located.source}: {old} belongs to the project "
            f"{context.ownership.label(old)!r}; declare metadata.takeFrom: "
            f"[{context.ownership.label(old)}] to take its objects over"
        )
        return None
    _add(context, member, elsewhere)
    return old


def _check_sources(context: PlanContext, member: DesiredMember) -> None:
    """Report sources of ACLs that do not exist: the user would be added without them.

    Sources that were applied already are not checked: a virtual cluster may go once it was left.
    """
    applied = context.ownership.last_applied(member.address) or {}
    for name, source in (
        ("copyAclsFrom", member.copy_acls_from),
        ("removeOldAclsFrom", member.remove_old_acls_from),
    ):
        if source is None or source in (CLUSTER_NAME, applied.get(name)):
            continue
        if not context.knows_virtual_cluster(source):
            context.draft.findings.append(
                Finding(
                    source=member.located.source,
                    problem=f"{name} of {member.address} names the virtual cluster {source}, which "
                    "is neither on the cluster nor in this plan",
                    advice="correct the name, or write kafka-cluster for ACLs of no virtual "
                    "cluster",
                )
            )


def _add(context: PlanContext, member: DesiredMember, moved_from: str | None) -> None:
    address = member.address
    missing = bool(context.ownership.last_applied(address))
    if missing and moved_from is None:
        context.report_missing(address)
    expects = Precondition(object=address, exists=False, owner=context.owner_label(address))
    before, after = context.ownership.owner(address), context.owner_after(member, adopted=False)
    fields = protection_fields(before, after)
    risky = {_add_risk(member, moved_from), *takeover_risks(context.ownership, address)}
    risky |= {field.risk for field in fields if field.risk}
    preconditions = [expects]
    if moved_from is not None:
        old = member_address(moved_from, member.entity_type, member.name)
        preconditions.append(Precondition(object=old, exists=True, owner=context.owner_label(old)))
    view = member_view(member.virtual_cluster, member.entity_type, member.name)
    context.draft.changes.append(
        Change(
            address=address,
            kind=kind_of_member(member.entity_type),
            actions=(Action.UPDATE if moved_from else Action.CREATE,),
            risks=worst_first(risky),
            because=f"it moves from {moved_from}"
            if moved_from
            else "it was removed outside of kgitops"
            if missing
            else "it is declared",
            source=member.located.source,
            before={**view, "virtualCluster": moved_from} if moved_from else None,
            after=_after(member),
            fields=(*_move_fields(member, moved_from), *fields),
            preconditions=tuple(preconditions),
            requests=chain(_requests(member, moved_from), expects),
            owner_before=before,
            owner_after=after,
        )
    )


def _requests(member: DesiredMember, moved_from: str | None) -> Sequence[Request]:
    """Return the addition, and for a group the copy of the old one's offsets (VC-114)."""
    add = AlterVirtualClusterRequest(
        virtual_cluster=member.virtual_cluster,
        entity_type=member.entity_type,
        entity_name=member.name,
        moved_from=moved_from,
        adopts=member.adopt,
    )
    return [add, *_copy(member)]


def _copy(member: DesiredMember) -> Sequence[Request]:
    """Return the copy of the old group's offsets; a group that has offsets keeps its own."""
    if member.adopt is None or not member.copy_offsets:
        return []
    return [
        CopyGroupOffsetsRequest(
            virtual_cluster=member.virtual_cluster, group=member.name, source=member.adopt
        )
    ]


def _keep_or_change(context: PlanContext, member: DesiredMember, membership: Membership) -> None:
    address = member.address
    owner = context.ownership.owner(address)
    adopts = context.ownership.status(address) is not OwnershipStatus.MINE
    after = context.owner_after(member, adopted=adopts or bool(owner and owner.adopted))
    is_group = member.entity_type is EntityType.GROUP
    taken = membership.adopts(member) if is_group else None
    changes = is_group and taken != member.adopt
    if not adopts and not changes and _same(owner, after):
        return
    problem = membership.adoption_problem(member) if changes else None
    if problem:
        context.draft.findings.append(problem)
        return
    expects = Precondition(
        object=address,
        exists=True,
        owner=context.owner_label(address),
        fields={"adopts": taken} if changes else {},
    )
    fields: tuple[FieldChange, ...] = protection_fields(owner, after)
    if changes:
        risk = risks.GROUP_TAKE_OVER if member.adopt else risks.GROUP_ADD
        change = FieldChange(path="adopts", before=taken, after=member.adopt, risk=risk)
        fields = (change, *fields)
    elif not adopts:
        fields = registry_fields(owner, after)
    risky = {field.risk for field in fields if field.risk}
    if adopts:
        risky |= {risks.MEMBER_ADOPT, *takeover_risks(context.ownership, address)}
    actions = ((Action.ADOPT,) if adopts else ()) + ((Action.UPDATE,) if changes else ())
    view = member_view(member.virtual_cluster, member.entity_type, member.name)
    context.draft.changes.append(
        Change(
            address=address,
            kind=kind_of_member(member.entity_type),
            actions=actions or (Action.UPDATE,),
            risks=worst_first(risky or {risks.REGISTRY_ONLY}),
            because=because_adopted(context.ownership, address)
            if adopts
            else "it differs from its document"
            if changes
            else because_remembered(owner, after),
            source=member.located.source,
            before={**view, "adopts": taken} if is_group else view,
            after=_after(member),
            fields=fields,
            preconditions=(expects,),
            # A run may have ended between the two: the group is unmanaged, and nothing was copied.
            requests=chain(
                _requests(member, None) if changes else _copy(member) if adopts else (), expects
            ),
            owner_before=owner,
            owner_after=after,
        )
    )


def _same(owner: Owner | None, after: Owner) -> bool:
    """Tell if the registry's record is the same except for the instructions."""
    if owner is None:
        return False
    kept = {key: after.last_applied[key] for key in _INSTRUCTIONS}
    same = {**owner.last_applied, **kept} == after.last_applied
    return same and owner.adopted == after.adopted and owner.project == after.project


def _after(member: DesiredMember) -> dict[str, object]:
    view = member_view(member.virtual_cluster, member.entity_type, member.name)
    return {**view, "adopts": member.adopt} if member.entity_type is EntityType.GROUP else view


def _move_fields(member: DesiredMember, moved_from: str | None) -> tuple[FieldChange, ...]:
    if moved_from is None:
        return ()
    return (
        FieldChange(
            path="virtualCluster",
            before=moved_from,
            after=member.virtual_cluster,
            risk=risks.MEMBER_MOVE,
        ),
    )


def _add_risk(member: DesiredMember, moved_from: str | None) -> Risk:
    if moved_from is not None:
        return risks.MEMBER_MOVE
    match member.entity_type:
        case EntityType.GROUP:
            return risks.GROUP_TAKE_OVER if member.adopt else risks.GROUP_ADD
        case EntityType.TRANSACTIONAL_ID:
            return risks.TRANSACTIONAL_ID_ADD
        case _:
            return risks.MEMBER_BIND


def _report_extra(context: PlanContext, membership: Membership, declared: frozenset[str]) -> None:
    """Report unmanaged members of authoritative virtual clusters as drift (VC-095)."""
    authoritative = frozenset(
        item.name
        for item in context.desired.virtual_clusters
        if item.mode is MembersMode.AUTHORITATIVE
    )
    for address in membership.addresses(authoritative):
        status = context.ownership.status(address)
        if address in declared or status not in (OwnershipStatus.UNMANAGED, OwnershipStatus.SPENT):
            continue
        context.draft.drift.append(
            Drift(address=address, path="", last_applied=None, found="present", rule="undeclared")
        )
