"""Recognizes in a cluster's state what a request did, and whether a precondition holds."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.objects import (
    MemberState,
    Object,
    find_object,
    has_copied_offsets,
    has_no_offsets,
    is_virtual_cluster_altered,
    is_virtual_cluster_created,
    linked_topic,
)
from kgitops.kinds.credentials import iterations_path
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState, TopicUsage
from kgitops.model.requests import (
    AlterUserScramCredentialsRequest,
    DeleteAclRequest,
    Request,
    request_address,
)
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import group_address, user_address
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    FoundConfigs,
    normal_resource_value,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.quotas import ClientQuotaState, quota_text
from kgitops.model.resources.topic_configs import normal_value
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.users import FoundUser, ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType, TopicLink, VirtualCluster
from kgitops.model.results import RequestResult
from kgitops.model.values import has_configs
from kgitops.plan.document.plan import Precondition
from kgitops.plan.usage import WITHOUT_RECORDS, held_fields


class PreconditionMismatch(Struct, frozen=True, kw_only=True):
    """A field of an object whose value is not the expected one."""

    object: str
    field: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.object}: {self.field} was {self.expected} and is {self.actual}"


def check_preconditions(
    preconditions: Iterable[Precondition], state: ClusterState
) -> tuple[PreconditionMismatch, ...]:
    """Return all differences of ``state`` from the preconditions, in their order."""
    return tuple(
        mismatch for precondition in preconditions for mismatch in _check(precondition, state)
    )


def check_expected(
    expects: Iterable[Precondition],
    request: Request | None,
    state: ClusterState,
    *,
    maybe_applied: bool = False,
) -> tuple[PreconditionMismatch, ...]:
    """Return all differences of ``state`` from what a request expects just before it is sent.

    A lowered ACL of which only a part exists counts as absent (VC-327), and as complete again once
    an earlier request has reduced what it must express. It is to be deleted either way. A password
    that may have been set (``maybe_applied``) is set again, since nobody can see which one it is.
    """
    if isinstance(request, DeleteAclRequest) and request.binding in state.acls:
        expects = [replace(precondition, exists=True) for precondition in expects]
    if maybe_applied and isinstance(request, AlterUserScramCredentialsRequest):
        expects = [_may_be_set(precondition, request, state) for precondition in expects]
    return check_preconditions(expects, state)


def _may_be_set(
    precondition: Precondition, request: AlterUserScramCredentialsRequest, state: ClusterState
) -> Precondition:
    """Return the precondition without what the request itself may have changed."""
    if request.removes or not is_as_requested(request, state):
        return precondition
    own = iterations_path(request.mechanism)
    fields = {path: text for path, text in precondition.fields.items() if path != own}
    return replace(precondition, exists=True, fields=fields)


def is_as_requested(request: AlterUserScramCredentialsRequest, state: ClusterState) -> bool:
    """Return whether the mechanism has the requested iterations, or is gone as requested."""
    user = state.find(FoundUser, user_address(request.user))
    held = user.held if user else {}
    return held.get(request.mechanism) == request.iterations


def check_still_empty(
    address: str, topic: str, usages: Mapping[str, TopicUsage]
) -> PreconditionMismatch | None:
    """Return how the usage of ``topic`` differs from that of one without records, if it does."""
    usage = usages.get(topic)
    held = held_fields(len(usage.log_start_offsets), usage) if usage else {}
    return next(_differences(address, WITHOUT_RECORDS, held), None)


def _check(precondition: Precondition, state: ClusterState) -> list[PreconditionMismatch]:
    address = precondition.object
    try:
        actual = find_object(address, state)
    except ValueError as problem:
        return [_mismatch(address, "address", "known", f"not: {problem}")]
    mismatches = _existence(precondition, actual)
    owner = _owner(address, state)
    if owner != precondition.owner:
        mismatches.append(
            _mismatch(address, "owner", _owner_text(precondition.owner), _owner_text(owner))
        )
    if mismatches or actual is None:
        return mismatches
    fields = _fields(actual, precondition.fields, state)
    return list(_differences(address, precondition.fields, fields))


def _differences(
    address: str, expected: Mapping[str, str | None], fields: Mapping[str, str | None]
) -> Iterator[PreconditionMismatch]:
    for path, text in expected.items():
        if path not in fields and path in WITHOUT_RECORDS:
            yield _mismatch(address, path, _text(text), "unknown")
        elif path not in fields:
            yield _mismatch(address, path, "known", "a field this kgitops can't check")
        elif fields[path] != text:
            yield _mismatch(address, path, _text(text), _text(fields[path]))


def _existence(precondition: Precondition, actual: Object | None) -> list[PreconditionMismatch]:
    address = precondition.object
    if precondition.exists != (actual is not None):
        was, now = ("present", "absent") if precondition.exists else ("absent", "present")
        return [_mismatch(address, "the object", was, now)]
    if isinstance(actual, TopicState):
        if actual.marked_for_deletion:
            return [_mismatch(address, "the topic", "present", "being deleted")]
        if actual.topic_id != precondition.topic_id:
            return [
                _mismatch(address, "topic_id", _text(precondition.topic_id), _text(actual.topic_id))
            ]
    if isinstance(actual, TopicLink) and precondition.topic_id not in (None, actual.topic_id):
        return [
            _mismatch(address, "topic_id", _text(precondition.topic_id), _text(actual.topic_id))
        ]
    return []


def _owner(address: str, state: ClusterState) -> str | None:
    owner = state.registry.owners.get(address) if state.registry else None
    return None if owner is None or owner.spent else owner.project


def _fields(
    actual: Object, wanted: Mapping[str, str | None], state: ClusterState
) -> Mapping[str, str | None]:
    """Return the text of each requested field that this kind of object can have."""
    match actual:
        case TopicState():
            held = held_fields(actual.num_partitions, state.usage.get(actual.name))
            fields = {path: text for path in wanted for text in _topic_field(actual, path)}
            return {**held, **fields}
        case ClientQuotaState():
            keys = {
                path: path.removeprefix("quotas.") for path in wanted if path.startswith("quotas.")
            }
            return {
                path: quota_text(actual.quotas[key]) if key in actual.quotas else None
                for path, key in keys.items()
            }
        case FoundUser(held=held):
            known = {iterations_path(key): str(held[key]) for key in held}
            paths = {iterations_path(key) for key in ScramMechanism}
            return {path: known.get(path) for path in wanted if path in paths}
        case Broker():
            # Of a broker whose throttle is unknown no field is known.
            throttles = actual.throttles
            keys = {path: path.removeprefix("throttles.") for path in wanted if path != "throttles"}
            return {} if throttles is None else {p: throttles.get(key) for p, key in keys.items()}
        case FoundGroup():
            return {path: text for path in wanted for text in _group_field(actual, path)}
        case FoundConfigs(type=kind, configs=held):
            return {p: t for p in wanted for t in _resource_config(kind, held, p)}
        case VirtualCluster():
            options = {
                "options.capLowering": actual.options.cap_lowering.value,
                "options.denyWins": "true" if actual.options.deny_wins else "false",
            }
            return {path: options[path] for path in wanted if path in options}
        case TopicLink():
            return {"topic": actual.topic}
        case MemberState():
            return {"adopts": actual.adopts} if actual.entity_type is EntityType.GROUP else {}
        case AclBinding():
            return {}


def _topic_field(topic: TopicState, path: str) -> Iterable[str | None]:
    """Yield the field's text, or nothing when there is no such field."""
    if path == "partitions":
        yield str(topic.num_partitions)
    elif path == "replicationFactor":
        yield str(topic.replication_factor)
    elif path == "assignments":
        yield _json(topic.assignment)
    elif path.startswith("configs."):
        key = path.removeprefix("configs.")
        value = topic.configs.get(key)
        yield None if value is None else normal_value(key, value)
    elif path.startswith("assignments.") and path.removeprefix("assignments.").isdecimal():
        replicas = topic.replicas_assignments.get(int(path.removeprefix("assignments.")))
        yield None if replicas is None else _json(replicas)


