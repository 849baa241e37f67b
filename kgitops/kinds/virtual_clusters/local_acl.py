"""ACLs of virtual clusters, and rights that come along with a user.

A copy is computed when ``copyAclsFrom`` is applied for the first time. The registry keeps it with
its ``origin``. It stays desired while the member's document asks for the same source and its link
exists (VC-197), even if its source was removed.

Old rights need not be managed: the member's ``removeOldAclsFrom`` is the reviewed request for their
removal (VC-191). Only those go whose counterpart exists in the virtual cluster when it is applied.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.last_applied import ORIGIN
from kgitops.kinds.acls.acl import AclKind
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredAcl, DesiredMember, Record, acl_view, binding_of
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    VIRTUAL_CLUSTER_OPERATIONS,
    AclBinding,
    PatternType,
    ResourceType,
)
from kgitops.model.resources.addresses import acl_address, split_scoped_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.source import Finding, Severity
from kgitops.plan.context import PlanContext, selected
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Precondition
from kgitops.plan.draft import chain
from kgitops.plan.link_index import PlannedLinks
from kgitops.plan.ownership import OwnershipStatus
from kgitops.plan.phases import Phase
from kgitops.plan.removal import ALREADY_GONE
from kgitops.plan.shown_values import (
    ContradictionError,
    Shown,
    Surroundings,
    basis_of,
    owner_after,
    reason_of_removal,
    requests_of,
)

_LOCAL_IDS = (ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


class AclTranslation:
    """Translates ACLs on the cluster into the names that virtual clusters have after the plan."""

    def __init__(self, current: ClusterState, links: PlannedLinks) -> None:
        self._current = current
        self._links = links
        self._targets: dict[str, Mapping[str, str | None]] = {}

    def of(self, source: str, principal: str) -> Sequence[AclBinding]:
        """Return the bindings of exactly this principal in the source's scope (VC-196)."""
        return self._by_scope.get((source, principal), ())

    def translate(self, binding: AclBinding, target: str) -> tuple[AclBinding, ...]:
        """Return the equivalent bindings in ``target``; none if it has no name for the resource."""
        if binding.resource_type is ResourceType.TOPIC:
            names = self._link_names(binding, target)
        elif binding.resource_type in _LOCAL_IDS:
            return (_in(target, binding),)
        else:
            return ()
        return tuple(
            replace(_in(target, binding), resource_name=name, pattern_type=PatternType.LITERAL)
            for name in names
        )

    def without_link(self, binding: AclBinding, target: str) -> list[str]:
        """Return the physical topics that the binding matches and ``target`` has no name for."""
        linked = set(self._target(target).values())
        return sorted(topic for topic in self._reached(binding) if topic not in linked)

    def _link_names(self, binding: AclBinding, target: str) -> list[str]:
        name, links = binding.resource_name, self._target(target)
        if binding.pattern_type is PatternType.LITERAL and name == "*":
            return ["*"]
        if binding.scoped:
            topics = set(self._reached(binding))
            return sorted(link for link, topic in links.items() if topic in topics)
        if binding.pattern_type is PatternType.LITERAL:
            return sorted(link for link, topic in links.items() if topic == name)
        return sorted(link for link, topic in links.items() if topic and topic.startswith(name))

    def _reached(self, binding: AclBinding) -> Iterator[str]:
        """Yield the physical topics that the binding matches now."""
        if binding.resource_type is not ResourceType.TOPIC:
            return
        if binding.scoped:
            source = self._current.virtual_clusters.get(binding.virtual_cluster)
            names = {link.name: link.topic for link in source.links.values()} if source else {}
        else:
            topics = self._current.topics.values()
            names = {topic.name: topic.name for topic in topics if not topic.internal}
        for name, topic in names.items():
            if _matches(binding, name):
                yield topic

    def _target(self, target: str) -> Mapping[str, str | None]:
        if target not in self._targets:
            self._targets[target] = self._links.of(target)
        return self._targets[target]

    @cached_property
    def _by_scope(self) -> Mapping[tuple[str, str], Sequence[AclBinding]]:
        by_scope: dict[tuple[str, str], list[AclBinding]] = {}
        for acl in sorted(self._current.acls):
            if acl.virtual_cluster_pattern_type is PatternType.LITERAL:
                by_scope.setdefault((acl.virtual_cluster, acl.principal), []).append(acl)
        return by_scope


def _in(target: str, binding: AclBinding) -> AclBinding:
    return replace(
        binding, virtual_cluster=target, virtual_cluster_pattern_type=PatternType.LITERAL
    )


