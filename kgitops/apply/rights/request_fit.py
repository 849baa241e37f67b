"""Checking that the requests of a change do exactly what its declaration says.

A review sees a change; the brokers see its requests. These checks compare the two: once the
requests are done the declaration is true, and nothing else of the object was touched.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kgitops.apply.objects import MemberState
from kgitops.apply.rights.owner_records import recorded_declaration
from kgitops.kinds.credentials import changed_fields, credentials_after
from kgitops.kinds.resets import offset_path, reset_topics
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    ConfigsPolicy,
    DesiredAcl,
    DesiredConfigs,
    DesiredGroup,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
    OffsetReset,
    credentials_of,
    part_json,
)
from kgitops.model.registry import Json
from kgitops.model.resources.acls import CLUSTER_NAME
from kgitops.model.resources.addresses import (
    local_topic_address,
    member_address,
    virtual_cluster_address,
)
from kgitops.model.resources.config_resources import FoundConfigs, normal_resource_configs
from kgitops.model.resources.groups import CommittedOffsets, FoundGroup
from kgitops.model.resources.topic_configs import is_throttle, normal_value
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import FoundUser, ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    TopicLink,
    VirtualCluster,
    generated_topic_name,
)
from kgitops.plan.document.plan import Action, Change

Applied = Mapping[str, Json]
"""The fields last applied to the object, by this project or by its previous owner."""

_NOT_REACHED = "has requests that do not result in its declaration"
_ELSE = "has a request for something else"


def request_problem(
    change: Change,
    declared: DesiredObject,
    actual: object,
    applied: Applied,
    changes: Mapping[str, Change],
    state: ClusterState,
) -> str | None:
    """Return the problem of requests that do not fit the change's declaration, or None.

    ``actual`` is the object on the cluster, ``applied`` its last applied fields, and ``changes``
    are all of the plan, by address.
    """
    requests = [planned.request for planned in change.requests]
    match declared:
        case DesiredTopic():
            problems = _topic(declared, requests, actual, applied)
        case DesiredAcl():
            problems = _only(requests, req.CreateAclRequest, declared.binding in state.acls)
        case DesiredQuota():
            problems = _quota(declared, requests, state, applied)
        case DesiredUser():
            problems = user_problems(declared, requests, state, applied)
        case DesiredGroup():
            problems = group_problems(declared, change, state, applied)
        case DesiredConfigs():
            problems = config_resource_problems(declared, change, state, applied)
        case DesiredVirtualCluster():
            problems = _virtual_cluster(declared, requests, actual)
        case DesiredLink():
            problems = _link(declared, requests, actual, changes, state)
        case DesiredMember():
            problems = _member(declared, requests, actual, changes, state)
    return next(problems, None)


def _only(requests: Sequence[req.Request], kind: type, there: bool) -> Iterator[str]:
    """Check that there is one request of this kind, or none where the object exists."""
    if len(requests) > 1 or not all(isinstance(it, kind) for it in requests):
        yield _ELSE
    if not requests and not there:
        yield _NOT_REACHED


def _topic(
    declared: DesiredTopic, requests: Sequence[req.Request], actual: object, applied: Applied
) -> Iterator[str]:
    first = requests[0] if requests else None
    if isinstance(first, req.CreateTopicRequest):
        yield from _created(declared, first, len(requests))
        return
    if not isinstance(actual, TopicState):
        yield _NOT_REACHED
        return
    configs = {key: normal_value(key, value) for key, value in actual.configs.items()}
    assignment = actual.assignment
    for request in requests:
        match request:
            case req.AlterTopicRequest(step=req.AlterStep.CONFIGS, requested_state=wanted):
                asked = wanted.requested_configs
                yield from _configs(declared, asked, applied.get("configs", {}))
                configs |= {key: value for key, value in asked.items() if value is not None}
                configs = {key: configs[key] for key in configs if asked.get(key, "") is not None}
            case req.AlterTopicRequest(requested_state=wanted):
                assignment = wanted.assignment
            case req.DeleteRecordsRequest(deleted_message_offsets=offsets):
                if not offsets.items() <= declared.delete_records_before.items():
                    yield "deletes records that deleteRecordsBefore does not name"
            case req.AlterVirtualClusterRequest():
                plain = replace(request, topic=None, virtual_cluster="", entity_name=None)
                if request.topic != actual.name or plain != _ADDS_LINK:
                    yield "has a link that would lead elsewhere"
            case _:
                yield _ELSE
    sizes = {len(replicas) for replicas in assignment}
    if (len(assignment), sizes) != (declared.partitions, {declared.replication_factor}):
        yield _NOT_REACHED
    if declared.assignment not in (None, assignment):
        yield _NOT_REACHED
    if any(configs.get(key) != value for key, value in declared.configs.items()):
        yield _NOT_REACHED
    undeclared = configs.keys() - declared.configs.keys()
    exact = declared.configs_policy is ConfigsPolicy.EXACT
    if any(_is_removed(key, applied.get("configs", {}), exact=exact) for key in undeclared):
        yield _NOT_REACHED


_ADDS_LINK = req.AlterVirtualClusterRequest(virtual_cluster="", entity_type=EntityType.TOPIC)


def _created(declared: DesiredTopic, request: req.CreateTopicRequest, count: int) -> Iterator[str]:
    state, at = request.requested_state, declared.virtual_cluster
    name = generated_topic_name(req.NEW_UUID, declared.name) if at else declared.name
    sizes = {len(replicas) for replicas in state.assignment}
    if count != 1 or (request.topic, state.name, state.topic_id) != (name, name, None):
        yield "would create another object"
    if len(state.assignment) != declared.partitions or declared.delete_records_before:
        yield _NOT_REACHED
    if sizes != {declared.replication_factor}:
        yield _NOT_REACHED
    if declared.assignment not in (None, state.assignment):
        yield _NOT_REACHED
    if not dict(state.configs) == dict(state.requested_configs) == dict(declared.configs):
        yield _NOT_REACHED


def _configs(
    declared: DesiredTopic, asked: Mapping[str, str | None], applied: Mapping[str, str]
) -> Iterator[str]:
    """Check that only keys are set that are or were declared, or that mark a throttle."""
    exact = declared.configs_policy is ConfigsPolicy.EXACT
    for key, value in asked.items():
        if is_throttle(key):
            continue
        if value is None and key not in declared.configs and _is_removed(key, applied, exact=exact):
            continue
        if value is None or declared.configs.get(key) != value:
            yield f"sets {key}, which is not declared so"


def _is_removed(key: str, applied: Mapping[str, str], *, exact: bool) -> bool:
    """Return whether a plan removes this key, which is not declared."""
    return key in applied or (exact and not is_throttle(key))


def _quota(
    declared: DesiredQuota, requests: Sequence[req.Request], state: ClusterState, applied: Applied
) -> Iterator[str]:
    yield from _only(requests, req.AlterClientQuotaRequest, there=True)
    asked, last = _requested_quotas(requests), applied.get("quotas", {})
    for key, value in asked.items():
        removed = value is None and key not in declared.quotas and key in last
        if not removed and declared.quotas.get(key) != value:
            yield f"sets {key}, which is not declared so"
    actual = state.quotas.get(declared.entity)
    after = {**(actual.quotas if actual else {}), **asked}
    if any(after.get(key) != declared.quotas.get(key) for key in {*declared.quotas, *last}):
        yield _NOT_REACHED


def _requested_quotas(requests: Sequence[req.Request]) -> Mapping[str, float | None]:
    """Return the keys that quota requests set, with None for a removed key."""
    quotas = [it.quotas for it in requests if isinstance(it, req.AlterClientQuotaRequest)]
    return {key: value for asked in quotas for key, value in asked.items()}


def _virtual_cluster(
    declared: DesiredVirtualCluster, requests: Sequence[req.Request], actual: object
) -> Iterator[str]:
    options = actual.options if isinstance(actual, VirtualCluster) else None
    for request in requests:
        if isinstance(request, req.CreateVirtualClusterRequest | req.AlterVirtualClusterRequest):
            options = request.options
        else:
            yield _ELSE
    if len(requests) > 1 or options != declared.options:
        yield _NOT_REACHED


def _link(
    declared: DesiredLink,
    requests: Sequence[req.Request],
    actual: object,
    changes: Mapping[str, Change],
    state: ClusterState,
) -> Iterator[str]:
    leads: str | LocalName | None = actual.topic if isinstance(actual, TopicLink) else None
    for request in requests:
        if not isinstance(request, req.AlterVirtualClusterRequest) or request.moved_from:
            yield _ELSE
            return
        if request.change is not ChangeType.ADD or request.replaces not in (None, leads):
            yield "replaces another object"
        leads = request.target or request.topic
    if len(requests) > 1 or leads != _link_target(declared, changes, state):
        yield _NOT_REACHED


def _link_target(
    declared: DesiredLink, changes: Mapping[str, Change], state: ClusterState
) -> str | LocalName | None:
    """Return the topic that a declared link leads to: a physical one, or one of the plan."""
    topic, at = declared.topic, declared.target
    seen: set[LocalName] = set()
    while topic is None and at is not None and at not in seen:
        seen.add(at)
        actual = state.link(at)
        made = changes.get(local_topic_address(at))
        link = changes.get(member_address(at.virtual_cluster, EntityType.TOPIC, at.name))
        if made is not None and (Action.CREATE in made.actions or _restores_link(made)):
            return at
        declared_link = _declared_link(link) if link else None
        if declared_link is None:
            return actual.topic if actual else None
        topic, at = declared_link.topic, declared_link.target
    return topic


def _restores_link(change: Change) -> bool:
    """True if somebody removed the topic's link, and this change makes it again."""
    requests = (planned.request for planned in change.requests)
    return any(isinstance(request, req.AlterVirtualClusterRequest) for request in requests)


