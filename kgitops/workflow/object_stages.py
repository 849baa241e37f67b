"""Reads the users, groups and config resources that a plan or an export is about."""

from collections import defaultdict
from collections.abc import Mapping

from msgspec.structs import replace

from kgitops.apply.observe.objects import READ_BY_NAME, possible_names, with_objects
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState, Project
from kgitops.kinds.resets import is_due, reset_topics
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.json.declared import CONFIGURED, DesiredGroup, DesiredUser, OffsetReset
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.kinds import RESOURCES, Kind
from kgitops.plan.context import selected
from kgitops.plan.ownership import OwnershipStatus, build_ownership

_USERS = "user/"
_CONFIGURED = tuple(f"{form.segment}/" for form in RESOURCES.values())


def concerned_users(desired: DesiredState, current: ClusterState) -> frozenset[str]:
    """Return the users that a plan has to know: those declared, and those that anyone manages."""
    return managed_users(current) | {user.name for user in desired.of(DesiredUser)}


def managed_users(current: ClusterState) -> frozenset[str]:
    """Return the users that any project manages."""
    return frozenset(
        owner.last_applied["name"]
        for address, owner in (current.registry.owners if current.registry else {}).items()
        if address.startswith(_USERS) and not owner.spent
    )


def with_declared_objects(
    cluster: Cluster, desired: DesiredState, current: ClusterState
) -> ClusterState:
    """Add the users, groups and config resources that are declared or managed.

    Users are read whichever project manages them, others only if this one does. Of groups that are
    to be reset, the offsets of their topics are read as well. Users that the state has are kept.

    Raises:
        UnreachableError: they can't be read.
    """
    known = Kind.USER in current.asked
    users = () if known else map(user_address, concerned_users(desired, current))
    owners = current.registry.owners if current.registry else {}
    recorded = [address for address in owners if address.startswith(_CONFIGURED)]
    declared = [item for kind in CONFIGURED for item in desired.of(kind)]
    if not recorded and not declared:
        return with_objects(cluster, current, users)
    ownership = build_ownership(desired.project, current.registry)
    addresses = {item.address for item in declared}
    addresses |= {it for it in recorded if ownership.status(it) is OwnershipStatus.MINE}
    planned = (address for address in addresses if selected(desired, address))
    current = with_objects(cluster, current, (*users, *planned))
    due = [
        group.reset
        for group in desired.of(DesiredGroup)
        if group.reset is not None
        and selected(desired, group.address)
        and is_due(group, ownership.last_applied(group.address))
    ]
    return _with_targets(cluster, current, due)


def with_all_objects(
    cluster: Cluster, current: ClusterState, project: Project
) -> tuple[ClusterState, Mapping[Kind, str]]:
    """Add all users, groups and resources with configs, and all that ``project`` manages.

    Also says of each kind that can't be read why it is left out. Groups without configs, of which a
    cluster may have very many, are not looked at.

    Raises:
        UnreachableError: groups or resources that the project manages can't be read.
    """
    ownership = build_ownership(project, current.registry)
    unread: dict[Kind, str] = {}
    for kind in READ_BY_NAME.values():
        try:
            found = cluster.read(kind)  # brokers may have joined since the state was read
            possible = possible_names(kind, (it.name for it in found), current)
            current = current.with_objects([it for it in found if it.name in possible], kind)
        except UnreachableError as error:
            others = "" if kind is Kind.USER else " that this project does not manage"
            unread[kind] = f"{kind.plural.capitalize()}{others} are left out: {error}"
    mine = frozenset(ownership.mine(*(form.sort for form in RESOURCES.values())))
    return with_objects(cluster, current, mine - current.objects.keys()), unread


def _with_targets(cluster: Cluster, current: ClusterState, due: list[OffsetReset]) -> ClusterState:
    by_time: defaultdict[int, set[str]] = defaultdict(set)
    topics: set[str] = set()
    for reset in due:
        known = reset_topics(reset) & current.topics.keys()
        topics |= known
        if reset.timestamp_ms is not None:
            by_time[reset.timestamp_ms] |= known
    if topics:
        usage = cluster.read_usage(frozenset(topics), offsets_only=True)
        current = current.with_usage(usage)
    since = {
        timestamp_ms: cluster.read_offsets_since(frozenset(names), timestamp_ms)
        for timestamp_ms, names in sorted(by_time.items())
        if names
    }
    return replace(current, offsets_since={**current.offsets_since, **since})
