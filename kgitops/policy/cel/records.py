"""Kafka's objects as expressions see them: every field with its type, its words and its reading."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kgitops.model.quotas import CLIENT_ID, IP, USER, ClientQuotaEntity
from kgitops.model.topic_configs import normal_value
from kgitops.policy.cel.types import (
    BOOL,
    DOUBLE,
    INT,
    STRING,
    Type,
    list_of,
    map_of,
    record,
)
from kgitops.policy.cluster_state import ClusterState

DEFAULT_ENTITY = "<default>"


@dataclass(frozen=True, eq=False)
class Field:
    """A field: its type, what it is, and how it is read from the object on a cluster."""

    type: Type
    doc: str
    read: Callable[[Any, ClusterState], object]


@dataclass(frozen=True, eq=False)
class Record:
    """An object; ``name`` is what sentences call one."""

    name: str
    fields: Mapping[str, Field]

    @property
    def type(self) -> Type:
        """Its type."""
        return record(self.name, {name: field.type for name, field in self.fields.items()})


@dataclass(frozen=True)
class Sides:
    """What ``change`` is made from: the object before and after, None where there is none."""

    before: Any
    after: Any


_NAMED = map_of(STRING)
_REMOVABLE = map_of(STRING.or_null)


def _changes(side: Type) -> Type:
    return map_of(record("a change", {"before": side.or_null, "after": side.or_null}))


_TOPIC = {
    "name": Field(STRING, "The topic's name.", lambda topic, _: topic.name),
    "partitions": Field(INT, "How many partitions.", lambda topic, _: topic.num_partitions),
    "replicationFactor": Field(
        INT, "How many replicas partition 0 has.", lambda topic, _: topic.replication_factor
    ),
    "assignments": Field(
        list_of(list_of(INT)),
        "The broker ids of each partition's replicas, the preferred leader first.",
        lambda topic, _: topic.assignment,
    ),
    "configs": Field(
        _NAMED,
        "The topic's own configs; a key that it doesn't set is missing.",
        lambda topic, _: dict(topic.configs),
    ),
    "effectiveConfigs": Field(
        _NAMED,
        "The same over the cluster's defaults, so that every config of Kafka is there.",
        lambda topic, cluster: {**cluster.default_configs(), **topic.configs},
    ),
    "internal": Field(BOOL, "Whether brokers own the topic.", lambda topic, _: topic.internal),
}
REQUESTED_TOPIC = Record(
    "a topic",
    {
        **_TOPIC,
        "requestedConfigs": Field(
            _REMOVABLE,
            "Only the configs that the request names; null for a key that it removes.",
            lambda topic, _: dict(topic.requested_configs),
        ),
        "generatedAssignments": Field(
            BOOL,
            "Whether the replicas were placed for the user, who named no brokers.",
            lambda topic, _: topic.generated_replica_assignments,
        ),
    },
)
CURRENT_TOPIC = Record(
    "a topic",
    {
        **_TOPIC,
        "reassigning": Field(
            BOOL, "Whether replicas are being moved just now.", lambda topic, _: topic.reassigning
        ),
    },
)
RECORDS = Record(
    "a deletion of records",
    {
        "offsets": Field(
            map_of(INT, key=INT),
            "Partition to the first offset that is kept.",
            lambda request, _: dict(request.deleted_message_offsets),
        )
    },
)
ACL = Record(
    "an ACL",
    {
        "principal": Field(STRING, "Who, such as User:billing.", lambda acl, _: acl.principal),
        "host": Field(STRING, "From where; * is anywhere.", lambda acl, _: acl.host),
        "operation": Field(
            STRING, "Such as Read, in Kafka's spelling.", lambda acl, _: acl.operation.value
        ),
        "permission": Field(STRING, "Allow or Deny.", lambda acl, _: acl.permission_type.value),
        "resourceType": Field(
            STRING,
            "topic, group, cluster, transactionalId, delegationToken or user.",
            lambda acl, _: acl.resource_type.value,
        ),
        "resourceName": Field(
            STRING, "The resource's name or prefix; * is all.", lambda acl, _: acl.resource_name
        ),
        "patternType": Field(STRING, "literal or prefixed.", lambda acl, _: acl.pattern_type.value),
    },
)


@dataclass(frozen=True)
class Quota:
    """The quotas of one entity; ``requested`` are those that the request names."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float]
    requested: Mapping[str, float | None]


def _entity(quota: Quota, _: ClusterState) -> object:
    parts = {kind: DEFAULT_ENTITY if name is None else name for kind, name in quota.entity}
    return {"user": parts.get(USER), "clientId": parts.get(CLIENT_ID), "ip": parts.get(IP)}


_QUOTA = {
    "entity": Field(
        record(
            "an entity",
            {"user": STRING.or_null, "clientId": STRING.or_null, "ip": STRING.or_null},
        ),
        f"Whom it is about: user, clientId, ip; null where the entity has no such part, "
        f"`'{DEFAULT_ENTITY}'` for the default.",
        _entity,
    ),
    "quotas": Field(
        map_of(DOUBLE),
        "The quotas by Kafka's key, such as producer_byte_rate.",
        lambda quota, _: dict(quota.quotas),
    ),
}
CURRENT_QUOTA = Record("a quota", _QUOTA)
REQUESTED_QUOTA = Record(
    "a quota",
    {
        **_QUOTA,
        "requestedQuotas": Field(
            map_of(DOUBLE.or_null),
            "Only the quotas that the request names; null for a key that it removes.",
            lambda quota, _: dict(quota.requested),
        ),
    },
)


