"""Members of virtual clusters: those of documents and of their lists, and the current ones."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from kgitops.desired.clients import principal_mismatch
from kgitops.desired.findings import Declaration, Findings, check_name
from kgitops.manifests.yaml.document import shown
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredMember
from kgitops.model.resources.acls import CLUSTER_NAME, EVERYONE, AclBinding, PermissionType
from kgitops.model.resources.addresses import member_address, virtual_cluster_address
from kgitops.model.resources.names import is_principal, text_problem
from kgitops.model.resources.virtual_clusters import (
    EXCLUSIVE,
    EntityType,
    LocalName,
    as_principal,
    physical_id,
)
from kgitops.model.source import Finding

if TYPE_CHECKING:
    from kgitops.kinds.consumer_group import ConsumerGroupSpec
    from kgitops.kinds.virtual_clusters.binding import BindingSpec
    from kgitops.kinds.virtual_clusters.virtual_cluster import GroupMember, UserMember

_NOBODY_IN_PARTICULAR = ("User:ANONYMOUS", EVERYONE)


class MemberDeclaration(Struct, frozen=True):
    """The declaration of a member; its fields are under ``fields``, or in the item of a list."""

    virtual_cluster: str
    labels: Mapping[str, str]
    located: Declaration
    fields: Declaration
    deletion_policy: str | None = None


def make_user(
    declared: MemberDeclaration,
    user: str,
    field: str,
    written: "UserMember | BindingSpec",
    findings: Findings,
) -> DesiredMember:
    """Build a user that is named in ``field`` of the declaration."""
    principal = as_principal(user)
    if principal in _NOBODY_IN_PARTICULAR:
        problem = f"{principal} is a wildcard principal and can't be a member of a virtual cluster"
        findings.error(declared.fields, (field,), problem, "name users who log in")
    elif not is_principal(principal):
        problem = f"{shown(user)} is not a principal"
        findings.error(
            declared.fields, (field,), problem, "write it as Type:name, such as User:billing"
        )
    elif mismatch := principal_mismatch(principal):
        findings.warning(declared.fields, (field,), mismatch.problem, mismatch.advice)
    for name, source in (
        ("copyAclsFrom", written.copy_acls_from),
        ("removeOldAclsFrom", written.remove_old_acls_from),
    ):
        if source == declared.virtual_cluster:
            problem = f"{name} names the virtual cluster that the user belongs to"
            findings.error(
                declared.fields, (name,), problem, "name where the user comes from, or remove it"
            )
        elif source not in (None, CLUSTER_NAME):
            check_name(source, declared.fields, (name,), findings)
    return _member(
        declared,
        EntityType.USER,
        principal,
        findings,
        copy_acls_from=written.copy_acls_from,
        remove_old_acls_from=written.remove_old_acls_from,
        move=written.move,
    )


def make_client_id(
    declared: MemberDeclaration, name: str, findings: Findings, *, move: bool = False
) -> DesiredMember:
    """Build a client id."""
    return _member(declared, EntityType.CLIENT_ID, name, findings, move=move)


def make_group(
    declared: MemberDeclaration,
    name: str,
    written: "GroupMember | ConsumerGroupSpec",
    findings: Findings,
) -> DesiredMember:
    """Build a consumer group; by default its removal keeps its offsets (VC-119)."""
    if written.copy_offsets is not None and written.adopt is None:
        findings.error(
            declared.fields,
            ("copyOffsets",),
            "copyOffsets needs adopt, which says whose offsets",
            "add adopt, or remove copyOffsets",
            key=True,
        )
    if written.adopt == physical_id(declared.virtual_cluster, name):
        problem = f"{written.adopt} is this group itself, by its name on the cluster"
        findings.error(
            declared.fields, ("adopt",), problem, "name the group that it takes over, or remove it"
        )
    return _member(
        declared,
        EntityType.GROUP,
        name,
        findings,
        adopt=written.adopt,
        copy_offsets=written.copy_offsets is not False,
    )


def make_transactional_id(
    declared: MemberDeclaration, name: str, findings: Findings
) -> DesiredMember:
    """Build a transactional id."""
    return _member(declared, EntityType.TRANSACTIONAL_ID, name, findings)


def _member(
    declared: MemberDeclaration,
    entity_type: EntityType,
    name: str,
    findings: Findings,
    *,
    copy_acls_from: str | None = None,
    remove_old_acls_from: str | None = None,
    move: bool = False,
    adopt: str | None = None,
    copy_offsets: bool = True,
) -> DesiredMember:
    default = DeletionPolicy.ORPHAN if entity_type is EntityType.GROUP else DeletionPolicy.DELETE
    written = declared.deletion_policy
    # On the cluster the name of a group begins with that of the virtual cluster.
    if problem := text_problem(physical_id(declared.virtual_cluster, name)):
        what = f"the name of this member of {declared.virtual_cluster}, with that before it,"
        findings.error(declared.fields, (), f"{what} {problem}", "shorten it")
    return DesiredMember(
        address=member_address(declared.virtual_cluster, entity_type, name),
        virtual_cluster=declared.virtual_cluster,
        entity_type=entity_type,
        name=name,
        copy_acls_from=copy_acls_from,
        remove_old_acls_from=remove_old_acls_from,
        move=move,
        adopt=adopt,
        copy_offsets=copy_offsets,
        deletion_policy=default if written is None else DeletionPolicy(written),
        deletion_policy_written=written is not None,
        labels=declared.labels,
        located=declared.located,
    )


_MEMBERS = (
    EntityType.USER,
    EntityType.CLIENT_ID,
    EntityType.GROUP,
    EntityType.TRANSACTIONAL_ID,
)


class Membership:
    """The current members of all virtual clusters, and the groups that they took over."""

    def __init__(self, current: ClusterState) -> None:
        self._found = current.virtual_clusters
        self._acls = current.acls
        self._bound: dict[tuple[EntityType, str], str] = {}
        self._adopters: dict[str, LocalName] = {}
        for virtual_cluster in self._found.values():
            for entity_type in EXCLUSIVE:
                for name in virtual_cluster.members(entity_type):
                    self._bound[entity_type, name] = virtual_cluster.name
            for group, source in virtual_cluster.groups.items():
                if source is not None:
                    self._adopters[source] = LocalName(virtual_cluster.name, group)

    def addresses(self, names: frozenset[str] | None = None) -> Iterator[str]:
        """Yield the addresses of all members, or of those of these virtual clusters."""
        for virtual_cluster in self._found.values():
            if names is None or virtual_cluster.name in names:
                for entity_type in _MEMBERS:
                    for name in sorted(virtual_cluster.members(entity_type)):
                        yield member_address(virtual_cluster.name, entity_type, name)

    def global_allows(self, principal: str) -> Sequence[AclBinding]:
        """Return the Allows outside of virtual clusters for exactly this user."""
        return self._allows.get(principal, ())

    @cached_property
    def _allows(self) -> Mapping[str, Sequence[AclBinding]]:
        allows: dict[str, list[AclBinding]] = {}
        for acl in self._acls:
            if not acl.scoped and acl.permission_type is PermissionType.ALLOW:
                allows.setdefault(acl.principal, []).append(acl)
        return allows

    def has(self, member: DesiredMember) -> bool:
        """Return whether the member belongs to the virtual cluster in which it is declared."""
        return self.belongs(member.virtual_cluster, member.entity_type, member.name)

    def belongs(self, virtual_cluster: str, entity_type: EntityType, name: str) -> bool:
        current = self._found.get(virtual_cluster)
        return current is not None and name in current.members(entity_type)

    def adopts(self, member: DesiredMember) -> str | None:
        """Return the global group that a group took over."""
        current = self._found.get(member.virtual_cluster)
        return current.groups.get(member.name) if current else None

    def elsewhere(self, member: DesiredMember) -> str | None:
        """Return the other virtual cluster that has the member, or that took its group over."""
        if member.entity_type is EntityType.GROUP:
            adopter = self._adopters.get(member.adopt) if member.adopt else None
            return adopter.virtual_cluster if adopter else None
        return self._bound.get((member.entity_type, member.name))

    def refusal(self, member: DesiredMember, elsewhere: str) -> Finding | None:
        """Explain why it can't move from there (VC-080, VC-081, VC-115); None if it can."""
        taken = self.adoption_problem(member)
        if taken:
            return taken
        if member.move:
            return None
        other = virtual_cluster_address(elsewhere)
        return Finding(
            source=member.located.source,
            problem=f"the {_word(member.entity_type)} {member.name} belongs to {elsewhere} "
            f"({other}), and can't be in {member.virtual_cluster} as well",
            advice="set move: true to take it from there in one step, or leave it out here",
        )

    def adoption_problem(self, member: DesiredMember) -> Finding | None:
        """Report that another group took the global one over, which blocks a move (VC-115)."""
        adopter = self._adopters.get(member.adopt) if member.adopt else None
        if adopter is None or adopter == LocalName(member.virtual_cluster, member.name):
            return None
        if adopter.name == member.name and adopter.virtual_cluster != member.virtual_cluster:
            return None if member.move else self._taken(member, adopter, "set move: true, or ")
        return self._taken(member, adopter, "")

    def _taken(self, member: DesiredMember, adopter: LocalName, way: str) -> Finding:
        return Finding(
            source=member.located.source,
            problem=f"the group {member.adopt} was taken over by {adopter}, so {member.address} "
            "can't adopt it",
            advice=f"{way}remove that one and apply first",
        )


def _word(entity_type: EntityType) -> str:
    return "client id" if entity_type is EntityType.CLIENT_ID else str(entity_type)
