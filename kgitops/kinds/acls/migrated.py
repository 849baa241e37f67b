"""Plans the removal of old rights once a user has them in its virtual cluster (VC-191).

They need not be managed: the member's ``removeOldAclsFrom`` is the reviewed request for it. Only
those are removed whose counterpart exists in the virtual cluster when the plan is applied.
"""

from collections.abc import Container, Iterator, Sequence

from kgitops.kinds.acls.copied import AclTranslation, copies_in_this_plan, of_source
from kgitops.model.json.declared import DesiredAcl, DesiredMember, acl_view
from kgitops.model.requests import DeleteAclRequest
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Severity
from kgitops.plan.context import PlanContext, selected
from kgitops.plan.document.plan import Change, Precondition
from kgitops.plan.draft import chain
from kgitops.plan.ownership import OwnershipStatus

_SHOWN = 5


def plan_migrated(
    context: PlanContext, translation: AclTranslation, after: Container[AclBinding]
) -> None:
    """Delete what ``removeOldAclsFrom`` names; ``after`` are the bindings once all else is done."""
    changed = {change.address for change in context.draft.changes}
    declared = {acl.address for acl in context.desired.of(DesiredAcl)}
    for member in context.desired.of(DesiredMember):
        source = member.remove_old_acls_from
        if source is None or not selected(context.desired, member.address):
            continue
        removed, remaining = [], []
        for binding in translation.of(source, member.name):
            address = acl_address(binding)
            translated = translation.translate(binding, member.virtual_cluster)
            if address in changed:
                continue
            if address in declared:
                context.draft.findings.append(_declared(member, address))
            elif not translated or not all(acl in after for acl in translated):
                remaining.append(address)
            elif _may_delete(context, member, address):
                stands = _stands(context, translated, changed)
                removed.append(binding)
                changed.add(address)
                change = _deletion(context, member, address, binding, stands)
                context.draft.changes.append(change)
        context.draft.warnings += _warnings(context, member, translation, removed, remaining)


def _may_delete(context: PlanContext, member: DesiredMember, address: str) -> bool:
    if context.ownership.status(address) not in (
        OwnershipStatus.FOREIGN,
        OwnershipStatus.TRANSFERABLE,
    ):
        return True
    context.draft.refuse(
        f"{member.located.source}: {address} belongs to the project "
        f"{context.ownership.label(address)!r}, so removeOldAclsFrom of {member.name} can't "
        "delete it; remove it from there"
    )
    return False


def _stands(
    context: PlanContext, translated: Sequence[AclBinding], changed: Container[str]
) -> tuple[Precondition, ...]:
    """Expect each counterpart to exist still; one that this plan creates has its own change."""
    return tuple(
        context.expect(address)
        for address in map(acl_address, translated)
        if address not in changed
    )


def _deletion(
    context: PlanContext,
    member: DesiredMember,
    address: str,
    binding: AclBinding,
    stands: tuple[Precondition, ...],
) -> Change:
    expects = context.expect(address)
    request = DeleteAclRequest(binding=binding, migrated_to=member.address)
    owner = context.ownership.owner(address)
    return Change(
        address=address,
        kind=Kind.ACL,
        source=member.located.source,
        before=acl_view(binding),
        preconditions=(expects, *_who_asks(context, member), *stands),
        requests=chain([request], expects),
        owner_before=owner,
        owner_after=owner,
        derived_from=(member.address,),
    )


def _who_asks(context: PlanContext, member: DesiredMember) -> tuple[Precondition, ...]:
    """Expect the member to exist and to be ours: only then may unmanaged ACLs be deleted."""
    address = member.address
    virtual_cluster = context.current.virtual_clusters.get(member.virtual_cluster)
    there = virtual_cluster is not None and member.name in virtual_cluster.members(
        member.entity_type
    )
    if not there or context.ownership.status(address) is not OwnershipStatus.MINE:
        return ()
    return (context.expect(address),)


def _declared(member: DesiredMember, address: str) -> Finding:
    return Finding(
        source=member.located.source,
        problem=f"{address} is declared, and removeOldAclsFrom of {member.name} is to remove it",
        advice="remove its document, or removeOldAclsFrom",
    )


def _warnings(
    context: PlanContext,
    member: DesiredMember,
    translation: AclTranslation,
    removed: Sequence[AclBinding],
    remaining: Sequence[str],
) -> Iterator[Finding]:
    source, at = of_source(member.remove_old_acls_from or ""), member.virtual_cluster
    if remaining:
        yield _warning(
            member,
            f"ACLs of {member.name} in {source} stay, for {at} has no counterpart of them: "
            f"{_list(remaining)}",
            "declare what the user needs there, or remove them yourself",
        )
    for binding in removed:
        lost = translation.without_link(binding, at)
        if lost:
            yield _warning(
                member,
                f"{acl_address(binding)} goes, and also allowed topics that have no name in {at}: "
                f"{_list(lost)}",
                "link those that the user needs first",
            )
    if removed and copies_in_this_plan(context, member):
        yield _warning(
            member,
            f"{member.name} gets its rights in {at} and loses the old ones in one apply, which "
            "stops clients that have not been restarted by then",
            "set removeOldAclsFrom in a later commit, once all clients use the new names",
        )


def _warning(member: DesiredMember, problem: str, advice: str) -> Finding:
    return Finding(
        source=member.located.source, problem=problem, advice=advice, severity=Severity.WARNING
    )


def _list(names: Sequence[str]) -> str:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*names[:_SHOWN], *more])
