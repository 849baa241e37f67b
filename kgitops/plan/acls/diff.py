"""Plans ACLs as sets of bindings: compares the declared ones with those on the cluster."""

from collections.abc import Hashable, Mapping, Sequence

from msgspec.structs import replace

from kgitops.desired.expansion.roles import rights_of
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import DesiredState
from kgitops.manifests.value_origin import OriginKind, origins_of
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredAcl, acl_view, binding_of
from kgitops.model.registry import Owner
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Source
from kgitops.plan.acls.patterns import ResourcesInUse
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Change
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import PlannedLinks, index_links
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove
from kgitops.plan.virtual_clusters.copied_acls import AclTranslation, CopiedAcl, find_copies
from kgitops.plan.virtual_clusters.migrated_acls import plan_migrated


def plan_acls(
    desired: DesiredState,
    current: ClusterState,
    ownership: Ownership,
    links: PlannedLinks | None = None,
) -> PlanDraft:
    """Plan every difference between the declared bindings and the cluster's.

    ``links`` are those of virtual clusters once the plan is applied.
    """
    context = PlanContext(
        desired=desired,
        current=current,
        ownership=ownership,
        links=index_links(desired, current),
    )
    in_use = ResourcesInUse(current)
    links = links or PlannedLinks(current, ())
    translation = AclTranslation(current, links)
    copies = find_copies(context, translation, links)
    for acl in desired.of(DesiredAcl):
        if context.may_plan(acl) and _has_scope(context, acl):
            _plan(context, acl, in_use, None)
    for copy in copies:
        if copy.planned and _may_copy(context, copy):
            _plan(context, copy.acl, in_use, copy)
    declared = frozenset(
        (*(a.address for a in desired.of(DesiredAcl)), *(c.acl.address for c in copies))
    )
    existing = {acl_address(binding): binding for binding in current.acls}
    missing = {acl_address(binding): binding for binding in current.partial_acls}
    documents = _role_documents(desired.of(DesiredAcl), declared, ownership)
    for removal in find_removals(("acl",), declared, context, documents):
        _remove(context, removal, existing.get(removal.address), missing.get(removal.address))
    context.keep_others(dict.fromkeys(existing), declared)
    plan_migrated(context, translation, _PlannedAcls(context))
    if not current.has_authorizer:
        context.draft.findings += [
            _unkept(change) for change in context.draft.changes if change.requests
        ]
    return context.draft


def _role_documents(
    acls: Sequence[DesiredAcl], declared: frozenset[str], ownership: Ownership
) -> Mapping[str, Source]:
    """Find the documents that may have declared bindings of this project before an edit.

    The registry doesn't record documents. A binding gets the place of a document if that is the
    only one whose role can give its client all rights on the resource that nothing declares.
    """
    gone: dict[AclBinding, dict[str, Operation]] = {}
    for address in ownership.mine("acl"):
        last = ownership.owners[address].last_applied
        if address not in declared and ORIGIN not in last:
            binding = binding_of(last)
            gone.setdefault(_without_operation(binding), {})[address] = binding.operation
    if not gone:
        return {}
    roles: dict[Hashable, dict[Source, str]] = {}
    for acl in acls:
        origin = origins_of(acl.located).get("operations")
        if origin and origin.kind is OriginKind.ROLE:
            roles.setdefault(_client(acl.binding), {})[acl.located.source] = origin.name
    found: dict[str, Source] = {}
    for resource, operations in gone.items():
        rights = {(resource.resource_type, operation) for operation in operations.values()}
        of_client = roles.get(_client(resource), {})
        fitting = [place for place, role in of_client.items() if rights <= rights_of(role)]
        if len(fitting) == 1:
            found |= dict.fromkeys(operations, fitting[0])
    return found


def _without_operation(binding: AclBinding) -> AclBinding:
    return replace(binding, operation=Operation.ALL)


def _client(binding: AclBinding) -> Hashable:
    scope = (binding.virtual_cluster, binding.virtual_cluster_pattern_type)
    return (binding.principal, binding.host, binding.permission_type, scope)


def _unkept(change: Change) -> Finding:
    """Report a binding that brokers without an authorizer can't keep."""
    return Finding(
        source=change.source,
        problem=f"{change.address} can't be made: the cluster has no authorizer, so its brokers "
        "keep no ACLs (SECURITY_DISABLED)",
        advice="set authorizer.class.name on the brokers, or leave the ACL out for this cluster "
        "with metadata.clusters",
    )