def _matches(binding: AclBinding, name: str) -> bool:
    if binding.pattern_type is PatternType.PREFIXED:
        return name.startswith(binding.resource_name)
    return binding.resource_name in (name, "*")


def of_source(source: str) -> str:
    """Name the source of a copy in a sentence."""
    return "the cluster itself" if source == CLUSTER_NAME else source


class CopiedAcl(Struct, frozen=True, kw_only=True):
    """A binding that is desired because of its member; ``planned`` if this plan includes it."""

    acl: DesiredAcl
    origin: Mapping[str, Json]
    planned: bool

    @property
    def member(self) -> str:
        """The address of the member."""
        return str(self.origin["member"])


def find_copies(
    context: PlanContext, translation: AclTranslation, links: PlannedLinks
) -> tuple[CopiedAcl, ...]:
    """Find all copies that are desired and not declared themselves."""
    members = [member for member in context.desired.of(DesiredMember) if member.copy_acls_from]
    if not members:
        return ()
    declared = {acl.address for acl in context.desired.of(DesiredAcl)}
    kept = _kept(context)
    copies: dict[str, CopiedAcl] = {}
    for member in members:
        bindings = dict.fromkeys(_still_named(kept.get(member.address, ()), member, links))
        if _is_first(context, member):
            bindings |= dict.fromkeys(_new(context, member, translation))
        for binding in bindings:
            address = acl_address(binding)
            if address not in declared:
                copies.setdefault(address, _copy(context, member, address, binding))
    return tuple(copies[address] for address in sorted(copies))


def copies_in_this_plan(context: PlanContext, member: DesiredMember) -> bool:
    """Return whether this plan copies the ACLs of the member for the first time."""
    return member.copy_acls_from is not None and _is_first(context, member)


def _is_first(context: PlanContext, member: DesiredMember) -> bool:
    last = context.ownership.last_applied(member.address)
    applied = last.get("copyAclsFrom") == member.copy_acls_from
    return selected(context.desired, member.address) and not applied


def _kept(context: PlanContext) -> Mapping[str, Sequence[tuple[str, AclBinding]]]:
    """Return earlier copies, each with its source, by the address of the member."""
    kept: dict[str, list[tuple[str, AclBinding]]] = {}
    for address in context.ownership.mine("acl"):
        last = context.ownership.owners[address].last_applied
        origin = last.get(ORIGIN)
        if origin:
            kept.setdefault(origin["member"], []).append((origin["copiedFrom"], binding_of(last)))
    return kept


def _still_named(
    kept: Sequence[tuple[str, AclBinding]], member: DesiredMember, links: PlannedLinks
) -> Iterator[AclBinding]:
    names = links.of(member.virtual_cluster) if kept else {}
    for source, binding in kept:
        literal = binding.pattern_type is PatternType.LITERAL and binding.resource_name != "*"
        names_topic = binding.resource_type is ResourceType.TOPIC and literal
        if source == member.copy_acls_from and (not names_topic or binding.resource_name in names):
            yield binding


def _new(
    context: PlanContext, member: DesiredMember, translation: AclTranslation
) -> Iterator[AclBinding]:
    source = member.copy_acls_from or CLUSTER_NAME
    untranslated: list[AclBinding] = []
    for binding in translation.of(source, member.name):
        translated = translation.translate(binding, member.virtual_cluster)
        yield from translated
        if not translated:
            untranslated.append(binding)
    if untranslated:
        context.draft.warnings.append(
            _warning(
                member,
                f"{member.name} can't take along from {of_source(source)} what "
                f"{member.virtual_cluster} has no name for: "
                f"{_list([*map(acl_address, untranslated)])}",
                "add a link for what the user needs, or leave it out",
            )
        )
    everyone = translation.of(source, EVERYONE)
    if everyone:
        context.draft.warnings.append(
            _warning(
                member,
                f"ACLs for {EVERYONE} in {of_source(source)} are not copied for {member.name}: "
                f"{_list([*map(acl_address, everyone)])}",
                f"declare in {member.virtual_cluster} what its members need of them",
            )
        )


def _copy(
    context: PlanContext, member: DesiredMember, address: str, binding: AclBinding
) -> CopiedAcl:
    desired = context.desired
    return CopiedAcl(
        acl=DesiredAcl(address=address, binding=binding, located=member.located),
        origin={"copiedFrom": member.copy_acls_from, "member": member.address},
        planned=address not in desired.scope.excludes
        and (selected(desired, member.address) or selected(desired, address)),
    )


