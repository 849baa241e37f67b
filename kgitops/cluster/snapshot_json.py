"""The shape of a snapshot file: a ClusterState as JSON and back, every part of it required."""

import json
from collections.abc import Mapping, Sequence

from kgitops.cluster.snapshot_virtual_clusters import (
    VIRTUAL_CLUSTER_KEYS,
    read_group_offsets,
    read_lowered,
    read_virtual_clusters,
    virtual_clusters_to_json,
)
from kgitops.model.cluster_state import Broker, ClusterState, NotChecked, TopicUsage
from kgitops.model.json.objects import (
    binding_to_json,
    owner_to_json,
    read_binding,
    read_entity,
    read_owner,
    read_quota,
)
from kgitops.model.json.strict import (
    ShapeError,
    array,
    boolean,
    integer,
    integer_text,
    mapping,
    members,
    text,
    text_or_none,
)
from kgitops.model.registry import Json, RegistryState
from kgitops.model.resources.quotas import (
    ClientQuotaEntity,
    ClientQuotaState,
    quota_text,
)
from kgitops.model.resources.topics import TopicState

KIND = "kgitops.snapshot"
FORMAT_VERSION = "1.0"

_KEYS = (
    "kind",
    "format_version",
    "cluster_id",
    "backend",
    "captured_at",
    "controller_id",
    "brokers",
    "topics",
    "usage",
    "acls",
    "quotas",
    "broker_defaults",
    "has_authorizer",
    "registry",
    "not_checked",
)
SNAPSHOT_KEYS = (*_KEYS, *VIRTUAL_CLUSTER_KEYS)
_TOPIC_KEYS = ("name", "topic_id", "assignment", "configs", "marked_for_deletion", "reassigning")
_TEXT, _NUMBER = frozenset({str}), frozenset({int})
_USAGE_KEYS = ("log_start_offsets", "high_watermarks", "size_bytes", "active_groups")


def state_to_json(state: ClusterState) -> dict[str, Json]:
    """Write the state, without running reassignments; 64-bit integers and quotas are text."""
    return {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "cluster_id": state.cluster_id,
        "backend": state.backend,
        "captured_at": state.captured_at,
        "controller_id": state.controller_id,
        "brokers": [
            {
                "id": broker.id,
                "rack": broker.rack,
                "fenced": broker.fenced,
                "throttles": None if broker.throttles is None else dict(broker.throttles),
            }
            for broker in state.brokers
        ],
        "topics": [topic_to_json(state.topics[name]) for name in sorted(state.topics)],
        "usage": {name: usage_to_json(usage) for name, usage in state.usage.items()},
        "acls": [binding_to_json(binding) for binding in sorted(state.acls)],
        "quotas": [
            client_quota_to_json(quota)
            for _, quota in sorted(state.quotas.items(), key=_entity_order)
        ],
        "broker_defaults": dict(state.broker_defaults),
        "has_authorizer": state.has_authorizer,
        "registry": _registry_to_json(state.registry),
        "not_checked": [
            {"problem": item.problem, "advice": item.advice} for item in state.not_checked
        ],
        **virtual_clusters_to_json(state),
    }


def parse_json(source: str) -> Json:
    """Parse the JSON value of ``source``.

    Raises:
        ValueError: it is not JSON, or an object has a key twice.
    """
    return json.loads(source, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def state_from_json(value: Json) -> ClusterState:
    """Read the state that ``state_to_json`` wrote.

    Raises:
        ShapeError: a part is missing, unknown, or not of its type.
    """
    more = [key for key in VIRTUAL_CLUSTER_KEYS if key in mapping(value, "the snapshot")]
    fields = members(value, "the snapshot", (*_KEYS, *more))
    lowered = fields.get("lowered")
    topics = _by_name(array(fields["topics"], "topics", read_topic))
    return ClusterState(
        cluster_id=text(fields["cluster_id"], "cluster_id"),
        backend=text(fields["backend"], "backend"),
        captured_at=text(fields["captured_at"], "captured_at"),
        controller_id=integer(fields["controller_id"], "controller_id"),
        brokers=array(fields["brokers"], "brokers", _broker),
        topics=topics,
        usage={
            name: read_usage(usage, f"usage.{name}")
            for name, usage in mapping(fields["usage"], "usage").items()
        },
        acls=frozenset(array(fields["acls"], "acls", read_binding)),
        quotas={
            quota.entity: quota for quota in array(fields["quotas"], "quotas", read_client_quota)
        },
        broker_defaults=_texts(fields["broker_defaults"], "broker_defaults"),
        has_authorizer=boolean(fields["has_authorizer"], "has_authorizer"),
        registry=_registry(fields["registry"], "registry"),
        not_checked=array(fields["not_checked"], "not_checked", _not_checked),
        virtual_clusters=read_virtual_clusters(
            fields.get("virtual_clusters", []), "virtual_clusters"
        ),
        lowered=None if lowered is None else read_lowered(lowered, "lowered"),
        group_offsets=read_group_offsets(fields.get("group_offsets", {}), "group_offsets"),
        settings=_texts(fields.get("settings", {}), "settings"),
    )


def _unique(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} appears twice")
    return result


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def topic_to_json(topic: TopicState) -> dict[str, Json]:
    """Write one of ``topics``."""
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "assignment": topic.assignment,
        "configs": dict(topic.configs),
        "marked_for_deletion": topic.marked_for_deletion,
        "reassigning": topic.reassigning,
    }


def client_quota_to_json(quota: ClientQuotaState) -> dict[str, Json]:
    """Write one of ``quotas``."""
    return {
        "entity": dict(quota.entity),
        "quotas": {key: quota_text(value) for key, value in quota.quotas.items()},
    }