def _has_scope(context: PlanContext, acl: DesiredAcl) -> bool:
    """Return whether the virtual cluster that the ACL names exists, or is created by this plan."""
    binding = acl.binding
    if binding.resource_type is ResourceType.CLUSTER:
        return _has_cluster(context, acl)
    exact = binding.virtual_cluster_pattern_type is PatternType.LITERAL
    if not binding.scoped or not exact or binding.virtual_cluster == "*":
        return True
    source = acl.located.at("spec", "virtualCluster")
    return context.has_virtual_cluster(binding.virtual_cluster, source, acl.address)


def _has_cluster(context: PlanContext, acl: DesiredAcl) -> bool:
    """Return whether the resource cluster is the physical one, or an existing virtual one.

    To Kafka any name but kafka-cluster is wrong. Operations that only virtual clusters have may be
    granted before theirs exists, and an existing binding may outlive its virtual cluster.
    """
    binding, name = acl.binding, acl.binding.resource_name
    if name == CLUSTER_NAME or binding.operation in VIRTUAL_CLUSTER_OPERATIONS:
        return True
    pattern = binding.pattern_type is PatternType.PREFIXED or name == "*"
    virtual_clusters = {*context.current.virtual_clusters, *context.links.declared}
    if binding in context.current.acls or (
        virtual_clusters if pattern else name in virtual_clusters
    ):
        return True
    context.draft.findings.append(
        Finding(
            source=acl.located.at("spec", "resource", "name"),
            problem=f"{acl.address} is about {'virtual clusters' if pattern else name}, and there "
            f"{'are none' if pattern else 'is no virtual cluster of that name'}, neither on the "
            "cluster nor in this plan",
            advice=f"write {CLUSTER_NAME}, which is what Kafka calls the cluster itself, or "
            "declare the VirtualCluster",
        )
    )
    return False


def _may_copy(context: PlanContext, copy: CopiedAcl) -> bool:
    address = copy.acl.address
    if context.ownership.status(address) is not OwnershipStatus.FOREIGN:
        return True
    context.draft.refuse(
        f"{copy.acl.located.source}: {address}, which would be copied for {copy.member}, belongs "
        f"to the project {context.ownership.label(address)!r}; remove copyAclsFrom, or the ACL "
        "there"
    )
    return False


class _PlannedAcls:
    """The bindings once a plan is applied, without a copy of the cluster's."""

    def __init__(self, context: PlanContext) -> None:
        requests = [
            planned.request for change in context.draft.changes for planned in change.requests
        ]
        self._found = context.current.acls
        self._made = {r.binding for r in requests if isinstance(r, CreateAclRequest)}
        self._gone = {r.binding for r in requests if isinstance(r, DeleteAclRequest)}

    def __contains__(self, binding: object) -> bool:
        return binding in self._made or (binding in self._found and binding not in self._gone)


def _plan(
    context: PlanContext, acl: DesiredAcl, in_use: ResourcesInUse, copy: CopiedAcl | None
) -> None:
    if acl.binding in context.current.acls:
        _keep_or_adopt(context, acl, copy)
    else:
        _create(context, acl, in_use, copy)


def _with_origin(owner: Owner, copy: CopiedAcl | None) -> Owner:
    """Return the registry's record; that of a copy includes its origin (VC-197)."""
    if copy is None:
        return owner
    return replace(owner, last_applied={**owner.last_applied, ORIGIN: dict(copy.origin)})


def _create(
    context: PlanContext, acl: DesiredAcl, in_use: ResourcesInUse, copy: CopiedAcl | None
) -> None:
    context.change(
        acl,
        Kind.ACL,
        [CreateAclRequest(binding=acl.binding)],
        basis=Basis(first_acl=in_use.unguarded(acl.binding)),
        owner_after=_with_origin(context.owner_after(acl, adopted=False), copy),
        derived_from=(copy.member,) if copy else (),
    )


def _keep_or_adopt(context: PlanContext, acl: DesiredAcl, copy: CopiedAcl | None) -> None:
    owner_after = context.record_after(acl, adopts=context.adopts(acl.address))
    owner_after = _with_origin(owner_after, copy)
    if owner_after == context.ownership.owner(acl.address):  # most ACLs of a fleet
        return
    context.change(
        acl,
        Kind.ACL,
        owner_after=owner_after,
        before=acl_view(acl.binding),
        derived_from=(copy.member,) if copy else (),
    )


def _remove(
    context: PlanContext,
    removal: Removal,
    binding: AclBinding | None,
    missing: AclBinding | None,
) -> None:
    """Plan the removal of a binding.

    One that is ``missing`` still counts for its virtual cluster, and may exist in part.
    """
    deleted = (binding or missing) if removal.kind is RemovalKind.DELETE else None
    origin = removal.owner.last_applied.get(ORIGIN)
    remove(
        context,
        removal,
        Kind.ACL,
        [DeleteAclRequest(binding=deleted)] if deleted else (),
        before=acl_view(binding) if binding else None,
        derived_from=(origin["member"],) if origin else (),
    )
