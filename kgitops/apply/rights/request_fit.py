"""Requests that fit their change: nothing is asked for but what makes its declaration true.

A review sees a change; the brokers see its requests. Here the two are held together: what is
declared is there once the requests are done, and nothing else of the object is touched.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kgitops.apply.observe.virtual_clusters import MemberState
from kgitops.apply.rights.owner_records import declared_by
from kgitops.desired.state import (
    ConfigsPolicy,
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredVirtualCluster,
)
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.requests import (
    NEW_UUID,
    AlterClientQuotaRequest,
    AlterStep,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteRecordsRequest,
    Request,
)
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import (
    local_topic_address,
    member_address,
    virtual_cluster_address,
)
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    TopicLink,
    VirtualCluster,
    generated_topic_name,
)
from kgitops.model.topic_configs import is_throttle, normal_value
from kgitops.plan.document.plan import Action, Change, Plan

Applied = Mapping[str, Json]
"""The fields last applied to the object, by this project or by the one that it is taken from."""

_NOTHING = "its requests don't lead to what would be remembered"


def misfit(
    change: Change,
    declared: DesiredObject,
    found: object,
    applied: Applied,
    plan: Plan,
    state: ClusterState,
) -> str | None:
    """Why the requests of a change are not those of its declaration; None: they are.

    ``found`` is what is on the cluster at its address, ``applied`` what was applied to that.
    """
    requests = [planned.request for planned in change.requests]
    match declared:
        case DesiredTopic():
            problems = _topic(declared, requests, found, applied)
        case DesiredAcl():
            problems = _only(requests, CreateAclRequest, declared.binding in state.acls)
        case DesiredQuota():
            problems = _quota(declared, requests, state, applied)
        case DesiredVirtualCluster():
            problems = _virtual_cluster(declared, requests, found)
        case DesiredLink():
            problems = _link(declared, requests, found, plan, state)
        case DesiredMember():
            problems = _member(declared, requests, found, plan, state)
    return next(problems, None)


def _only(requests: Sequence[Request], kind: type, there: bool) -> Iterator[str]:
    """One request of this kind, or none where the object is there."""
    if len(requests) > 1 or not all(isinstance(it, kind) for it in requests):
        yield "it asks for something else"
    if not requests and not there:
        yield _NOTHING


def _topic(
    declared: DesiredTopic, requests: Sequence[Request], found: object, applied: Applied
) -> Iterator[str]:
    first = requests[0] if requests else None
    if isinstance(first, CreateTopicRequest):
        yield from _created(declared, first, len(requests))
        return
    if not isinstance(found, TopicState):
        yield _NOTHING
        return
    configs = {key: normal_value(key, value) for key, value in found.configs.items()}
    assignment = found.assignment
    for request in requests:
        match request:
            case AlterTopicRequest(step=AlterStep.CONFIGS, requested_state=wanted):
                asked = wanted.requested_configs
                yield from _configs(declared, asked, applied.get("configs", {}))
                configs |= {key: value for key, value in asked.items() if value is not None}
                configs = {key: configs[key] for key in configs if asked.get(key, "") is not None}
            case AlterTopicRequest(requested_state=wanted):
                assignment = wanted.assignment
            case DeleteRecordsRequest(deleted_message_offsets=offsets):
                if not offsets.items() <= declared.delete_records_before.items():
                    yield "it deletes records that deleteRecordsBefore does not name"
            case AlterVirtualClusterRequest():
                plain = replace(request, topic=None, virtual_cluster="", entity_name=None)
                if request.topic != found.name or plain != _ADDS_LINK:
                    yield "its link would lead elsewhere"
            case _:
                yield "it asks for something else"
    shape = (len(assignment), len(assignment[0]) if assignment else 0)
    if shape != (declared.partitions, declared.replication_factor) or declared.assignment not in (
        None,
        assignment,
    ):
        yield _NOTHING
    if any(configs.get(key) != value for key, value in declared.configs.items()):
        yield _NOTHING


_ADDS_LINK = AlterVirtualClusterRequest(virtual_cluster="", entity_type=EntityType.TOPIC)


def _created(declared: DesiredTopic, request: CreateTopicRequest, count: int) -> Iterator[str]:
    state, at = request.requested_state, declared.virtual_cluster
    name = generated_topic_name(NEW_UUID, declared.name) if at else declared.name
    sizes = {len(replicas) for replicas in state.assignment}
    if count != 1 or (request.topic, state.name, state.topic_id) != (name, name, None):
        yield "it makes something else"
    if len(state.assignment) != declared.partitions or declared.delete_records_before:
        yield _NOTHING
    if declared.assignment is None and sizes != {declared.replication_factor}:
        yield _NOTHING
    if declared.assignment not in (None, state.assignment):
        yield _NOTHING
    if not dict(state.configs) == dict(state.requested_configs) == dict(declared.configs):
        yield _NOTHING


def _configs(
    declared: DesiredTopic, asked: Mapping[str, str | None], applied: Mapping[str, str]
) -> Iterator[str]:
    """Keys that are declared, keys that were and no longer are, and marks of a throttle."""
    exact = declared.configs_policy is ConfigsPolicy.EXACT
    for key, value in asked.items():
        if is_throttle(key):
            continue
        if value is None and key not in declared.configs and (exact or key in applied):
            continue
        if value is None or declared.configs.get(key) != value:
            yield f"it sets {key}, which is declared otherwise or by nobody"


def _quota(
    declared: DesiredQuota, requests: Sequence[Request], state: ClusterState, applied: Applied
) -> Iterator[str]:
    yield from _only(requests, AlterClientQuotaRequest, there=True)
    asked = quotas_asked(requests)
    for key, value in asked.items():
        removed = value is None and key not in declared.quotas and key in applied.get("quotas", {})
        if not removed and declared.quotas.get(key) != value:
            yield f"it sets {key}, which is declared otherwise or by nobody"
    found = state.quotas.get(declared.entity)
    after = {**(found.quotas if found else {}), **asked}
    if any(after.get(key) != value for key, value in declared.quotas.items()):
        yield _NOTHING


def quotas_asked(requests: Sequence[Request]) -> Mapping[str, float | None]:
    """The keys that requests about a quota set, None for one that they remove."""
    quotas = [it.quotas for it in requests if isinstance(it, AlterClientQuotaRequest)]
    return {key: value for asked in quotas for key, value in asked.items()}


def _virtual_cluster(
    declared: DesiredVirtualCluster, requests: Sequence[Request], found: object
) -> Iterator[str]:
    options = found.options if isinstance(found, VirtualCluster) else None
    for request in requests:
        if isinstance(request, CreateVirtualClusterRequest | AlterVirtualClusterRequest):
            options = request.options
        else:
            yield "it asks for something else"
    if len(requests) > 1 or options != declared.options:
        yield _NOTHING


def _link(
    declared: DesiredLink,
    requests: Sequence[Request],
    found: object,
    plan: Plan,
    state: ClusterState,
) -> Iterator[str]:
    leads: str | LocalName | None = found.topic if isinstance(found, TopicLink) else None
    for request in requests:
        if not isinstance(request, AlterVirtualClusterRequest) or request.moved_from:
            yield "it asks for something else"
            return
        if request.change is not ChangeType.ADD or request.replaces not in (None, leads):
            yield "it takes the place of something else"
        leads = request.target or request.topic
    if len(requests) > 1 or leads != _end(declared, plan, state):
        yield _NOTHING


def _end(declared: DesiredLink, plan: Plan, state: ClusterState) -> str | LocalName | None:
    """The topic that a declared link leads to: a physical one, or one that the plan makes."""
    changes = {change.address: change for change in plan.changes}
    topic, at = declared.topic, declared.target
    seen: set[LocalName] = set()
    while topic is None and at is not None and at not in seen:
        seen.add(at)
        found = state.link(at)
        made = changes.get(local_topic_address(at))
        link = changes.get(member_address(at.virtual_cluster, EntityType.TOPIC, at.name))
        if made is not None and Action.CREATE in made.actions:
            return at
        said = _declared_link(link) if link else None
        if said is None:
            return found.topic if found else None
        topic, at = said.topic, said.target
    return topic


def _declared_link(change: Change) -> DesiredLink | None:
    try:
        item = declared_by(change)
    except ValueError:
        return None
    return item if isinstance(item, DesiredLink) else None


def _member(
    declared: DesiredMember,
    requests: Sequence[Request],
    found: object,
    plan: Plan,
    state: ClusterState,
) -> Iterator[str]:
    adopts = found.adopts if isinstance(found, MemberState) else None
    there = isinstance(found, MemberState)
    for request in requests:
        match request:
            case AlterVirtualClusterRequest(change=ChangeType.ADD, topic=None, target=None):
                adopts, there = request.adopts, True
                if request.moved_from is not None and not declared.move:
                    yield f"it would leave {request.moved_from}, and no move is declared"
            case CopyGroupOffsetsRequest(source=source):
                if source != declared.adopt or not declared.copy_offsets:
                    yield "it copies offsets that nobody declared"
            case _:
                yield "it asks for something else"
    if not there or adopts != declared.adopt:
        yield _NOTHING
    user = declared.entity_type is EntityType.USER
    made = {change.address for change in plan.changes if Action.CREATE in change.actions}
    for source in filter(None, (declared.copy_acls_from, declared.remove_old_acls_from)):
        known = source == CLUSTER_NAME or source in state.virtual_clusters
        if not user or not (known or virtual_cluster_address(source) in made):
            yield f"it can't take rights along from {source}"
