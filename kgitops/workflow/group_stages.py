"""Reads the consumer groups and config resources that a plan is about."""

from collections import defaultdict

from msgspec.structs import replace

from kgitops.apply.observe.groups import with_groups
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState, Project
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.json.declared import DesiredConfigs, DesiredGroup, OffsetReset
from kgitops.model.resources.addresses import config_resource_address
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import RESOURCES
from kgitops.plan.context import selected
from kgitops.plan.ownership import OwnershipStatus, build_ownership
from kgitops.plan.values.resets import is_due, reset_topics

_PREFIXES = tuple(f"{form.segment}/" for form in RESOURCES.values())


def with_group_states(
    cluster: Cluster, desired: DesiredState, current: ClusterState
) -> ClusterState:
    """Add the groups and config resources that are declared or that this project manages.

    Of groups that are to be reset, the offsets of their topics are read as well.

    Raises:
        UnreachableError: they can't be read.
    """
    owners = current.registry.owners if current.registry else {}
    recorded = [address for address in owners if address.startswith(_PREFIXES)]
    declared = [item for item in desired.objects if isinstance(item, DesiredConfigs)]
    if not recorded and not declared:
        return current
    ownership = build_ownership(desired.project, current.registry)
    addresses = {item.address for item in declared}
    addresses |= {it for it in recorded if ownership.status(it) is OwnershipStatus.MINE}
    current = with_groups(cluster, current, {it for it in addresses if selected(desired, it)})
    due = [
        group.reset
        for group in desired.of(DesiredGroup)
        if group.reset is not None
        and selected(desired, group.address)
        and is_due(group, ownership.last_applied(group.address))
    ]
    return _with_targets(cluster, current, due)


def with_all_groups(
    cluster: Cluster, current: ClusterState, project: Project
) -> tuple[ClusterState, tuple[str, ...]]:
    """Add each group and resource with configs, and all that ``project`` manages.

    Also returns why others are missing, where they can't be read. Groups without configs, of which
    a cluster may have very many, are not looked at.

    Raises:
        UnreachableError: those that the project manages can't be read.
    """
    ownership = build_ownership(project, current.registry)
    mine = frozenset(ownership.mine(*(form.sort for form in RESOURCES.values())))
    current = with_groups(cluster, current, mine)
    unread: list[str] = []
    for kind in ConfigResourceType:
        try:
            names = cluster.list_configured(kind)
            addresses = {config_resource_address(kind, name) for name in names}
            current = with_groups(cluster, current, addresses - mine)
        except UnreachableError as error:
            left_out = RESOURCES[kind].kind.plural.capitalize()
            unread.append(f"{left_out} that this project does not manage are left out: {error}")
    return current, tuple(unread)


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
