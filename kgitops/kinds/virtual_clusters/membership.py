"""The current members of all virtual clusters."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredMember
from kgitops.model.resources.acls import AclBinding, PermissionType
from kgitops.model.resources.addresses import member_address, virtual_cluster_address
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, EntityType, LocalName
from kgitops.model.source import Finding

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
        """Return whether the name is a member of the virtual cluster."""
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
