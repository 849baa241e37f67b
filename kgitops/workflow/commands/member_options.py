"""The options of virtual-clusters.sh: one member of a virtual cluster, and its checks."""

from msgspec import Struct

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.names import is_internal, is_principal, topic_name_problem
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    VirtualCluster,
    as_principal,
    default_link_name,
    physical_id,
)
from kgitops.virtual_clusters.refusals import ENTITY_LABELS


class MemberOptions(Struct, frozen=True, kw_only=True):
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
        return f"{ENTITY_LABELS[self.entity_type]} {self.local_name}"

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


def find_virtual_cluster(name: str, state: ClusterState) -> VirtualCluster:
    """The virtual cluster of that name.

    Raises:
        KgitopsError: there is none.
    """
    if name == CLUSTER_NAME:
        raise KgitopsError(
            f"{CLUSTER_NAME} is the physical cluster itself, not a virtual one; name one of those "
            "that kgitops vc list shows"
        )
    virtual_cluster = state.virtual_clusters.get(name)
    if virtual_cluster is None:
        raise KgitopsError(
            f"there is no virtual cluster {name}; kgitops vc list shows those that there are"
        )
    return virtual_cluster


def check_addition(
    options: MemberOptions, virtual_cluster: VirtualCluster, state: ClusterState
) -> None:
    """Refuse members that can't be, and changes to existing members that were not asked for.

    Raises:
        UsageError: an option has no valid name.
        KgitopsError: it belongs to another virtual cluster, or would change an existing member.
    """
    match options.entity_type:
        case EntityType.TOPIC:
            _check_link(options, virtual_cluster, state)
        case EntityType.GROUP:
            _check_group(options, virtual_cluster, state)
        case EntityType.USER:
            _check_user(options, virtual_cluster, state)
        case EntityType.CLIENT_ID | EntityType.TRANSACTIONAL_ID:
            pass
    _check_elsewhere(options, virtual_cluster, state)


def _check_link(
    options: MemberOptions, virtual_cluster: VirtualCluster, state: ClusterState
) -> None:
    """VC-026, VC-043, VC-046: adding an existing link never changes its topic."""
    topic, name = options.topic, options.local_name
    if topic is None:
        raise UsageError("--add --link needs --topic; say which topic the link leads to")
    problem = topic_name_problem(name)
    if problem:
        raise KgitopsError(
            f"--link: {problem}; clients use it as a topic name: up to 249 letters, digits, '.', "
            "'_' and '-'"
        )
    if is_internal(topic):
        raise KgitopsError(f"the topic {topic} is internal and can't be linked to; name another")
    if topic not in state.topics:
        raise KgitopsError(
            f"there is no topic {topic}; --topic takes the name that the topic has on the cluster"
        )
    existing = virtual_cluster.links.get(name)
    if existing is not None and existing.topic != topic:
        raise KgitopsError(
            f"the link {name} of {virtual_cluster.name} leads to {existing.topic} already; choose "
            "another name, or remove it first"
        )


def _check_group(
    options: MemberOptions, virtual_cluster: VirtualCluster, state: ClusterState
) -> None:
    """VC-114, VC-115: a group is taken over once, and a group that is there stays what it is."""
    name, adopt = options.local_name, options.adopt
    if adopt is None:
        return
    if adopt == physical_id(virtual_cluster.name, name):
        raise KgitopsError(
            f"{adopt} is the group {name} of {virtual_cluster.name} itself; name the group "
            "outside that it takes over, or drop --adopt"
        )
    if name in virtual_cluster.groups and virtual_cluster.groups[name] != adopt:
        raise KgitopsError(
            f"the virtual cluster {virtual_cluster.name} has the group {name} already, and it "
            f"did not take over {adopt}; remove it first, or choose another name"
        )
    for other in state.virtual_clusters.values():
        for group, adopted in other.groups.items():
            if adopted == adopt and (other.name, group) != (virtual_cluster.name, name):
                raise KgitopsError(
                    f"the group {adopt} was taken over by {LocalName(other.name, group)} already; "
                    "remove it there first"
                )


def _check_user(
    options: MemberOptions, virtual_cluster: VirtualCluster, state: ClusterState
) -> None:
    """VC-083, VC-190: the user logs in, and the source of copied ACLs exists."""
    principal = options.local_name
    if principal in ("User:*", "User:ANONYMOUS"):
        raise KgitopsError(
            f"{principal} is not a single user and can't be in a virtual cluster; name users "
            "who log in"
        )
    if not is_principal(principal):
        raise UsageError(
            f"--user {options.name!r} is not a principal; write Type:name, as in User:jane"
        )
    for flag, source in (
        ("--copy-acls-from", options.copy_acls_from),
        ("--remove-old-acls-from", options.remove_old_acls_from),
    ):
        if source == virtual_cluster.name:
            raise UsageError(
                f"{flag} {source} is the virtual cluster that {principal} is to be in; name where "
                "the ACLs come from"
            )
        if source not in (None, CLUSTER_NAME):
            find_virtual_cluster(source, state)


def _check_elsewhere(
    options: MemberOptions, virtual_cluster: VirtualCluster, state: ClusterState
) -> None:
    """VC-080, VC-081: a user and a client id are in one virtual cluster."""
    if options.move or options.entity_type not in (EntityType.USER, EntityType.CLIENT_ID):
        return
    for other in state.virtual_clusters.values():
        if other.name != virtual_cluster.name and options.local_name in other.members(
            options.entity_type
        ):
            raise KgitopsError(
                f"the {options.shown} is in the virtual cluster {other.name}; add --move to take "
                "it from there in one step"
            )
