"""Plans members that are no longer declared: removes them, unless they only moved."""

from collections.abc import Sequence

from kgitops.kinds.virtual_clusters.membership import Membership
from kgitops.model.requests import AlterVirtualClusterRequest, DeleteGroupRequest, Request
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.source import Finding, Severity
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis
from kgitops.plan.normal_form import member_view
from kgitops.plan.removal import Removal, RemovalKind, remove

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
    # ACLs outside of virtual clusters apply to the user from then on (VC-089).
    allows = membership.global_allows(name) if delete and entity_type is EntityType.USER else ()
    exposed = sorted(map(acl_address, allows))
    requests = _requests(removal, at, entity_type, name) if delete else ()
    remove(
        context,
        removal,
        Kind.GROUP if entity_type is EntityType.GROUP else Kind.BINDING,
        requests,
        before=member_view(at, entity_type, name) if there else None,
        basis=Basis(still_allowed=tuple(exposed)),
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


def _warning(removal: Removal, name: str, exposed: Sequence[str]) -> Finding:
    more = f" and {len(exposed) - _SHOWN} more" if len(exposed) > _SHOWN else ""
    return Finding(
        source=removal.source,
        problem=f"{name} leaves {removal.owner.last_applied['virtualCluster']} and can still do "
        f"what ACLs of the cluster itself allow: {', '.join(exposed[:_SHOWN])}{more}",
        advice="remove those ACLs as well, where the user should reach nothing any more",
        severity=Severity.WARNING,
    )