@dataclass(frozen=True)
class BrokerConfigs:
    """A broker and its configs; ``requested`` are those that the request names."""

    id: int
    configs: Mapping[str, str]
    requested: Mapping[str, str | None]


_BROKER = {
    "id": Field(INT, "The broker's id.", lambda broker, _: broker.id),
    "configs": Field(
        _NAMED, "Its configs, as far as they are known.", lambda broker, _: dict(broker.configs)
    ),
}
CURRENT_BROKER = Record("a broker", _BROKER)
REQUESTED_BROKER = Record(
    "a broker",
    {
        **_BROKER,
        "requestedConfigs": Field(
            _REMOVABLE,
            "Only the configs that the request names; null for a key that it removes.",
            lambda broker, _: dict(broker.requested),
        ),
    },
)


def _same(_key: str, before: object, after: object) -> bool:
    return before == after


def _same_config(key: str, before: str | None, after: str | None) -> bool:
    if before is None or after is None:
        return before is after
    return before == after or normal_value(key, before) == normal_value(key, after)


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], same: Callable[[str, Any, Any], bool]
) -> dict[str, dict[str, object]]:
    return {
        key: {"before": before.get(key), "after": after.get(key)}
        for key in {**before, **after}
        if not same(key, before.get(key), after.get(key))
    }


def _configs(sides: Sides, _: ClusterState) -> object:
    before = sides.before.configs if sides.before is not None else {}
    after = sides.after.configs if sides.after is not None else {}
    return _differences(before, after, _same_config)


def _quotas(sides: Sides, _: ClusterState) -> object:
    before = {} if sides.before is None else sides.before.quotas
    return _differences(before, sides.after.quotas, _same)


def _delta(name: str) -> Callable[[Sides, ClusterState], int]:
    def read(sides: Sides, _: ClusterState) -> int:
        before = getattr(sides.before, name) if sides.before is not None else 0
        after = getattr(sides.after, name) if sides.after is not None else 0
        return int(after - before)

    return read


def _replicas(sides: Sides, _: ClusterState) -> bool:
    if sides.before is None or sides.after is None:
        return False
    pairs = zip(sides.before.assignment, sides.after.assignment, strict=False)
    return any(before != after for before, after in pairs)


_CHANGED = "What differs, by key, as `{before, after}`; null where the key is not set."
TOPIC_CHANGE = Record(
    "a change of a topic",
    {
        "configs": Field(_changes(STRING), _CHANGED, _configs),
        "partitions": Field(
            INT, "How many partitions more; fewer where negative.", _delta("num_partitions")
        ),
        "replicationFactor": Field(
            INT, "How many replicas more; fewer where negative.", _delta("replication_factor")
        ),
        "replicas": Field(
            BOOL,
            "Whether replicas of partitions that stay move, or change their order.",
            _replicas,
        ),
    },
)
QUOTA_CHANGE = Record("a change of a quota", {"quotas": Field(_changes(DOUBLE), _CHANGED, _quotas)})
BROKER_CHANGE = Record(
    "a change of a broker", {"configs": Field(_changes(STRING), _CHANGED, _configs)}
)
REQUEST = Record(
    "a request",
    {
        "api": Field(STRING, "CreateTopic, AlterTopic, … as in match.", lambda asked, _: asked.api),
        "name": Field(
            STRING,
            "The name that match.names is compared with: of a topic, of an ACL's resource; of a "
            "quota its entity as in the address; of a broker its id.",
            lambda asked, _: asked.name,
        ),
        "address": Field(
            STRING, "The object's address, such as topic/orders.", lambda asked, _: asked.address
        ),
    },
)
PRINCIPAL = Record(
    "a principal",
    {
        "type": Field(STRING, "User in most cases.", lambda principal, _: principal.type),
        "name": Field(STRING, "What follows the colon.", lambda principal, _: principal.name),
    },
)
CLUSTER = Record(
    "a cluster",
    {
        "size": Field(
            INT, "How many brokers are registered.", lambda _, cluster: cluster.cluster_size()
        ),
        "brokers": Field(
            list_of(record("a broker", {"id": INT, "rack": STRING.or_null})),
            "The brokers as `{id, rack}`; rack is null where none is configured.",
            lambda _, cluster: [
                {"id": broker.id, "rack": broker.rack} for broker in cluster.brokers()
            ],
        ),
        "topics": Field(
            INT,
            "How many topics, internal ones left out.",
            lambda _, cluster: cluster.topic_count(),
        ),
        "partitions": Field(
            INT,
            "How many partitions these topics have.",
            lambda _, cluster: cluster.partitions(),
        ),
        "defaults": Field(
            _NAMED,
            "What a topic gets where it sets nothing.",
            lambda _, cluster: dict(cluster.default_configs()),
        ),
    },
)
