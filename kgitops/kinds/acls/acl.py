"""``kind: Acl``: rights of clients as bindings, which are compared as a set."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Literal
from urllib.parse import unquote

from annotated_types import MinLen
from msgspec.structs import replace

from kgitops.desired.findings import Findings
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.roles import rights_of
from kgitops.kinds.acls.bindings import build_acls
from kgitops.kinds.acls.copied import (
    AclTranslation,
    CopiedAcl,
    find_copies,
    of_source,
    plan_migrated,
)
from kgitops.kinds.acls.exported import export_acls, without_operation
from kgitops.kinds.base import ObjectKind
from kgitops.kinds.exports import Exporting, Item
from kgitops.manifests.kinds.fields import EnumName, NotNull, Text, manifest
from kgitops.manifests.kinds.parts import AclResource, Metadata
from kgitops.manifests.value_origin import OriginKind, origins_of
from kgitops.manifests.yaml.document import Document
from kgitops.model.json.declared import DesiredAcl, acl_view, binding_of
from kgitops.model.registry import Owner
from kgitops.model.requests import AclRequest, CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address, split_scoped_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Source
from kgitops.plan.access import ResourcesInUse
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Basis, Change
from kgitops.plan.document.risks import Risk
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import PlannedLinks
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.phases import Phase
from kgitops.plan.removal import ALREADY_GONE, Removal, RemovalKind, find_removals, remove
from kgitops.plan.shown_values import (
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
)

_IN_PART = "; it exists only in part on the cluster, and the rest is removed as well"
RoleName = Literal["producer", "consumer", "streams", "connect-worker", "admin"]


@manifest
class AclSpec:
    """One binding for every principal and operation, or those of a role."""

    principal: Annotated[Text | None, NotNull()] = None
    """The principal, as Type:name; User:* is everyone, in a virtual cluster every member. Either
    this or principals."""
    principals: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """Several principals, instead of principal."""
    host: Text = "*"
    """The address that the client connects from, as brokers write it, IPv6 in full
    (2001:db8:0:0:0:0:0:1), or "*" for any. Since Kafka 4.4 also a range: 10.0.0.0/8."""
    permission: Annotated[PermissionType | None, EnumName(PermissionType), NotNull()] = None
    """Allow or Deny; a Deny wins over every Allow. Needed, unless there is a role, which allows."""
    operations: Annotated[
        list[Annotated[Operation, EnumName(Operation)]] | None,
        NotNull(),
        MinLen(1),
    ] = None
    """The operations that are allowed or denied. Needed, unless there is a role."""
    resource: Annotated[AclResource | None, NotNull()] = None
    """The resource that the bindings are for. Needed, unless there is a role."""
    role: Annotated[RoleName | None, NotNull()] = None
    """Instead of permission, operations and resource: producer (topics; transactionalId, create),
    consumer (topics, group), streams (applicationId; transactionalId), connect-worker (group,
    topics; transactionalId), admin. A plan shows the bindings that it stands for one by one."""
    topics: Annotated[list[Text] | None, NotNull(), MinLen(1)] = None
    """The topics of a role; of a connect-worker those for configs, offsets and status."""
    group: Annotated[Text | None, NotNull()] = None
    """The consumer group of a role, "*" for all; of a connect-worker its group.id."""
    transactional_id: Annotated[Text | None, NotNull()] = None
    """The transactional id of a producer that has one, or of a connect-worker that runs source
    connectors exactly once (connect-cluster-GROUP); with streams a prefix, the application.id."""
    application_id: Annotated[Text | None, NotNull()] = None
    """The application.id of Kafka Streams, which its own topics and groups begin with."""
    create: Annotated[bool | None, NotNull()] = None
    """True if a producer may create its topics, too; false if left out."""
    pattern_type: Annotated[Annotated[PatternType, EnumName(PatternType)] | None, NotNull()] = None
    """The pattern type of a role's topics, group and transactionalId; literal if left out."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), Protect or Orphan."""
    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the resource is in, its prefix, or "*" for every one; the name of
    the resource is then a name in it. If left out, or kafka-cluster, the bindings are global."""
    virtual_cluster_pattern_type: Annotated[PatternType, EnumName(PatternType)] = (
        PatternType.LITERAL
    )
    """The pattern type of virtualCluster: literal or prefixed."""


@manifest
class Acl:
    """One or more ACL bindings, written out or by a role.

    Example:
        apiVersion: kgitops/v1
        kind: Acl
        metadata: {name: orders-readers}
        spec:
          principals: [User:billing, User:audit]
          host: "*"
          permission: Allow
          operations: [Read, Describe]
          resource: {type: topic, name: orders, patternType: literal}

    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Acl"]
    """The kind of the document."""
    metadata: Metadata
    """The metadata of the document."""
    spec: AclSpec
    """The bindings."""


