"""Plans members that are no longer declared: removes them, unless they only moved."""

from collections.abc import Sequence

from kgitops.model.requests import AlterVirtualClusterRequest, DeleteGroupRequest, Request
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.source import Finding, Severity
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Kind
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.normal_form import member_view
from kgitops.plan.removal import ALREADY_GONE, Removal, RemovalKind, remove
from kgitops.plan.virtual_clusters.membership import Membership

_SHOWN = 5


def remove_member(
    context: PlanContext, removal: Removal, membership: Membership, *, moved: bool
) -> None:
    """Plan the removal of a member; one that ``moved`` is only forgotten at its old address."""
    last = removal.owner.last_applied
    at, entity_type, name = last["virtualCluster"], EntityType(last["type"]), last["name"]
    there = membership.belongs(at, entity_type, name)
    # For a group, Orphan refers to its offsets; an adopted group is only forgotten (VC-119).
    leaves = removal.kind is RemovalKind.DELETE or (
        entity_type is EntityType.GROUP and not removal.owner.adopted
    )
    delete = there and not moved and leaves
    because = removal.because
    if delete and removal.kind is RemovalKind.FORGET:
        because = "its document was removed; what it has committed stays"
    if moved:
        because = "it moves to another virtual cluster"
    elif not there:
        because = f"{because}{ALREADY_GONE}"
    # ACLs outside of virtual clusters apply to the user from then on (VC-089).
    allows = membership.global_allows(name) if delete and entity_type is EntityType.USER else ()
    exposed = sorted(map(acl_address, allows))
    requests = _requests(removal, at, entity_type, name) if delete else ()
    drops = any(isinstance(request, DeleteGroupRequest) for request in requests)
    remove(
        context,
        removal,
        Kind.GROUP if entity_type is EntityType.GROUP else Kind.BINDING,
        requests,
        risks=_risks(entity_type, drops=drops, exposed=bool(exposed))
        if delete
        else (risks.MEMBER_FORGET,),
        before=member_view(at, entity_type, name) if there else None,
        because=because,
        impact={"still_allowed": exposed} if exposed else {},
    )
    if exposed:
        context.draft.warnings.append(_warning(removal, name, exposed))


def _requests(removal: Removal, at: str, entity_type: EntityType, name: str) -> Sequence[Request]:
    remove = AlterVirtualClusterRequest(
        virtual_cluster=at,
        change=ChangeType.REMOVE,
        entity_type=entity_type,
        entity_name=name,
    )
    written = removal.owner.last_applied["deletionPolicyWritten"] or removal.tombstone
    if entity_type is EntityType.GROUP and removal.kind is RemovalKind.DELETE and written:
        # While a consumer is in the group this fails, and the group keeps its name (VC-119).
        return [DeleteGroupRequest(virtual_cluster=at, group=name), remove]
    return [remove]


def _risks(entity_type: EntityType, *, drops: bool, exposed: bool) -> tuple[Risk, ...]:
    match entity_type:
        case EntityType.GROUP:
            return worst_first({risks.GROUP_REMOVE, *({risks.GROUP_DELETE} if drops else ())})
        case EntityType.TRANSACTIONAL_ID:
            return (risks.TRANSACTIONAL_ID_REMOVE,)
        case _:
            more = {risks.MEMBER_EXPOSED} if exposed else set()
            return worst_first({risks.MEMBER_UNBIND, *more})


def _warning(removal: Removal, name: str, exposed: Sequence[str]) -> Finding:
    more = f" and {len(exposed) - _SHOWN} more" if len(exposed) > _SHOWN else ""
    return Finding(
        source=removal.source,
        problem=f"{name} leaves {removal.owner.last_applied['virtualCluster']} and can still do "
        f"what ACLs of the cluster itself allow: {', '.join(exposed[:_SHOWN])}{more}",
        advice="remove those ACLs as well, where the user should reach nothing any more",
        severity=Severity.WARNING,
    )
