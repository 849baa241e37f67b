"""Reading the objects of steps, once or until confirmed results are visible (A4-101)."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.effects import is_move, is_under_way, is_visible
from kgitops.apply.events import Waiting, WaitReason
from kgitops.apply.lock import LeaseKeeper, growing
from kgitops.apply.objects import recorded_topic_id, with_objects
from kgitops.apply.progress import StepOutcome, step_completed, step_unknown
from kgitops.apply.rights.owner_records import recorded_declaration
from kgitops.apply.steps import Step, emptied_topics, groups_of, links_of, topics_of, users_of
from kgitops.cluster.port import Cluster
from kgitops.kinds.resets import reset_topics
from kgitops.model.cluster_state import Capabilities, ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.json.declared import DesiredGroup, DesiredLink, DesiredObject, DesiredTopic
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateAclRequest,
    DeleteRecordsRequest,
)
from kgitops.model.resources.acls import AclBinding, ResourceType, host_range
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import RequestResult
from kgitops.plan.document.plan import Change, Plan


def read_objects(
    cluster: Cluster,
    steps: Iterable[Step],
    *,
    topics: frozenset[str] = frozenset(),
    links: frozenset[LocalName] = frozenset(),
) -> ClusterState:
    """Read the objects of these steps, and these ``topics`` and those behind ``links``.

    For steps that delete records this includes the topics' offsets, for the deletion of topics
    without records their sizes too, and for steps about groups of virtual clusters the groups'
    offsets. Groups of the cluster and client metrics are read for their steps alone.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    steps = tuple(steps)
    state = cluster.read_state(topics_of(steps) | topics, links_of(steps) | links)
    groups = groups_of(steps)
    if groups:
        state = replace(state, group_offsets=cluster.read_group_offsets(groups))
    expected = (item.object for step in steps for item in step.expects)
    users = map(user_address, users_of(steps))
    state = with_objects(cluster, state, (*users, *expected))
    requests = [step.request for step in steps]
    truncated = frozenset(item.topic for item in requests if isinstance(item, DeleteRecordsRequest))
    if truncated:
        state = state.with_usage(cluster.read_usage(truncated, offsets_only=True))
    emptied = emptied_topics(steps) & frozenset(state.topics)
    return state.with_usage(cluster.read_usage(emptied, groups=False)) if emptied else state


def read_to_check(cluster: Cluster, plan: Plan, steps: Iterable[Step]) -> ClusterState:
    """Read the objects of these steps, and all else that the plan's declarations rest on.

    These are the topics that links lead to or ACLs name, and offsets of topics whose records are
    deleted or of which groups are reset.

    Raises:
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    steps = tuple(steps)
    declared = [item for change in plan.changes for item in _declared(change)]
    links = [item for item in declared if isinstance(item, DesiredLink)]
    requests = [step.request for step in steps]
    asked = [it for it in requests if isinstance(it, AlterVirtualClusterRequest)]
    granted = [it.binding for it in requests if isinstance(it, CreateAclRequest)]
    resets = [it.reset for it in declared if isinstance(it, DesiredGroup) and it.reset is not None]
    by_reset = [(reset, reset_topics(reset)) for reset in resets]
    measured = {
        item.name
        for item in declared
        if isinstance(item, DesiredTopic) and item.delete_records_before
    }
    measured.update(*(names for _, names in by_reset))
    topics = measured.union(filter(None, (it.topic for it in links)))
    topics.update(filter(None, (it.topic for it in asked)))
    topics.update(it.resource_name for it in granted if it.resource_type is ResourceType.TOPIC)
    topics = {name for name in topics if topic_name_problem(name) is None}
    names = {name for link in links for name in (link.local, link.target) if name is not None}
    names |= {LocalName(it.virtual_cluster, it.entity_name) for it in asked if it.entity_name}
    state = read_objects(cluster, steps, topics=frozenset(topics), links=frozenset(names))
    measured &= state.topics.keys() - state.usage.keys()
    if measured:
        state = state.with_usage(cluster.read_usage(frozenset(measured), offsets_only=True))
    since = dict(state.offsets_since)
    for reset, each in by_reset:
        found = each & state.topics.keys()
        if reset.timestamp_ms is not None and found:
            moments = cluster.read_offsets_since(frozenset(found), reset.timestamp_ms)
            since[reset.timestamp_ms] = {**since.get(reset.timestamp_ms, {}), **moments}
    return _with_recorded_topics(cluster, steps, replace(state, offsets_since=since))


def _declared(change: Change) -> Iterator[DesiredObject]:
    """Yield what the change declares; one that declares nothing is refused later."""
    try:
        declared = recorded_declaration(change)
    except ValueError:
        return
    if declared is not None:
        yield declared


def _with_recorded_topics(
    cluster: Cluster, steps: Iterable[Step], state: ClusterState
) -> ClusterState:
    """Find topics by the id that the registry has of them.

    Another client may have removed the link of a virtual cluster's topic: only its id leads to it
    then, and a plan that says that it is gone is not believed.
    """
    ids = {recorded_topic_id(step.address, state) for step in steps}
    ids -= {None, *(topic.topic_id for topic in state.topics.values())}
    if not ids:
        return state
    everything = cluster.read_state().topics.values()
    found = {topic.name: topic for topic in everything if topic.topic_id in ids}
    return replace(state, topics={**state.topics, **found})


def capabilities_for(cluster: Cluster, acls: Iterable[AclBinding]) -> Capabilities:
    """Return what the cluster can do; how it matches ranges is asked only where ``acls`` have any.

    Raises:
        UnreachableError: it can't be asked.
    """
    hosts = (acl.host for acl in acls)
    is_asked = any("/" in host and host_range(host) is not None for host in hosts)
    ranges = is_asked and cluster.matches_host_ranges()
    return replace(cluster.capabilities, host_ranges=ranges)


def read_objects_with_retry(
    context: ApplyContext, steps: Iterable[Step], *, deadline: float
) -> ClusterState:
    """As ``read_objects``, but retries until ``deadline`` while the cluster can't be read.

    Raises:
        UnreachableError: the deadline has passed, or the run was interrupted.
        SafetyError: the cluster's registry can't be trusted.
    """
    steps = tuple(steps)
    while True:
        try:
            return read_objects(context.cluster, steps)
        except UnreachableError:
            if context.clock.monotonic() >= deadline or context.interrupted() is not None:
                raise
        context.clock.sleep(context.settings.retry_ms / 1000)


_PROBED = 20
_LONGEST_PAUSE_S = 0.5

Confirmed = tuple[Step, RequestResult]
"""A step and the broker's success answer."""