def _declared_link(change: Change) -> DesiredLink | None:
    try:
        item = recorded_declaration(change)
    except ValueError:
        return None
    return item if isinstance(item, DesiredLink) else None


def _member(
    declared: DesiredMember,
    requests: Sequence[req.Request],
    actual: object,
    changes: Mapping[str, Change],
    state: ClusterState,
) -> Iterator[str]:
    adopts = actual.adopts if isinstance(actual, MemberState) else None
    there = isinstance(actual, MemberState)
    for request in requests:
        match request:
            case req.AlterVirtualClusterRequest(change=ChangeType.ADD, topic=None, target=None):
                adopts, there = request.adopts, True
                if request.moved_from is not None and not declared.move:
                    yield f"would move from {request.moved_from}, but declares no move"
            case req.CopyGroupOffsetsRequest(source=source):
                if source != declared.adopt or not declared.copy_offsets:
                    yield "copies offsets without a declaration"
            case _:
                yield _ELSE
    if not there or adopts != declared.adopt:
        yield _NOT_REACHED
    user = declared.entity_type is EntityType.USER
    for source in filter(None, (declared.copy_acls_from, declared.remove_old_acls_from)):
        made = changes.get(virtual_cluster_address(source))
        is_made = made is not None and Action.CREATE in made.actions
        is_known = source == CLUSTER_NAME or source in state.virtual_clusters
        if not user or not (is_known or is_made):
            yield f"can't copy or remove ACLs of {source}"