_SHOWN = 5
_IN_PART = "; it exists only in part on the cluster, and the rest is removed as well"


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
    if not context.ownership.status(address).of_another:
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
            "stops clients that were not restarted before",
            "set removeOldAclsFrom in a later commit, once all clients use the new names",
        )


def _warning(member: DesiredMember, problem: str, advice: str) -> Finding:
    return Finding(
        source=member.located.source, problem=problem, advice=advice, severity=Severity.WARNING
    )


def _list(names: Sequence[str]) -> str:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*names[:_SHOWN], *more])


class LocalAclKind(AclKind):
    """The bindings: those declared, and copies of others for members (VC-197)."""

    scope_path = ("spec", "virtualCluster")

    def __init__(self, context: PlanContext) -> None:
        super().__init__(context)
        links = context.planned_links or PlannedLinks(context.current, ())
        self._translation = AclTranslation(context.current, links)
        copies = find_copies(context, self._translation, links)
        self._copies = {copy.acl.address: copy for copy in copies}
        # One that exists in part still counts for its virtual cluster.
        in_part = {acl_address(binding): binding for binding in context.current.partial_acls}
        self.removable = {**in_part, **self.removable}

    def derived(self) -> Iterable[DesiredAcl]:
        """Return the copies."""
        return (copy.acl for copy in self._copies.values())

    def may_plan(self, item: DesiredAcl) -> bool:
        """Return whether the binding, or the member that it is copied for, is selected."""
        copy = self._copies.get(item.address)
        if copy is None:
            return super().may_plan(item)
        return copy.planned and _may_copy(self.context, copy)

    def scope(self, item: DesiredAcl) -> str | None:
        """Return the one virtual cluster that a declared ACL is about, if it names one."""
        binding = item.binding
        if not binding.scoped or binding.resource_type is ResourceType.CLUSTER:
            return None
        if item.address in self._copies:
            return None
        exact = binding.virtual_cluster_pattern_type is PatternType.LITERAL
        return binding.virtual_cluster if exact and binding.virtual_cluster != "*" else None

    def fits(self, item: DesiredAcl) -> bool:
        """Return whether the cluster that the ACL is about exists, or is created."""
        of_cluster = item.binding.resource_type is ResourceType.CLUSTER
        return not of_cluster or _has_cluster(self.context, item)

    def recorded(self, item: DesiredAcl, owner: Owner) -> Owner:
        """Return the registry's record; that of a copy includes its origin (VC-197)."""
        copy = self._copies.get(item.address)
        if copy is None:
            return owner
        return replace(owner, last_applied={**owner.last_applied, ORIGIN: dict(copy.origin)})

    @classmethod
    def asked_by(cls, record: Record) -> tuple[str, ...]:
        """Return the address of the member that a copy was made for."""
        origin = record.get(ORIGIN)
        return (origin["member"],) if origin else ()

    def complete(self) -> None:
        """Remove the old rights of members."""
        plan_migrated(self.context, self._translation, _PlannedAcls(self.context))
        super().complete()

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase: an old right goes once its counterpart is there."""
        migrated = Action.DELETE in change.actions and any(
            isinstance(request, DeleteAclRequest) and request.migrated_to
            for request in requests_of(change)
        )
        return Phase.MIGRATED if migrated else super().phase(change)

    @classmethod
    def reason(cls, change: Change, binding: AclBinding) -> str:
        """Explain why the binding is made, or copied."""
        origin = owner_after(change).last_applied.get(ORIGIN)
        if not origin:
            return super().reason(change, binding)
        source = of_source(str(origin["copiedFrom"]))
        return f"{binding.principal} has the right in {source}, and takes it along"

    @classmethod
    def removal_reason(cls, change: Change) -> str:
        """Explain why the binding is removed, be it a copy or there only in part."""
        because = reason_of_removal(change)
        origin = change.owner_before.last_applied.get(ORIGIN) if change.owner_before else None
        if origin and basis_of(change).tombstone is None:
            because = f"it was copied for {origin['member']}, which no longer asks for it"
        if change.before is not None:
            return because
        return f"{because}{_IN_PART if change.requests else ALREADY_GONE}"

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change, be it that of an old right (VC-191)."""
        (request,) = requests_of(change) or (None,)
        if isinstance(request, DeleteAclRequest) and request.migrated_to is not None:
            return _migrated(request.migrated_to)
        return super().shown(change, around)


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
