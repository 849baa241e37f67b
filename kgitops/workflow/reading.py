"""Reads the parts of a cluster that only some plans, exports and audits need.

The use of topics is asked for where it matters: docs/decisions/0010.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import get_args

from msgspec.structs import replace

from kgitops.apply.journal.damage import require_sound
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.lock_claims import live_claim
from kgitops.apply.objects import possible_names, with_objects
from kgitops.apply.run.reading import capabilities_for
from kgitops.apply.run.resume import newest_unfinished, pending_undo_requests
from kgitops.apply.steps import RecordedOutcome
from kgitops.cluster.port import Cluster
from kgitops.desired.reported_types import with_reported_types
from kgitops.desired.state import DesiredState, Project
from kgitops.kinds.resets import is_due, reset_topics
from kgitops.model.cluster_state import Capabilities, ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.json.declared import (
    CONFIGURED,
    DesiredAcl,
    DesiredGroup,
    DesiredObject,
    DesiredTopic,
    DesiredUser,
    OffsetReset,
)
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import READ_BY_NAME, Kind
from kgitops.model.resources.topic_configs import is_throttle
from kgitops.plan.context import selected
from kgitops.plan.document.documents import RunToResume
from kgitops.plan.document.plan import PlannedRequest
from kgitops.plan.ownership import OwnershipStatus, build_ownership
from kgitops.workflow.project.selection import Workspace

_USERS = "user/"
_OWN = tuple(form for form in READ_BY_NAME.values() if form.kind is not Kind.USER)
"""Objects that are read by name only if the project declares or manages them."""
_OWN_SEGMENTS = tuple(f"{form.segment}/" for form in _OWN)
_OWN_CLASSES = tuple(
    kind for kind in get_args(DesiredObject) if kind.kind in {form.kind for form in _OWN}
)


def find_run_to_resume(cluster: Cluster, workspace: Workspace) -> RunToResume | None:
    """Find the project's unfinished run; call it first, because a state read next costs less.

    Raises:
        UnreachableError: the registry can't be read.
        SafetyError: the registry can't be trusted.
    """
    entries = cluster.registry.read()
    if not entries:
        return None
    require_sound(entries)
    run = newest_unfinished(latest_values(entries), workspace.project)
    if run is None:
        return None
    claim = live_claim(entries, cluster.registry.now_ms())
    return RunToResume(
        run_id=run.id,
        started=run.started,
        holder=run.holder,
        done=sum(step.outcome is RecordedOutcome.DONE for step in run.steps.values()),
        locked_by=claim.holder if claim else None,
        resume=workspace.resume_command,
    )


def with_offsets(cluster: Cluster, desired: DesiredState, current: ClusterState) -> ClusterState:
    """Add the offsets of topics with ``deleteRecordsBefore`` to the state.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    declared = (topic.name for topic in desired.of(DesiredTopic) if topic.delete_records_before)
    names = frozenset(name for name in declared if name in current.topics)
    if not names:
        return current
    return current.with_usage(cluster.read_usage(names, offsets_only=True))


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
    users = () if known else map(user_address, _concerned_users(desired, current))
    owners = current.registry.owners if current.registry else {}
    recorded = [address for address in owners if address.startswith(_OWN_SEGMENTS)]
    declared = [item for kind in _OWN_CLASSES for item in desired.of(kind)]
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


def _concerned_users(desired: DesiredState, current: ClusterState) -> frozenset[str]:
    """Return the users that a plan has to know: those declared, and those that anyone manages."""
    return _managed_users(current) | {user.name for user in desired.of(DesiredUser)}


def _managed_users(current: ClusterState) -> frozenset[str]:
    """Return the users that any project manages."""
    return frozenset(
        owner.last_applied["name"]
        for address, owner in (current.registry.owners if current.registry else {}).items()
        if address.startswith(_USERS) and not owner.spent
    )


def with_brokers_configs(
    cluster: Cluster, desired: DesiredState, current: ClusterState
) -> DesiredState:
    """Let the brokers decide on the declared configs that kgitops has no definition of.

    Raises:
        FindingsError: the brokers don't know one either, or its value is of another type.
        UnreachableError: they can't be asked.
    """
    if not desired.unknown_configs:
        return desired
    keys: dict[ConfigResourceType | None, set[str]] = {}
    for unknown in desired.unknown_configs:
        keys.setdefault(unknown.kind, set()).add(unknown.key)
    named: dict[ConfigResourceType | None, Iterable[str]] = {
        kind.resource: [item.name for item in desired.of(kind)] for kind in CONFIGURED
    }
    named[None] = current.topics  # brokers describe only a topic that exists
    named[ConfigResourceType.BROKER] = [str(it.id) for it in current.brokers if not it.fenced]
    types = {
        kind: cluster.read_config_types(kind, name, frozenset(asked))
        for kind, asked in keys.items()
        if (name := min(named[kind], default=None)) is not None
    }
    return with_reported_types(desired, types, current)


def with_host_ranges(
    cluster: Cluster, desired: DesiredState, current: ClusterState
) -> Capabilities:
    """Return what the cluster can do; how it matches ranges is asked only where there are any.

    Raises:
        UnreachableError: it can't be asked.
    """
    bindings = (item.binding for item in desired.of(DesiredAcl))
    return capabilities_for(cluster, (*bindings, *current.acls))


def find_pending_undo_requests(
    cluster: Cluster, current: ClusterState, project: Project
) -> tuple[PlannedRequest, ...]:
    """The requests with which the project's unfinished runs would undo temporary settings.

    Raises:
        UnreachableError: the journal can't be read.
        SafetyError: it is damaged.
    """
    # Ten thousand topics have few different keys.
    keys: set[str] = set().union(*(topic.configs for topic in current.topics.values()))
    throttled = any(broker.throttles for broker in current.brokers) or any(map(is_throttle, keys))
    return pending_undo_requests(cluster.registry.read() or (), project) if throttled else ()


def with_users_to_plan(cluster: Cluster, state: ClusterState, *, wanted: bool) -> ClusterState:
    """Add all users if they are ``wanted``, or if some project manages any.

    Raises:
        UnreachableError: they can't be read.
    """
    read = wanted or _managed_users(state)
    return state.with_objects(cluster.read(Kind.USER), Kind.USER) if read else state


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
    for kind in (form.kind for form in READ_BY_NAME.values()):
        try:
            found = cluster.read(kind)  # brokers may have joined since the state was read
            possible = possible_names(kind, (it.name for it in found), current)
            current = current.with_objects([it for it in found if it.name in possible], kind)
        except UnreachableError as error:
            others = "" if kind is Kind.USER else " that this project does not manage"
            unread[kind] = f"{kind.plural.capitalize()}{others} are left out: {error}"
    mine = frozenset(ownership.mine(*(form.sort for form in _OWN)))
    return with_objects(cluster, current, mine - current.objects.keys()), unread