def _group_field(group: FoundGroup, path: str) -> Iterable[str | None]:
    """Yield the field's text, or nothing when there is no such field."""
    if path == "active":
        yield "true" if group.active else "false"
    elif path.startswith("offsets."):
        topic, _, partition = path.removeprefix("offsets.").rpartition(".")
        if partition.isdecimal():
            offset = group.offsets.get((topic, int(partition)))
            yield None if offset is None else str(offset)
    else:
        yield from _resource_config(ConfigResourceType.GROUP, group.configs, path)


def _resource_config(
    kind: ConfigResourceType, configs: Mapping[str, str], path: str
) -> Iterable[str | None]:
    if path.startswith("configs."):
        key = path.removeprefix("configs.")
        yield normal_resource_value(kind, key, configs[key]) if key in configs else None


def _json(value: tuple[object, ...]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _mismatch(address: str, field: str, expected: str, actual: str) -> PreconditionMismatch:
    return PreconditionMismatch(object=address, field=field, expected=expected, actual=actual)


def _text(value: str | None) -> str:
    return "absent" if value is None else repr(value)


def _owner_text(owner: str | None) -> str:
    return "nobody" if owner is None else f"the project {owner!r}"


def is_visible(
    request: req.Request | None, state: ClusterState, reply: RequestResult | None = None
) -> bool:
    """Return whether ``state`` shows the result of ``request``; always True without a request.

    Without the broker's ``reply`` the state alone must prove it: a created topic must then be
    exactly the requested one, and what is not visible does not count.
    """
    match request:
        case None:
            return True
        case req.CreateTopicRequest():
            topic = created_topic(request, state)
            return topic is not None and _is_created(topic, request.requested_state, reply)
        case req.AlterTopicRequest():
            topic = _same_topic(request.topic, request.topic_id, state)
            return topic is not None and _is_altered(topic, request)
        case req.DeleteTopicRequest():
            return _same_topic(request.topic, request.topic_id, state) is None
        case req.DeleteRecordsRequest():
            return _records_are_gone(request, state, confirmed=reply is not None)
        case req.CreateAclRequest():
            return request.binding in state.acls
        case req.DeleteAclRequest():
            return request.binding not in state.acls and request.binding not in state.partial_acls
        case req.AlterClientQuotaRequest():
            quota = state.quotas.get(request.entity)
            quotas = quota.quotas if quota else {}
            return all(
                quotas.get(key) == value and (request.entity, key) not in state.partial_quotas
                for key, value in request.quotas.items()
            )
        case req.AlterBrokerRequest():
            return _has_throttles(request, state)
        case req.AlterUserScramCredentialsRequest():
            # No state shows a password: only an answer tells that it is the one that was sent.
            return is_as_requested(request, state) and (request.removes or reply is not None)
        case req.AlterConfigResourceRequest():
            return has_resource_configs(request, state)
        case req.AlterConsumerGroupOffsetsRequest():
            return has_group_offsets(request, state, confirmed=reply is not None)
        case req.DeleteConsumerGroupRequest():
            return is_group_deleted(request, state, confirmed=reply is not None)
        case req.CreateVirtualClusterRequest():
            return is_virtual_cluster_created(request, state, confirmed=reply is not None)
        case req.AlterVirtualClusterRequest():
            return is_virtual_cluster_altered(request, state)
        case req.DeleteVirtualClusterRequest():
            return request.virtual_cluster not in state.virtual_clusters
        case req.CopyGroupOffsetsRequest():
            return has_copied_offsets(request, state, confirmed=reply is not None)
        case req.DeleteGroupRequest():
            return has_no_offsets(request, state)
        case _:
            assert_never(request)


def created_topic(request: req.CreateTopicRequest, state: ClusterState) -> TopicState | None:
    """Find the topic of a request; a topic of a virtual cluster is found through its link."""
    if request.local is not None:
        return linked_topic(request.local, state)
    return state.topics.get(request.topic)


def is_under_way(request: req.Request | None, state: ClusterState) -> bool:
    """Return whether the cluster has accepted the request and not finished it.

    A deletion waits for brokers (A4-63), a reassignment for data to be copied.
    """
    match request:
        case req.DeleteTopicRequest():
            topic = _same_topic(request.topic, request.topic_id, state)
            return topic is not None and topic.marked_for_deletion
        case req.AlterTopicRequest(step=req.AlterStep.REPLICAS):
            topic = _same_topic(request.topic, request.topic_id, state)
            wanted = request.requested_state.assignment
            return topic is not None and topic.reassigning and topic.assignment == wanted
        case _:
            return False


def is_move(request: req.Request | None) -> bool:
    """Return whether it is a reassignment, which may take hours and continues by itself."""
    return isinstance(request, req.AlterTopicRequest) and request.step is req.AlterStep.REPLICAS


def _same_topic(name: str, topic_id: str, state: ClusterState) -> TopicState | None:
    topic = state.topics.get(name)
    return topic if topic and topic.topic_id == topic_id else None


def _is_created(
    topic: TopicState, requested: RequestedTopicState, reply: RequestResult | None
) -> bool:
    if topic.marked_for_deletion or topic.assignment != requested.assignment:
        return False
    if reply and reply.topic_id and reply.topic_id != topic.topic_id:
        return False
    exact = reply is not None or topic.configs.keys() == requested.configs.keys()
    return exact and has_configs(topic.configs, requested.configs, normal_value)


def _is_altered(topic: TopicState, request: req.AlterTopicRequest) -> bool:
    requested = request.requested_state
    match request.step:
        case req.AlterStep.CONFIGS:
            return has_configs(topic.configs, requested.requested_configs, normal_value)
        case req.AlterStep.PARTITIONS:
            return topic.assignment == requested.assignment
        case req.AlterStep.REPLICAS:
            # While data is copied the state already shows the target (P201-16). Kafka ends a
            # reassignment once every replica that was added is in sync.
            return topic.assignment == requested.assignment and not topic.reassigning
        case _:
            assert_never(request.step)


def _has_throttles(request: req.AlterBrokerRequest, state: ClusterState) -> bool:
    broker = next((item for item in state.brokers if item.id == request.broker), None)
    if broker is None or broker.throttles is None:
        return False
    return all(broker.throttles.get(key) == value for key, value in request.configs.items())


def _records_are_gone(
    request: req.DeleteRecordsRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    if _same_topic(request.topic, request.topic_id, state) is None:
        return False
    usage = state.usage.get(request.topic)
    starts = usage.log_start_offsets if usage else ()
    for partition, offset in request.deleted_message_offsets.items():
        start = starts[partition] if partition < len(starts) else None
        if start is None:
            # Not every principal may read offsets; the leader's own answer must suffice then.
            if not confirmed:
                return False
        elif start < offset:
            return False
    return True


def has_resource_configs(request: req.AlterConfigResourceRequest, state: ClusterState) -> bool:
    """Return whether the resource has the configs that the request sets, and lacks the others."""
    kind = request.resource_type
    held = find_object(request_address(request), state)
    configs = held.configs if isinstance(held, FoundGroup | FoundConfigs) else {}
    return has_configs(configs, request.configs, partial(normal_resource_value, kind))


def has_group_offsets(
    request: req.AlterConsumerGroupOffsetsRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    """Return whether the group has committed these offsets.

    Once the coordinator has ``confirmed`` it, consumers may have gone on from there.
    """
    group = state.find(FoundGroup, group_address(request.group))
    offsets = group.offsets if group else {}
    return confirmed or all(
        offsets.get((item.topic, partition)) == offset
        for item in request.topics
        for partition, offset in item.offsets.items()
    )


def is_group_deleted(
    request: req.DeleteConsumerGroupRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    """Return whether there is no such group; only configs of that name may be left.

    Once the coordinator has ``confirmed`` it, consumers may have made another one.
    """
    group = state.find(FoundGroup, group_address(request.group))
    return confirmed or group is None or not (group.known or group.offsets)
