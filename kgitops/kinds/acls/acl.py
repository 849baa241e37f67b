"""``kind: Acl``: rights of clients as bindings, which are compared as a set."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from annotated_types import MinLen

from kgitops.desired.findings import Findings, Path
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.roles import rights_of
from kgitops.kinds.acls.bindings import build_acls
from kgitops.kinds.acls.exported import export_acls, without_operation
from kgitops.kinds.base import ObjectKind, Steps
from kgitops.kinds.exports import Exporting, Item
from kgitops.manifests.kinds.fields import EnumName, NotNull, Text, manifest
from kgitops.manifests.kinds.parts import AclResource, Metadata
from kgitops.manifests.value_origin import OriginKind, origins_of
from kgitops.manifests.yaml.document import Document
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredAcl, Record, acl_view, binding_of
from kgitops.model.registry import Owner
from kgitops.model.requests import AclRequest, CreateAclRequest, DeleteAclRequest, Request
from kgitops.model.resources.acls import (
    EVERYONE,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Located, Source
from kgitops.plan.access import ResourcesInUse
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Basis, Change
from kgitops.plan.document.risks import Risk
from kgitops.plan.ownership import Ownership
from kgitops.plan.phases import Phase
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.shown_values import (
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    reason_of_removal,
    releases_ownership,
    removed,
    requests_of,
)

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
    """The bindings, as a set."""

    declares, files, phases = DesiredAcl, "acls", (Phase.ALLOW, Phase.REVOKE)

    @classmethod
    def build(cls, declared: Acl, document: Document, findings: Findings) -> Sequence[DesiredAcl]:
        """Return a binding for each principal and operation."""
        return build_acls(declared, document, findings)

    def __init__(self, context: PlanContext) -> None:
        super().__init__(context)
        self._in_use = ResourcesInUse(context.current)
        self._existing = {acl_address(binding): binding for binding in context.current.acls}
        self.removable: Mapping[str, AclBinding] = self._existing

    def recorded(self, item: DesiredAcl, owner: Owner) -> Owner:
        """Return the registry's record of the binding."""
        del item
        return owner

    @classmethod
    def asked_by(cls, record: Record) -> tuple[str, ...]:
        """Return the addresses of the objects that a recorded binding follows from, if any."""
        del record
        return ()

    def existing(self) -> Iterable[str]:
        """Return the addresses of all bindings."""
        return self._existing

    def documents(self, declared: Sequence[DesiredAcl]) -> Mapping[str, Source]:
        """Return the documents of roles that may have declared a binding before an edit."""
        addresses = frozenset(item.address for item in declared)
        return _role_documents(declared, addresses, self.context.ownership)

    def complete(self) -> None:
        """Refuse bindings that brokers without an authorizer can't keep."""
        draft = self.context.draft
        if not self.current.has_authorizer:
            draft.findings += [_unkept(change) for change in draft.changes if change.requests]

    def plan_one(self, item: DesiredAcl) -> None:
        """Create the binding, or keep it."""
        context, binding = self.context, item.binding
        if binding in self.current.acls:
            owner_after = context.record_after(item, adopts=context.adopts(item.address))
        else:
            owner_after = context.owner_after(item, adopted=False)
        owner_after = self.recorded(item, owner_after)
        derived_from = self.asked_by(owner_after.last_applied)
        if binding not in self.current.acls:
            context.change(
                item,
                Kind.ACL,
                [CreateAclRequest(binding=binding)],
                basis=Basis(first_acl=self._in_use.unguarded(binding)),
                owner_after=owner_after,
                derived_from=derived_from,
            )
        elif owner_after != context.ownership.owner(item.address):  # most ACLs of a fleet are equal
            before = acl_view(binding)
            context.change(
                item, Kind.ACL, owner_after=owner_after, before=before, derived_from=derived_from
            )

    def remove_one(self, removal: Removal) -> None:
        """Delete the binding."""
        binding = self._existing.get(removal.address)
        deletes = removal.kind is RemovalKind.DELETE
        deleted = self.removable.get(removal.address) if deletes else None
        remove(
            self.context,
            removal,
            Kind.ACL,
            [DeleteAclRequest(binding=deleted)] if deleted else (),
            before=acl_view(binding) if binding else None,
            derived_from=self.asked_by(removal.owner.last_applied),
        )

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase: a Deny comes before all that is allowed, and goes after it."""
        denies = _denies(change)
        if Action.DELETE in change.actions:
            return Phase.DENY_LIFT if denies else Phase.REVOKE
        return Phase.DENY if denies else Phase.ALLOW

    @classmethod
    def reason(cls, change: Change, binding: AclBinding) -> str:
        """Explain why the binding is made."""
        del change, binding
        return "it is declared"

    @classmethod
    def removal_reason(cls, change: Change) -> str:
        """Explain why the binding is removed."""
        return reason_of_removal(change, gone=change.before is None)

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of one binding."""
        del around
        (request,) = requests_of(change) or (None,)
        if isinstance(request, DeleteAclRequest):
            denies = request.binding.permission_type is PermissionType.DENY
            risk = risks.ACL_DENY_LIFTED if denies else risks.ACL_REVOKE
            return removed(change, risk=risk, because=cls.removal_reason(change))
        if releases_ownership(change):
            return removed(change, risk=risks.ACL_FORGET, because=cls.removal_reason(change))
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
            because=cls.reason(change, request.binding),
        )

    @classmethod
    def written_at(cls, item: DesiredAcl, steps: Steps) -> Iterable[Path]:
        """Return the place of the value; the principal may be in a list."""
        if steps != ("principal",):
            return super().written_at(item, steps)
        return [("spec", "principal"), *_in_list(item.located, item.binding.principal)]

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each binding, by address."""
        for binding in sorted(current.acls, key=acl_address):
            yield CreateAclRequest(binding=binding)

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every binding that the project may declare."""
        return export_acls(of)


def _in_list(located: Located, principal: str) -> Iterator[Path]:
    """Return the place in the list of principals; the list, if placeholders hide which it is."""
    if isinstance(located, Document):
        index = 0
        while (written := located.written("spec", "principals", index)) is not None:
            if written == principal:
                yield ("spec", "principals", index)
            index += 1
    yield ("spec", "principals")


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


def _denies(change: Change) -> bool:
    """Return whether it is about a Deny, of which there may be nothing to show but its removal."""
    for planned in change.requests:
        if isinstance(planned.request, AclRequest):
            return planned.request.binding.permission_type is PermissionType.DENY
    view = change.after or change.before
    return view is not None and view["permission"] == PermissionType.DENY


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
