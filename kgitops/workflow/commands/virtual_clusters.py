"""The options of virtual-clusters.sh as objects to create or to remove (KIP-1134)."""

from collections.abc import Sequence

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.json.declared import DesiredLink, DesiredMember, DesiredVirtualCluster
from kgitops.model.resources.addresses import virtual_cluster_address
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    VirtualCluster,
    as_principal,
    virtual_cluster_name_problem,
)
from kgitops.virtual_clusters.image import build_image
from kgitops.virtual_clusters.refusals import ENTITY_LABELS
from kgitops.virtual_clusters.resolution import bind
from kgitops.workflow.commands.imperative import CommandLine, ImperativeChange, refuse_managed
from kgitops.workflow.commands.member_options import (
    MemberOptions,
    check_addition,
    find_virtual_cluster,
)


def to_create(name: str, state: ClusterState, *, if_not_exists: bool) -> ImperativeChange:
    """Create a virtual cluster (VC-271).

    Raises:
        KgitopsError: it is there already, or can't have this name.
    """
    problem = virtual_cluster_name_problem(name)
    if problem:
        raise KgitopsError(f"{problem}; choose a name of letters, digits, dot, _ and -")
    if name in state.virtual_clusters:
        if if_not_exists:
            return ImperativeChange()
        raise KgitopsError(
            f"there is a virtual cluster {name} already; choose another name, or pass "
            "--if-not-exists"
        )
    return ImperativeChange(objects=(_declared(name),))


def to_delete(name: str, state: ClusterState) -> ImperativeChange:
    """Remove a virtual cluster, if it is empty (VC-245, VC-275).

    Raises:
        KgitopsError: there is none, a project manages it, or it is not empty.
    """
    virtual_cluster = find_virtual_cluster(name, state)
    refuse_managed([virtual_cluster_address(name)], state.registry)
    if not virtual_cluster.empty:
        members = ", ".join(
            f"{ENTITY_LABELS[kind]} {member}"
            for kind in EntityType
            for member in sorted(virtual_cluster.members(kind))
        )
        raise KgitopsError(
            f"the virtual cluster {name} is not empty: it still has {members}; remove these first, "
            "with kgitops vc alter --remove"
        )
    return ImperativeChange(removed=(_declared(name),))


def to_add(options: MemberOptions, state: ClusterState) -> ImperativeChange:
    """Add a member (VC-272, VC-274).

    Raises:
        KgitopsError: there is no such virtual cluster, it can't have the member, or old ACLs of a
            user who is not in it are to be removed (VC-192).
    """
    virtual_cluster = find_virtual_cluster(options.virtual_cluster, state)
    check_addition(options, virtual_cluster, state)
    exists = options.local_name in virtual_cluster.members(options.entity_type)
    if options.remove_old_acls_from and not options.copy_acls_from and not exists:
        raise KgitopsError(
            f"{options.local_name} is not in the virtual cluster {virtual_cluster.name}, so its "
            "old ACLs stay; add it first, with --copy-acls-from where it needs its ACLs there"
        )
    return ImperativeChange(objects=(_member(options),))


def to_remove(options: MemberOptions, state: ClusterState) -> ImperativeChange:
    """Remove a member (VC-046, VC-273).

    Raises:
        KgitopsError: it is not there, or the link leads to another topic.
    """
    virtual_cluster = find_virtual_cluster(options.virtual_cluster, state)
    if options.local_name not in virtual_cluster.members(options.entity_type):
        raise KgitopsError(
            f"the virtual cluster {virtual_cluster.name} has no {options.shown}; kgitops vc "
            "describe shows what it has"
        )
    if options.entity_type is EntityType.TOPIC:
        topic = virtual_cluster.links[options.local_name].topic
        if options.topic not in (None, topic):
            raise KgitopsError(
                f"the {options.shown} of {virtual_cluster.name} leads to {topic}, not to "
                f"{options.topic}; correct --topic, or leave it out"
            )
        options = MemberOptions(
            virtual_cluster=virtual_cluster.name,
            entity_type=options.entity_type,
            name=options.local_name,
            topic=topic,
        )
    return ImperativeChange(removed=(_member(options),))


def selected(names: Sequence[str], state: ClusterState, *, all_: bool) -> list[VirtualCluster]:
    """The virtual clusters of these names, or all, by name.

    Raises:
        KgitopsError: there is none of a name.
    """
    if all_:
        return [state.virtual_clusters[name] for name in sorted(state.virtual_clusters)]
    return [find_virtual_cluster(name, state) for name in sorted(set(names))]


def _declared(name: str) -> DesiredVirtualCluster:
    return DesiredVirtualCluster(
        address=virtual_cluster_address(name), name=name, located=CommandLine()
    )


def _member(options: MemberOptions) -> DesiredMember | DesiredLink:
    if options.entity_type is EntityType.TOPIC:
        return DesiredLink(
            address=options.address,
            virtual_cluster=options.virtual_cluster,
            name=options.local_name,
            topic=options.topic,
            located=CommandLine(),
        )
    return DesiredMember(
        address=options.address,
        virtual_cluster=options.virtual_cluster,
        entity_type=options.entity_type,
        name=options.local_name,
        copy_acls_from=options.copy_acls_from,
        remove_old_acls_from=options.remove_old_acls_from,
        move=options.move,
        adopt=options.adopt,
        located=CommandLine(),
    )


def caller_scope(
    state: ClusterState,
    *,
    user: str | None,
    client_id: str | None,
    virtual_cluster: str | None = None,
) -> str | None:
    """The virtual cluster in which a caller's quotas are looked up; None outside of all.

    It is ``virtual_cluster`` if that is given, else the one that the user or the client id is
    bound to.

    Raises:
        KgitopsError: there is no such virtual cluster.
    """
    if virtual_cluster is not None:
        return find_virtual_cluster(virtual_cluster, state).name
    principal = as_principal(user) if user else "User:ANONYMOUS"
    binding = bind(build_image(state.virtual_clusters.values()), principal, client_id)
    return binding.virtual_cluster.name if binding else None