_OFFSETS = "offsets."


def config_resource_problems(
    declared: DesiredConfigs, change: Change, state: ClusterState, applied: Mapping[str, Json]
) -> Iterator[str]:
    """Yield the problems of requests about a resource that only has configs."""
    requests = [planned.request for planned in change.requests]
    if any(not isinstance(it, req.AlterConfigResourceRequest) for it in requests):
        yield _ELSE
    found = state.find(FoundConfigs, declared.address)
    held = found.configs if found else {}
    yield from _resource_configs(declared, requests, held, applied)


def group_problems(
    declared: DesiredGroup, change: Change, state: ClusterState, applied: Mapping[str, Json]
) -> Iterator[str]:
    """Yield the problems of requests about a consumer group.

    What is committed must be what a reviewer sees in the change's fields.
    """
    requests = [planned.request for planned in change.requests]
    alterations = (req.AlterConfigResourceRequest, req.AlterConsumerGroupOffsetsRequest)
    if any(not isinstance(it, alterations) for it in requests):
        yield _ELSE
    found = state.find(FoundGroup, declared.address) or FoundGroup(name=declared.name)
    yield from _resource_configs(declared, requests, found.configs, applied)
    resets = [it for it in requests if isinstance(it, req.AlterConsumerGroupOffsetsRequest)]
    asked = {
        (item.topic, partition): offset
        for request in resets
        for item in request.topics
        for partition, offset in item.offsets.items()
    }
    shown = {it.path: it.after for it in change.fields if it.path.startswith(_OFFSETS)}
    if shown != {offset_path(*key): str(offset) for key, offset in asked.items()}:
        yield "commits other offsets than it shows"
    if len(resets) > 1:
        yield _ELSE
    reset = declared.reset
    due = reset is not None and part_json(reset) != applied.get("resetOffsets")
    if resets and (reset is None or not due):
        yield "resets offsets without a new resetOffsets"
    if reset is not None and due:
        yield from _reset_fits(reset, asked, found.offsets)


