"""The words of virtual-clusters.sh: one member of a virtual cluster, and what can't be meant."""

from dataclasses import dataclass

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

NOUNS = {
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
        return f"{NOUNS[self.entity_type]} {self.local_name}"

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


def check_addition(words: MemberWords, found: VirtualCluster, state: ClusterState) -> None:
    """Refuse what no virtual cluster can have, and what would take a member's place unasked.

    Raises:
        UsageError: a word is nothing that can be named.
        KgitopsError: it is somebody else's, or would change what is there.
    """
    match words.entity_type:
        case EntityType.TOPIC:
            _check_link(words, found, state)
        case EntityType.GROUP:
            _check_group(words, found, state)
        case EntityType.USER:
            _check_user(words, found, state)
        case EntityType.CLIENT_ID | EntityType.TRANSACTIONAL_ID:
            pass
    _check_elsewhere(words, found, state)


def _check_link(words: MemberWords, found: VirtualCluster, state: ClusterState) -> None:
    """VC-026, VC-043, VC-046: a link that is there is never led elsewhere by adding it."""
    topic, name = words.topic, words.local_name
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
    there = found.links.get(name)
    if there is not None and there.topic != topic:
        raise KgitopsError(
            f"the link {name} of {found.name} leads to {there.topic} already; choose another name, "
            "or remove it first"
        )


def _check_group(words: MemberWords, found: VirtualCluster, state: ClusterState) -> None:
    """VC-114, VC-115: a group is taken over once, and a group that is there stays what it is."""
    name, adopt = words.local_name, words.adopt
    if adopt is None:
        return
    if adopt == physical_id(found.name, name):
        raise KgitopsError(
            f"{adopt} is the group {name} of {found.name} itself; name the group outside that it "
            "takes over, or drop --adopt"
        )
    if name in found.groups and found.groups[name] != adopt:
        raise KgitopsError(
            f"the virtual cluster {found.name} has the group {name} already, and it did not take "
            f"over {adopt}; remove it first, or choose another name"
        )
    for other in state.virtual_clusters.values():
        for group, adopted in other.groups.items():
            if adopted == adopt and (other.name, group) != (found.name, name):
                raise KgitopsError(
                    f"the group {adopt} was taken over by {LocalName(other.name, group)} already; "
                    "remove it there first"
                )


def _check_user(words: MemberWords, found: VirtualCluster, state: ClusterState) -> None:
    """VC-083, VC-190: a user who logs in, with ACLs from somewhere else that there is."""
    principal = words.local_name
    if principal in ("User:*", "User:ANONYMOUS"):
        raise KgitopsError(
            f"{principal} is nobody in particular and can't be in a virtual cluster; name users "
            "who log in"
        )
    if not is_principal(principal):
        raise UsageError(
            f"--user {words.name!r} is not a principal; write Type:name, as in User:jane"
        )
    for flag, source in (
        ("--copy-acls-from", words.copy_acls_from),
        ("--remove-old-acls-from", words.remove_old_acls_from),
    ):
        if source == found.name:
            raise UsageError(
                f"{flag} {source} is the virtual cluster that {principal} is to be in; name where "
                "the ACLs come from"
            )
        if source not in (None, CLUSTER_NAME):
            known(source, state)


def _check_elsewhere(words: MemberWords, found: VirtualCluster, state: ClusterState) -> None:
    """VC-080, VC-081: a user and a client id are in one virtual cluster."""
    if words.move or words.entity_type not in (EntityType.USER, EntityType.CLIENT_ID):
        return
    for other in state.virtual_clusters.values():
        if other.name != found.name and words.local_name in other.members(words.entity_type):
            raise KgitopsError(
                f"the {words.shown} is in the virtual cluster {other.name}; add --move to take it "
                "from there in one step"
            )
