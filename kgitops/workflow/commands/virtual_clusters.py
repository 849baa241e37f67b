"""What virtual-clusters.sh's flags ask for, as objects that are to be there or to go (KIP-1134)."""

from collections.abc import Sequence

from kgitops.desired.state import DesiredLink, DesiredMember, DesiredVirtualCluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.addresses import virtual_cluster_address
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    VirtualCluster,
    virtual_cluster_name_problem,
)
from kgitops.workflow.commands.imperative import OnCommandLine, Wanted, refuse_managed
from kgitops.workflow.commands.member_options import NOUNS, MemberWords, check_addition, known


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
            f"{NOUNS[kind]} {member}"
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
        KgitopsError: there is no such virtual cluster, it can't have the member, or old ACLs are to
            go of a user who is not in it (VC-192).
    """
    found = known(words.virtual_cluster, state)
    check_addition(words, found, state)
    there = words.local_name in found.members(words.entity_type)
    if words.remove_old_acls_from and not words.copy_acls_from and not there:
        raise KgitopsError(
            f"{words.local_name} is not in the virtual cluster {found.name}, so its old ACLs stay; "
            "add it first, with --copy-acls-from where it needs its ACLs there"
        )
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