def usage_to_json(usage: TopicUsage) -> dict[str, Json]:
    """Write one of ``usage``."""
    return {
        "log_start_offsets": [*map(_number_to_json, usage.log_start_offsets)],
        "high_watermarks": [*map(_number_to_json, usage.high_watermarks)],
        "size_bytes": [*map(_number_to_json, usage.size_bytes)],
        "active_groups": usage.active_groups,
    }


def _number_to_json(number: int | None) -> str | None:
    return None if number is None else str(number)


def _entity_order(item: tuple[ClientQuotaEntity, ClientQuotaState]) -> Json:
    return [(kind, name is not None, name or "") for kind, name in item[0]]


def _registry_to_json(registry: RegistryState | None) -> Json:
    if registry is None:
        return None
    kept = {key: dict(record) for key, record in registry.virtual_clusters.items()}
    return {
        "topic_id": registry.topic_id,
        "offset": str(registry.offset),
        "projects": dict(registry.projects),
        "owners": {address: owner_to_json(owner) for address, owner in registry.owners.items()},
        **(
            {"formerly": {key: list(registry.formerly[key]) for key in registry.formerly}}
            if registry.formerly
            else {}
        ),
        **({"virtual_clusters": kept} if kept else {}),
    }


def _broker(value: Json, path: str) -> Broker:
    fields = members(value, path, ("id", "rack", "fenced", "throttles"))
    throttles = fields["throttles"]
    return Broker(
        id=integer(fields["id"], f"{path}.id"),
        rack=text_or_none(fields["rack"], f"{path}.rack"),
        fenced=boolean(fields["fenced"], f"{path}.fenced"),
        throttles=None if throttles is None else _texts(throttles, f"{path}.throttles"),
    )


def read_topic(value: Json, path: str) -> TopicState:
    """Read the topic that ``topic_to_json`` wrote."""
    fields = members(value, path, _TOPIC_KEYS)
    return TopicState(
        name=text(fields["name"], f"{path}.name"),
        topic_id=text_or_none(fields["topic_id"], f"{path}.topic_id"),
        assignment=array(fields["assignment"], f"{path}.assignment", _replicas),
        configs=_texts(fields["configs"], f"{path}.configs"),
        marked_for_deletion=boolean(fields["marked_for_deletion"], f"{path}.marked_for_deletion"),
        reassigning=boolean(fields["reassigning"], f"{path}.reassigning"),
    )


def _by_name(topics: Sequence[TopicState]) -> Mapping[str, TopicState]:
    by_name = {topic.name: topic for topic in topics}
    if len(by_name) < len(topics):
        names = [topic.name for topic in topics]
        twice = next(name for name in names if names.count(name) > 1)
        raise ShapeError(f"topics has {twice!r} twice")
    return by_name


def _replicas(value: Json, path: str) -> tuple[int, ...]:
    if type(value) is list and _NUMBER.issuperset(map(type, value)):
        return tuple(value)
    return array(value, path, integer)


def read_usage(value: Json, path: str) -> TopicUsage:
    """Read the usage that ``usage_to_json`` wrote."""
    fields = members(value, path, _USAGE_KEYS)
    groups = fields["active_groups"]
    return TopicUsage(
        log_start_offsets=array(fields["log_start_offsets"], f"{path}.log_start_offsets", _number),
        high_watermarks=array(fields["high_watermarks"], f"{path}.high_watermarks", _number),
        size_bytes=array(fields["size_bytes"], f"{path}.size_bytes", _number),
        active_groups=None if groups is None else array(groups, f"{path}.active_groups", text),
    )


def _number(value: Json, path: str) -> int | None:
    return None if value is None else integer_text(value, path)


def _texts(value: Json, path: str) -> dict[str, str]:
    fields = mapping(value, path)
    if _TEXT.issuperset(map(type, fields.values())):
        return dict(fields)  # the fast path for configs, of which there are millions
    return {key: text(item, f"{path}.{key}") for key, item in fields.items()}


def read_client_quota(value: Json, path: str) -> ClientQuotaState:
    """Read the quota that ``client_quota_to_json`` wrote."""
    fields = members(value, path, ("entity", "quotas"))
    return ClientQuotaState(
        entity=read_entity(fields["entity"], f"{path}.entity"),
        quotas={
            key: read_quota(item, f"{path}.quotas.{key}")
            for key, item in mapping(fields["quotas"], f"{path}.quotas").items()
        },
    )


def _not_checked(value: Json, path: str) -> NotChecked:
    fields = members(value, path, ("problem", "advice"))
    return NotChecked(
        problem=text(fields["problem"], f"{path}.problem"),
        advice=text(fields["advice"], f"{path}.advice"),
    )


def _registry(value: Json, path: str) -> RegistryState | None:
    if value is None:
        return None
    more = [key for key in ("formerly", "virtual_clusters") if key in mapping(value, path)]
    fields = members(value, path, ("topic_id", "offset", "projects", "owners", *more))
    return RegistryState(
        topic_id=text(fields["topic_id"], f"{path}.topic_id"),
        offset=integer_text(fields["offset"], f"{path}.offset"),
        projects=_texts(fields["projects"], f"{path}.projects"),
        formerly={
            identity: array(known, f"{path}.formerly.{identity}", text)
            for identity, known in mapping(fields.get("formerly", {}), f"{path}.formerly").items()
        },
        owners={
            address: read_owner(owner, f"{path}.owners.{address}")
            for address, owner in mapping(fields["owners"], f"{path}.owners").items()
        },
        virtual_clusters={
            key: mapping(record, f"{path}.virtual_clusters.{key}")
            for key, record in mapping(
                fields.get("virtual_clusters", {}), f"{path}.virtual_clusters"
            ).items()
        },
    )
