"""Checking that a cluster is still as planned; what can't be decided counts as changed."""

import json
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.apply.observe.objects import Object, find_object
from kgitops.apply.observe.virtual_clusters import MemberState
from kgitops.kinds.credentials import iterations_path
from kgitops.model.cluster_state import Broker, ClusterState, TopicUsage
from kgitops.model.requests import AlterUserScramCredentialsRequest, DeleteAclRequest, Request
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import user_address
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    FoundConfigs,
    normal_resource_value,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.quotas import ClientQuotaState, quota_text
from kgitops.model.resources.topic_configs import normal_value
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.users import FoundUser, ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType, TopicLink, VirtualCluster
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
