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
    """Everything that the state holds but what is moving; 64-bit integers and quotas as text."""
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
    """The JSON value of ``source``.

    Raises:
        ValueError: it is no JSON, or has a key twice in one object.
    """
    return json.loads(source, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def state_from_json(value: Json) -> ClusterState:
    """The state that ``state_to_json`` wrote.

    Raises:
        ShapeError: a part is missing, unknown, or not of its type.
    """
    more = [key for key in VIRTUAL_CLUSTER_KEYS if key in mapping(value, "the snapshot")]
    given = members(value, "the snapshot", (*_KEYS, *more))
    lowered = given.get("lowered")
    topics = _by_name(array(given["topics"], "topics", read_topic))
    return ClusterState(
        cluster_id=text(given["cluster_id"], "cluster_id"),
        backend=text(given["backend"], "backend"),
        captured_at=text(given["captured_at"], "captured_at"),
        controller_id=integer(given["controller_id"], "controller_id"),
        brokers=array(given["brokers"], "brokers", _broker),
        topics=topics,
        usage={
            name: read_usage(usage, f"usage.{name}")
            for name, usage in mapping(given["usage"], "usage").items()
        },
        acls=frozenset(array(given["acls"], "acls", read_binding)),
        quotas={
            quota.entity: quota for quota in array(given["quotas"], "quotas", read_client_quota)
        },
        broker_defaults=_texts(given["broker_defaults"], "broker_defaults"),
        has_authorizer=boolean(given["has_authorizer"], "has_authorizer"),
        registry=_registry(given["registry"], "registry"),
        not_checked=array(given["not_checked"], "not_checked", _not_checked),
        virtual_clusters=read_virtual_clusters(
            given.get("virtual_clusters", []), "virtual_clusters"
        ),
        lowered=None if lowered is None else read_lowered(lowered, "lowered"),
        group_offsets=read_group_offsets(given.get("group_offsets", {}), "group_offsets"),
        settings=_texts(given.get("settings", {}), "settings"),
    )


def _unique(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return result


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")


def topic_to_json(topic: TopicState) -> dict[str, Json]:
    """One of ``topics``."""
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "assignment": topic.assignment,
        "configs": dict(topic.configs),
        "marked_for_deletion": topic.marked_for_deletion,
        "reassigning": topic.reassigning,
    }


def client_quota_to_json(quota: ClientQuotaState) -> dict[str, Json]:
    """One of ``quotas``."""
    return {
        "entity": dict(quota.entity),
        "quotas": {key: quota_text(value) for key, value in quota.quotas.items()},
    }


def usage_to_json(usage: TopicUsage) -> dict[str, Json]:
    """One of ``usage``."""
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
    given = members(value, path, ("id", "rack", "fenced", "throttles"))
    throttles = given["throttles"]
    return Broker(
        id=integer(given["id"], f"{path}.id"),
        rack=text_or_none(given["rack"], f"{path}.rack"),
        fenced=boolean(given["fenced"], f"{path}.fenced"),
        throttles=None if throttles is None else _texts(throttles, f"{path}.throttles"),
    )


def read_topic(value: Json, path: str) -> TopicState:
    """What ``topic_to_json`` wrote."""
    given = members(value, path, _TOPIC_KEYS)
    return TopicState(
        name=text(given["name"], f"{path}.name"),
        topic_id=text_or_none(given["topic_id"], f"{path}.topic_id"),
        assignment=array(given["assignment"], f"{path}.assignment", _replicas),
        configs=_texts(given["configs"], f"{path}.configs"),
        marked_for_deletion=boolean(given["marked_for_deletion"], f"{path}.marked_for_deletion"),
        reassigning=boolean(given["reassigning"], f"{path}.reassigning"),
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
    """What ``usage_to_json`` wrote."""
    given = members(value, path, _USAGE_KEYS)
    groups = given["active_groups"]
    return TopicUsage(
        log_start_offsets=array(given["log_start_offsets"], f"{path}.log_start_offsets", _number),
        high_watermarks=array(given["high_watermarks"], f"{path}.high_watermarks", _number),
        size_bytes=array(given["size_bytes"], f"{path}.size_bytes", _number),
        active_groups=None if groups is None else array(groups, f"{path}.active_groups", text),
    )


def _number(value: Json, path: str) -> int | None:
    return None if value is None else integer_text(value, path)


def _texts(value: Json, path: str) -> dict[str, str]:
    given = mapping(value, path)
    if _TEXT.issuperset(map(type, given.values())):
        return dict(given)  # as most are: configs, of which there are millions
    return {key: text(item, f"{path}.{key}") for key, item in given.items()}


def read_client_quota(value: Json, path: str) -> ClientQuotaState:
    """What ``client_quota_to_json`` wrote."""
    given = members(value, path, ("entity", "quotas"))
    return ClientQuotaState(
        entity=read_entity(given["entity"], f"{path}.entity"),
        quotas={
            key: read_quota(item, f"{path}.quotas.{key}")
            for key, item in mapping(given["quotas"], f"{path}.quotas").items()
        },
    )


def _not_checked(value: Json, path: str) -> NotChecked:
    given = members(value, path, ("problem", "advice"))
    return NotChecked(
        problem=text(given["problem"], f"{path}.problem"),
        advice=text(given["advice"], f"{path}.advice"),
    )


def _registry(value: Json, path: str) -> RegistryState | None:
    if value is None:
        return None
    more = [key for key in ("formerly", "virtual_clusters") if key in mapping(value, path)]
    given = members(value, path, ("topic_id", "offset", "projects", "owners", *more))
    return RegistryState(
        topic_id=text(given["topic_id"], f"{path}.topic_id"),
        offset=integer_text(given["offset"], f"{path}.offset"),
        projects=_texts(given["projects"], f"{path}.projects"),
        formerly={
            identity: array(known, f"{path}.formerly.{identity}", text)
            for identity, known in mapping(given.get("formerly", {}), f"{path}.formerly").items()
        },
        owners={
            address: read_owner(owner, f"{path}.owners.{address}")
            for address, owner in mapping(given["owners"], f"{path}.owners").items()
        },
        virtual_clusters={
            key: mapping(record, f"{path}.virtual_clusters.{key}")
            for key, record in mapping(
                given.get("virtual_clusters", {}), f"{path}.virtual_clusters"
            ).items()
        },
    )