def await_visible(
    confirmed: Sequence[Confirmed], context: ApplyContext, waits: LeaseKeeper
) -> Iterator[tuple[Step, StepOutcome | None]]:
    """Read until everything is visible, as long as more and more results become visible.

    Yields each step with its outcome; the outcome is None for a reassignment, which the cluster has
    accepted and which takes a long time.

    Raises:
        KgitopsError: the lock was lost, or the cluster can't be read; the other outcomes are
            unknown.
    """
    unseen = list(confirmed)
    deadline = waits.now().deadline
    pauses = growing(context.settings.poll_ms, _LONGEST_PAUSE_S)
    while unseen:
        late = waits.now().seconds >= deadline
        later = unseen
        if late or _is_worth_reading(unseen, context, deadline):
            state = _read(unseen, context, deadline)
            later = []
            for step, reply in unseen:
                if is_visible(step.request, state, reply):
                    yield step, step_completed(step, reply, state)
                elif _is_moving(step, state):
                    yield step, None
                else:
                    later.append((step, reply))
        if len(later) < len(unseen):
            deadline = waits.now().deadline
        elif late:
            break
        unseen = later
        if unseen:
            context.on_event(
                Waiting(
                    reason=WaitReason.VISIBLE,
                    sentence="accepted by the broker; waiting until it is visible",
                    steps=tuple(step.id for step, _ in unseen),
                )
            )
            waits.pause(next(pauses))
    waited = f"{context.settings.timeout_ms / 1000:g} s"
    problem = f"the broker confirmed it, but it is not visible after {waited}"
    for step, _ in unseen:
        yield step, step_unknown(step, problem)


def _is_worth_reading(unseen: Sequence[Confirmed], context: ApplyContext, deadline: float) -> bool:
    """Return whether reading all of them is worthwhile.

    Brokers apply changes in the controller's order, so the last few show whether the rest may be
    visible: a large batch of topics takes brokers half a minute.
    """
    if len(unseen) <= _PROBED:
        return True
    last = unseen[-_PROBED:]
    state = _read(last, context, deadline)
    return all(
        is_visible(step.request, state, reply) or _is_moving(step, state) for step, reply in last
    )


def _read(confirmed: Sequence[Confirmed], context: ApplyContext, deadline: float) -> ClusterState:
    return read_objects_with_retry(context, [step for step, _ in confirmed], deadline=deadline)


def _is_moving(step: Step, state: ClusterState) -> bool:
    return is_move(step.request) and is_under_way(step.request, state)