class AclKind(ObjectKind[DesiredAcl]):
    """The bindings, as a set: those declared, and copies of others for members (VC-197)."""

    declares, files, phases = DesiredAcl, "acls", (Phase.ALLOW, Phase.REVOKE)
    scope_path = ("spec", "virtualCluster")

    @classmethod
    def build(cls, declared: Acl, document: Document, findings: Findings) -> Sequence[DesiredAcl]:
        """Return a binding for each principal and operation."""
        return build_acls(declared, document, findings)

    def __init__(self, context: PlanContext) -> None:
        super().__init__(context)
        links = context.planned_links or PlannedLinks(context.current, ())
        self._in_use = ResourcesInUse(context.current)
        self._translation = AclTranslation(context.current, links)
        self._copies = find_copies(context, self._translation, links)
        self._existing = {acl_address(binding): binding for binding in context.current.acls}
        self._missing = {acl_address(it): it for it in context.current.partial_acls}

    def existing(self) -> Iterable[str]:
        """Return the addresses of all bindings."""
        return self._existing

    def scope(self, item: DesiredAcl) -> str | None:
        """Return the one virtual cluster that the ACL is about, if it names one."""
        binding = item.binding
        if not binding.scoped or binding.resource_type is ResourceType.CLUSTER:
            return None
        exact = binding.virtual_cluster_pattern_type is PatternType.LITERAL
        return binding.virtual_cluster if exact and binding.virtual_cluster != "*" else None

    def fits(self, item: DesiredAcl) -> bool:
        """Return whether the cluster that the ACL is about exists, or is created."""
        of_cluster = item.binding.resource_type is ResourceType.CLUSTER
        return not of_cluster or _has_cluster(self.context, item)

    def plan(self) -> PlanDraft:
        """Plan every difference between the declared bindings and the cluster's."""
        context, acls = self.context, self.plan_declared()
        for copy in self._copies:
            if copy.planned and _may_copy(context, copy):
                self._plan(copy.acl, copy)
        copied = (copy.acl.address for copy in self._copies)
        declared = frozenset((*(acl.address for acl in acls), *copied))
        documents = _role_documents(acls, declared, context.ownership)
        for removal in find_removals(("acl",), declared, context, documents):
            self.remove_one(removal)
        context.keep_others(dict.fromkeys(self.existing()), declared)
        plan_migrated(context, self._translation, _PlannedAcls(context))
        if not self.current.has_authorizer:
            context.draft.findings += [
                _unkept(change) for change in context.draft.changes if change.requests
            ]
        return context.draft

    def plan_one(self, item: DesiredAcl) -> None:
        """Create the binding, or keep it."""
        self._plan(item, None)

    def _plan(self, acl: DesiredAcl, copy: CopiedAcl | None) -> None:
        if acl.binding in self.current.acls:
            _keep_or_adopt(self.context, acl, copy)
        else:
            _create(self.context, acl, self._in_use, copy)

    def remove_one(self, removal: Removal) -> None:
        """Delete the binding; one that exists in part still counts for its virtual cluster."""
        binding = self._existing.get(removal.address)
        missing = self._missing.get(removal.address)
        deleted = (binding or missing) if removal.kind is RemovalKind.DELETE else None
        origin = removal.owner.last_applied.get(ORIGIN)
        remove(
            self.context,
            removal,
            Kind.ACL,
            [DeleteAclRequest(binding=deleted)] if deleted else (),
            before=acl_view(binding) if binding else None,
            derived_from=(origin["member"],) if origin else (),
        )

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase: a Deny comes before all that is allowed, and goes after it."""
        deletes = Action.DELETE in change.actions
        if deletes and _is_migrated(change):
            return Phase.MIGRATED
        if deletes:
            return Phase.DENY_LIFT if _denies(change) else Phase.REVOKE
        return Phase.DENY if _denies(change) else Phase.ALLOW

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of one binding."""
        del around
        (request,) = requests_of(change) or (None,)
        if isinstance(request, DeleteAclRequest):
            if request.migrated_to is not None:
                return _migrated(request.migrated_to)
            denies = request.binding.permission_type is PermissionType.DENY
            risk = risks.ACL_DENY_LIFTED if denies else risks.ACL_REVOKE
            return _removed(change, risk, "" if change.before else _IN_PART)
        if releases_ownership(change):
            return _removed(change, risks.ACL_FORGET, "" if change.before else ALREADY_GONE)
        if change.before is not None:
            adoption = risks.ACL_ADOPT if is_adopted(change) else None
            return altered(change, after=change.before, adoption=adoption)
        if not isinstance(request, CreateAclRequest):
            raise ContradictionError("is not created by its request")
        first = {risks.ACL_FIRST} if basis_of(change).first_acl else set()
        return created(
            change,
            after=acl_view(request.binding),
            risky={_grant_risk(request.binding), *first},
            because=_because(change, request.binding),
        )

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every binding that the project may declare."""
        return export_acls(of)


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
            gone.setdefault(without_operation(binding), {})[address] = binding.operation
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


def _denies(change: Change) -> bool:
    """Return whether it is about a Deny, of which there may be nothing to show but its removal."""
    for planned in change.requests:
        if isinstance(planned.request, AclRequest):
            return planned.request.binding.permission_type is PermissionType.DENY
    view = change.after or change.before
    return view is not None and view["permission"] == PermissionType.DENY


def _is_migrated(change: Change) -> bool:
    return any(
        isinstance(planned.request, DeleteAclRequest) and planned.request.migrated_to
        for planned in change.requests
    )


def _because(change: Change, binding: AclBinding) -> str:
    origin = owner_after(change).last_applied.get(ORIGIN)
    if not origin:
        return "it is declared"
    source = of_source(str(origin["copiedFrom"]))
    return f"{binding.principal} has the right in {source}, and takes it along"


def _removed(change: Change, risk: Risk, fate: str) -> Shown:
    because = reason_of_removal(change)
    origin = change.owner_before.last_applied.get(ORIGIN) if change.owner_before else None
    if origin and basis_of(change).tombstone is None:
        because = f"it was copied for {origin['member']}, which no longer asks for it"
    return removed(change, risk=risk, because=f"{because}{fate}")


def _migrated(address: str) -> Shown:
    """Show a binding that a member has in its virtual cluster as well (VC-191)."""
    member = split_scoped_address(address)
    if member is None:
        raise ContradictionError("was copied for something that is not a member")
    return Shown(
        actions=(Action.DELETE,),
        after=None,
        risks=(risks.ACL_MIGRATED,),
        because=f"{unquote(member.tail)} has the right in {member.virtual_cluster}, and its "
        "removeOldAclsFrom asks for it",
    )


def _grant_risk(binding: AclBinding) -> Risk:
    if binding.permission_type is PermissionType.DENY:
        return risks.ACL_DENY
    everyone = binding.principal == EVERYONE
    everything = binding.resource_name == "*" and binding.pattern_type is PatternType.LITERAL
    whole_cluster = (
        binding.resource_type is ResourceType.CLUSTER and binding.operation is Operation.ALL
    )
    wide = everyone or everything or whole_cluster
    return risks.ACL_WIDE_GRANT if wide else risks.ACL_GRANT
