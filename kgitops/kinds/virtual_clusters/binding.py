"""``kind: VirtualClusterBinding``, and all members of virtual clusters."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from kgitops.desired.findings import Findings, Path
from kgitops.kinds.base import ObjectKind, Steps
from kgitops.kinds.exports import Exporting, Item
from kgitops.kinds.virtual_clusters.members import (
    MemberDeclaration,
    Membership,
    make_client_id,
    make_transactional_id,
    make_user,
)
from kgitops.manifests.kinds.fields import Flag, NotNull, Text, manifest
from kgitops.manifests.kinds.parts import MemberMetadata
from kgitops.manifests.yaml.document import Document, DocumentPart
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredMember,
    DesiredVirtualCluster,
    MembersMode,
)
from kgitops.model.registry import Owner
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    DeleteGroupRequest,
    Request,
)
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import acl_address, kind_of, member_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.source import Finding, Severity, Source
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Basis, Change, Drift, FieldChange
from kgitops.plan.document.risks import Risk, worst_first
from kgitops.plan.draft import PlanDraft
from kgitops.plan.normal_form import member_view
from kgitops.plan.ownership import OwnershipStatus, removal_policy
from kgitops.plan.phases import Phase, either
from kgitops.plan.removal import ALREADY_GONE, Removal, RemovalKind, absence_reason, remove
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
    taken_risks,
)

_INSTRUCTIONS = ("removeOldAclsFrom", "move", "copyOffsets")
"""Instructions that a document gives once; they are not state, and cause no change alone."""


@manifest
class BindingSpec:
    """A member: exactly one of user, clientId and transactionalId."""

    user: Annotated[Text | None, NotNull()] = None
    """The principal; a bare name gets "User:"."""
    client_id: Annotated[Text | None, NotNull()] = None
    """The client id."""
    transactional_id: Annotated[Text | None, NotNull()] = None
    """The transactional id."""
    copy_acls_from: Annotated[Text | None, NotNull()] = None
    """The virtual cluster whose ACLs are copied for the user, or kafka-cluster for global ones."""
    remove_old_acls_from: Text | None = None
    """The virtual cluster, or kafka-cluster, to remove the user's copied ACLs from, in a commit
    after the one that copies them."""
    move: Flag = False
    """True lets the user or client id be taken out of another virtual cluster."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default) takes the member out of the
    virtual cluster, Orphan leaves it there and forgets it, Protect refuses the plan."""


@manifest
class VirtualClusterBinding:
    """A user, client id or transactional id of a virtual cluster; another team may declare it.

    Example:
        apiVersion: kgitops/v1
        kind: VirtualClusterBinding
        metadata: {name: ana-reader, virtualCluster: analytics}
        spec: {user: User:ana-reader}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["VirtualClusterBinding"]
    """The kind of the document."""
    metadata: MemberMetadata
    """The metadata of the document."""
    spec: BindingSpec
    """The member."""


class VirtualClusterBindingKind(ObjectKind[DesiredMember]):
    """The users, client ids, groups and transactional ids of all virtual clusters."""

    declares, files, phases = DesiredMember, "bindings", (Phase.BIND, Phase.UNBIND)
    always_scoped = True

    @classmethod
    def build(
        cls, declared: VirtualClusterBinding, document: Document, findings: Findings
    ) -> Sequence[DesiredMember]:
        """Return the user, client id or transactional id; none unless there is exactly one."""
        spec, scope = declared.spec, declared.metadata.virtual_cluster
        fields = DocumentPart(document, "spec")
        member = MemberDeclaration(
            scope, declared.metadata.labels, document, fields, spec.deletion_policy
        )
        names = [name for name in (spec.user, spec.client_id, spec.transactional_id) if name]
        if len(names) != 1:
            findings.error(
                document,
                ("spec",),
                f"the binding names {'several members' if names else 'no member'}",
                "write exactly one of user, clientId and transactionalId",
            )
            return []
        if spec.user is not None:
            return [make_user(member, spec.user, "user", spec, findings)]
        for name, written in (
            ("copyAclsFrom", spec.copy_acls_from),
            ("removeOldAclsFrom", spec.remove_old_acls_from),
        ):
            if written is not None:
                findings.error(fields, (name,), f"only a user has {name}", "remove it", key=True)
        if spec.client_id is not None:
            return [make_client_id(member, spec.client_id, findings, move=spec.move)]
        if spec.move:
            problem = "a transactional id can't be moved: its name on the cluster would be another"
            findings.error(fields, ("move",), problem, "remove it", key=True)
        return [make_transactional_id(member, names[0], findings)]

    def __init__(self, context: PlanContext) -> None:
        super().__init__(context)
        self._membership = Membership(context.current)

    def existing(self) -> Iterable[str]:
        """Return the addresses of all members."""
        return self._membership.addresses()

    def scope_place(self, item: DesiredMember) -> Source:
        """Return the place of the member: it may be an item of a virtual cluster's list."""
        return item.located.source

    def plan_one(self, item: DesiredMember) -> None:
        """Add the member, keep or change it, or move it from another virtual cluster."""
        _check_sources(self.context, item)
        old_address = _plan(self.context, item, self._membership)
        if old_address:
            self.moved.add(old_address)

    def remove_one(self, removal: Removal) -> None:
        """Remove the member, unless it only moved."""
        moved = removal.address in self.moved
        remove_member(self.context, removal, self._membership, moved=moved)

    def plan(self) -> PlanDraft:
        """Plan the members, and report undeclared ones of authoritative virtual clusters."""
        draft = super().plan()
        addresses = frozenset(item.address for item in self.context.desired.of(DesiredMember))
        _report_extra(self.context, self._membership, addresses)
        return draft

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase: groups and transactional ids come before the rights on them."""
        if kind_of(change.address) in (EntityType.GROUP, "txn"):
            return either(change, Phase.GROUP, Phase.GROUP_REMOVE)
        return super().phase(change)

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of a member of a virtual cluster."""
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

    @classmethod
    def written_at(cls, item: DesiredMember, steps: Steps) -> Iterable[Path]:
        """Return the place of the value; an item of a list holds it itself."""
        if isinstance(item.located, DocumentPart):
            return [steps]
        return super().written_at(item, steps)

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each member, groups among them."""
        for scope, cluster in sorted(current.virtual_clusters.items()):
            for entity_type in EntityType:
                if entity_type is EntityType.TOPIC:
                    continue
                for name in sorted(cluster.members(entity_type)):
                    of_group = entity_type is EntityType.GROUP
                    yield AlterVirtualClusterRequest(
                        virtual_cluster=scope,
                        entity_type=entity_type,
                        entity_name=name,
                        adopts=cluster.groups[name] if of_group else None,
                    )

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return nothing: members are among the documents of their virtual clusters."""
        del of
        return []


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
        _add(context, member)
        return None
    problem = membership.refusal(member, elsewhere)
    if problem:
        context.draft.findings.append(problem)
        return None
    old = member_address(elsewhere, member.entity_type, member.name)
    if context.ownership.status(old) is OwnershipStatus.FOREIGN:
        context.draft.refuse(
            f"{member.located.source}: {old} {context.ownership.foreign_words(old)}, so the member "
            "can't move from there; let that project remove it first"
        )
        return None
    _move(context, member, elsewhere, old)
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