def _reset_fits(
    reset: OffsetReset, asked: CommittedOffsets, held: CommittedOffsets
) -> Iterator[str]:
    if not {topic for topic, _ in asked} <= reset_topics(reset):
        yield "resets offsets of topics that resetOffsets does not name"
    if reset.offsets:
        wanted = {
            (topic, partition): offset
            for topic, partitions in reset.offsets.items()
            for partition, offset in partitions.items()
        }
        if not asked.items() <= wanted.items():
            yield "commits other offsets than resetOffsets says"
        if any({**held, **asked}.get(key) != offset for key, offset in wanted.items()):
            yield _NOT_REACHED


def _resource_configs(
    item: DesiredConfigs,
    requests: Sequence[req.Request],
    held: Mapping[str, str],
    applied: Mapping[str, Json],
) -> Iterator[str]:
    """Check that only keys are set that are or were declared, and that all are as declared."""
    declared = item.configs
    alterations = [it for it in requests if isinstance(it, req.AlterConfigResourceRequest)]
    if len(alterations) > 1:
        yield _ELSE
    after = dict(normal_resource_configs(item.resource, held))
    last = applied.get("configs", {})
    for key, value in (pair for it in alterations for pair in it.configs.items()):
        removed = value is None and key not in declared and key in last
        if not removed and (value is None or declared.get(key) != value):
            yield f"sets {key}, which is not declared so"
        if value is None:
            after.pop(key, None)
        else:
            after[key] = value
    if any(after.get(key) != declared.get(key) for key in {*declared, *last}):
        yield _NOT_REACHED


def user_problems(
    declared: DesiredUser,
    requests: Sequence[req.Request],
    state: ClusterState,
    applied: Mapping[str, Json],
) -> Iterator[str]:
    """Yield what is wrong with the requests of a user that stays, or is created."""
    user = state.find(FoundUser, declared.address)
    held = user.held if user else {}
    last = credentials_of(applied.get("scram", {}))
    due = {
        mechanism
        for mechanism, credential in declared.credentials.items()
        if changed_fields(mechanism, credential, held, last)
    }
    gone = {key for key in last if key in held and key not in declared.credentials}
    asked: set[ScramMechanism] = set()
    for request in requests:
        if not isinstance(request, req.AlterUserScramCredentialsRequest):
            yield _ELSE
            return
        if request.mechanism in asked:
            yield f"sets {request.mechanism} twice"
        asked.add(request.mechanism)
        if request.virtual_cluster != declared.virtual_cluster:
            yield "is in another virtual cluster than its declaration"
        if request.removes:
            if request.mechanism not in gone or request.password is not None:
                yield f"removes {request.mechanism}, which nobody took out of its declaration"
            continue
        wanted = declared.credentials.get(request.mechanism)
        if wanted is None or (wanted.iterations, wanted.password) != (
            request.iterations,
            request.password,
        ):
            yield f"sets {request.mechanism}, which is not declared so"
        elif request.mechanism not in due or not wanted.password.known:
            yield f"sets the password of {request.mechanism}, which is not to be set again"
    after = credentials_after(held, {key: declared.credentials[key] for key in due}, tuple(gone))
    if asked != due | gone or any(
        after.get(key) != declared.credentials[key].iterations for key in declared.credentials
    ):
        yield _NOT_REACHED
