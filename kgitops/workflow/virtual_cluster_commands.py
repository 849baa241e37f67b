"""What virtual-clusters.sh's flags ask for, as objects that are to be there or to go (KIP-1134)."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgitops.desired.state import DesiredLink, DesiredMember, DesiredVirtualCluster
from kgitops.model.acls import CLUSTER_NAME
from kgitops.model.addresses import member_address, virtual_cluster_address
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.virtual_clusters import (
    EntityType,
    LocalName,
    VirtualCluster,
    as_principal,
    default_link_name,
    virtual_cluster_name_problem,
)
from kgitops.workflow.commands import OnCommandLine, Wanted, refuse_managed

_FLAGS = {
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "client id",
    EntityType.GROUP: "group",
    EntityType.TRANSACTIONAL_ID: "transactional id",
    EntityType.TOPIC: "link",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberWords:
    """One member of a virtual cluster, as ``alter``'s flags name it.

    Of a link ``topic`` is the physical topic and ``name`` the link's; one may be left out.
    """

    virtual_cluster: str
    entity_type: EntityType
    name: str | None = None
    topic: str | None = None
    copy_acls_from: str | None = None
    remove_old_acls_from: str | None = None
    move: bool = False
    adopt: str | None = None

    @property
    def shown(self) -> str:
        """The member for a sentence."""
        return f"{_FLAGS[self.entity_type]} {self.local_name}"

    @property
    def local_name(self) -> str:
        """Its name in the virtual cluster.

        A user's is the principal (VC-083), a link's is what its topic is called (VC-025).
        """
        if self.entity_type is EntityType.USER:
            return as_principal(self.name or "")
        return self.name or default_link_name(self.topic or "")

    @property
    def address(self) -> str:
        """The member's address."""
        return member_address(self.virtual_cluster, self.entity_type, self.local_name)


def to_create(name: str, state: ClusterState, *, if_not_exists: bool) -> Wanted:
    """A new virtual cluster (VC-271).

    Raises:
        KgitopsError: it is there already, or can't have this name.
    """
    problem = virtual_cluster_name_problem(name)
    if problem:
        raise KgitopsError(f"{problem}; choose a name of letters, digits, dot, _ and -")
    if name in state.virtual_clusters:
        if if_not_exists:
            return Wanted()
        raise KgitopsError(
            f"there is a virtual cluster {name} already; choose another name, or pass "
            "--if-not-exists"
        )
    return Wanted(objects=(_declared(name),))


def to_delete(name: str, state: ClusterState) -> Wanted:
    """A virtual cluster that is to go; what keeps it is named (VC-245, VC-275).

    Raises:
        KgitopsError: there is none, a project manages it, or it is not empty.
    """
    found = known(name, state)
    refuse_managed([virtual_cluster_address(name)], state.registry)
    if not found.empty:
        left = ", ".join(
            f"{_FLAGS[kind]} {member}"
            for kind in EntityType
            for member in sorted(found.members(kind))
        )
        raise KgitopsError(
            f"the virtual cluster {name} is not empty: it still has {left}; remove these first, "
            "with kgitops vc alter --remove"
        )
    return Wanted(removed=(_declared(name),))


def to_add(words: MemberWords, state: ClusterState) -> Wanted:
    """A member that is to be there (VC-272, VC-274).

    Raises:
        KgitopsError: there is no such virtual cluster, or old ACLs are to go of a user who is not
            in it (VC-192).
    """
    found = known(words.virtual_cluster, state)
    there = words.local_name in found.members(words.entity_type)
    if words.remove_old_acls_from and not words.copy_acls_from and not there:
        raise KgitopsError(
            f"{words.local_name} is not in the virtual cluster {found.name}, so its old ACLs stay; "
            "add it first, with --copy-acls-from where it needs its ACLs there"
        )
    if words.entity_type is EntityType.TOPIC and words.topic is None:
        raise UsageError("--add --link needs --topic; say which topic the link leads to")
    return Wanted(objects=(_member(words),))


def to_remove(words: MemberWords, state: ClusterState) -> Wanted:
    """A member that is to go (VC-046, VC-273).

    Raises:
        KgitopsError: it is not there, or the link leads to another topic.
    """
    found = known(words.virtual_cluster, state)
    if words.local_name not in found.members(words.entity_type):
        raise KgitopsError(
            f"the virtual cluster {found.name} has no {words.shown}; kgitops vc describe shows "
            "what it has"
        )
    if words.entity_type is EntityType.TOPIC:
        leads_to = found.links[words.local_name].topic
        if words.topic not in (None, leads_to):
            raise KgitopsError(
                f"the {words.shown} of {found.name} leads to {leads_to}, not to {words.topic}; "
                "correct --topic, or leave it out"
            )
        words = MemberWords(
            virtual_cluster=found.name,
            entity_type=words.entity_type,
            name=words.local_name,
            topic=leads_to,
        )
    return Wanted(removed=(_member(words),))


def known(name: str, state: ClusterState) -> VirtualCluster:
    """The virtual cluster of that name.

    Raises:
        KgitopsError: there is none.
    """
    if name == CLUSTER_NAME:
        raise KgitopsError(
            f"{CLUSTER_NAME} is the physical cluster itself, not a virtual one; name one of those "
            "that kgitops vc list shows"
        )
    found = state.virtual_clusters.get(name)
    if found is None:
        raise KgitopsError(
            f"there is no virtual cluster {name}; kgitops vc list shows those that there are"
        )
    return found


def selected(names: Sequence[str], state: ClusterState, *, all_: bool) -> list[VirtualCluster]:
    """The virtual clusters of these names, or all, by name.

    Raises:
        KgitopsError: there is none of a name.
    """
    if all_:
        return [state.virtual_clusters[name] for name in sorted(state.virtual_clusters)]
    return [known(name, state) for name in sorted(set(names))]


def _declared(name: str) -> DesiredVirtualCluster:
    return DesiredVirtualCluster(
        address=virtual_cluster_address(name), name=name, located=OnCommandLine()
    )


def _member(words: MemberWords) -> DesiredMember | DesiredLink:
    if words.entity_type is EntityType.TOPIC:
        return DesiredLink(
            address=words.address,
            local=LocalName(words.virtual_cluster, words.local_name),
            topic=words.topic,
            located=OnCommandLine(),
        )
    return DesiredMember(
        address=words.address,
        virtual_cluster=words.virtual_cluster,
        entity_type=words.entity_type,
        name=words.local_name,
        copy_acls_from=words.copy_acls_from,
        remove_old_acls_from=words.remove_old_acls_from,
        move=words.move,
        adopt=words.adopt,
        located=OnCommandLine(),
    )