def _add(context: PlanContext, member: DesiredMember) -> None:
    context.change(member, kind_of_member(member.entity_type), _requests(member, None))


def _move(context: PlanContext, member: DesiredMember, moved_from: str, old: str) -> None:
    """Move a member in one step; ``old`` is its address in the other virtual cluster."""
    view = member_view(member.virtual_cluster, member.entity_type, member.name)
    context.change(
        member,
        kind_of_member(member.entity_type),
        _requests(member, moved_from),
        owner_after=context.owner_after(member, adopted=False),
        before={**view, "virtualCluster": moved_from},
        expects=context.expect(member.address, exists=False),
        more_preconditions=(context.expect(old),),
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
    adopts = context.adopts(member.address)
    owner_after = context.record_after(member, adopts=adopts)
    is_group = member.entity_type is EntityType.GROUP
    taken = membership.adopts(member) if is_group else None
    changes = is_group and taken != member.adopt
    owner = context.ownership.owner(member.address)
    if not adopts and not changes and _same(owner, owner_after):
        return
    problem = membership.adoption_problem(member) if changes else None
    if problem:
        context.draft.findings.append(problem)
        return
    requests: Sequence[Request] = ()
    if changes:
        requests = _requests(member, None)
    elif adopts:
        # A run may have ended between the two: the group is unmanaged, and nothing was copied.
        requests = _copy(member)
    view = member_view(member.virtual_cluster, member.entity_type, member.name)
    context.change(
        member,
        kind_of_member(member.entity_type),
        requests,
        owner_after=owner_after,
        before={**view, "adopts": taken} if is_group else view,
        expects=context.expect(member.address, fields={"adopts": taken} if changes else {}),
    )


def _same(owner: Owner | None, after: Owner) -> bool:
    """Return whether the registry's record is the same except for the instructions."""
    if owner is None:
        return False
    kept = {key: after.last_applied[key] for key in _INSTRUCTIONS}
    same = {**owner.last_applied, **kept} == after.last_applied
    return same and owner.adopted == after.adopted and owner.project == after.project


def _report_extra(context: PlanContext, membership: Membership, declared: frozenset[str]) -> None:
    """Report unmanaged members of authoritative virtual clusters as drift (VC-095)."""
    authoritative = frozenset(
        item.name
        for item in context.desired.of(DesiredVirtualCluster)
        if item.mode is MembersMode.AUTHORITATIVE
    )
    for address in membership.addresses(authoritative):
        status = context.ownership.status(address)
        if address in declared or status not in (
            OwnershipStatus.UNMANAGED,
            OwnershipStatus.TOMBSTONED,
        ):
            continue
        context.draft.drift.append(
            Drift(address=address, path="", last_applied=None, found="present", rule="undeclared")
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
    requests = _removal_requests(removal, at, entity_type, name) if delete else ()
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


def _removal_requests(
    removal: Removal, at: str, entity_type: EntityType, name: str
) -> Sequence[Request]:
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
