"""Kafka's objects, virtual clusters included, as expressions see them, and their differences."""

import re
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any

from msgspec import Struct

from kgitops.model.resources import quotas
from kgitops.model.resources.config_resources import JUDGED_RESOURCES
from kgitops.model.resources.kinds import JUDGED_RESOURCES_IN_WORDS
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topic_configs import normal_value
from kgitops.model.wording import enumerated
from kgitops.policy.api import requests as policy_requests
from kgitops.policy.api.interfaces import ClusterState
from kgitops.policy.cel.functions import BOOL, DOUBLE, INT, STRING, Type, list_of, map_of, record

Read = Callable[[Any, ClusterState], object]
"""Reads a field from an object, or from the cluster."""


class RecordField(Struct, frozen=True, eq=False):
    """A field: its type and its documentation; ``read``, if it is no attribute of its own name."""

    type: Type
    doc: str
    read: Read | None = None


class Record(Struct, frozen=True, eq=False):
    """The description of a kind of object; ``name`` is the one that sentences use."""

    name: str
    fields: Mapping[str, RecordField]

    @property
    def type(self) -> Type:
        return record(self.name, {name: field.type for name, field in self.fields.items()})

    def reader(self, name: str) -> Read:
        """The function that reads a field: ``virtualCluster`` is ``virtual_cluster``."""
        read = self.fields[name].read
        if read is not None:
            return read
        attribute = re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)
        return lambda value, _: _plain(getattr(value, attribute))


def _plain(value: object) -> object:
    """A value in the types that expressions know."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value) if isinstance(value, Set) else value


CHANGED = "What differs, by key, as `{before, after}`; null where the key is not set."


class BeforeAndAfter(Struct, frozen=True):
    """The object before and after a request, None where there is none; ``change`` is made of it."""

    before: Any
    after: Any


def changes(side: Type) -> Type:
    """The type of the differences by key; ``side`` is that of the values."""
    return map_of(record("a change", {"before": side.or_null, "after": side.or_null}))


def changed(name: str) -> Read:
    """Read the differences of a mapping of the object, which may be new."""

    def read(sides: BeforeAndAfter, _: ClusterState) -> object:
        before = {} if sides.before is None else getattr(sides.before, name)
        return differences(before, getattr(sides.after, name), lambda _, old, new: bool(old == new))

    return read


def changed_configs(sides: BeforeAndAfter, _: ClusterState) -> object:
    """The configs that differ; two spellings of one value do not differ."""
    before = sides.before.configs if sides.before is not None else {}
    after = sides.after.configs if sides.after is not None else {}
    return differences(before, after, _same_config)


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], same: Callable[[str, Any, Any], bool]
) -> dict[str, dict[str, object]]:
    """The differences by key, with both sides; ``same`` gets the key and the two values."""
    return {
        key: {"before": before.get(key), "after": after.get(key)}
        for key in {**before, **after}
        if not same(key, before.get(key), after.get(key))
    }


def _same_config(key: str, before: str | None, after: str | None) -> bool:
    if before is None or after is None:
        return before is after
    return before == after or normal_value(key, before) == normal_value(key, after)


_TOPIC = {
    "name": RecordField(STRING, "The topic's name."),
    "partitions": RecordField(INT, "How many partitions.", lambda topic, _: topic.num_partitions),
    "replicationFactor": RecordField(INT, "How many replicas partition 0 has."),
    "assignments": RecordField(
        list_of(list_of(INT)),
        "The broker ids of each partition's replicas, the preferred leader first.",
        lambda topic, _: topic.assignment,
    ),
    "configs": RecordField(
        map_of(STRING), "The topic's own configs; a key that it doesn't set is missing."
    ),
    "effectiveConfigs": RecordField(
        map_of(STRING),
        "The same over the cluster's defaults, so that every config of Kafka is there.",
        lambda topic, cluster: {**cluster.default_configs(), **topic.configs},
    ),
    "internal": RecordField(BOOL, "Whether brokers own the topic."),
}
REQUESTED_TOPIC = Record(
    "a topic",
    {
        **_TOPIC,
        "requestedConfigs": RecordField(
            map_of(STRING.or_null),
            "Only the configs that the request names; null for a key that it removes.",
        ),
        "generatedAssignments": RecordField(
            BOOL,
            "Whether the replicas were placed for the user, who named no brokers.",
            lambda topic, _: topic.generated_replica_assignments,
        ),
    },
)
CURRENT_TOPIC = Record(
    "a topic",
    {**_TOPIC, "reassigning": RecordField(BOOL, "Whether replicas are being moved currently.")},
)
RECORDS = Record(
    "a deletion of records",
    {
        "offsets": RecordField(
            map_of(INT, key=INT),
            "Partition to the first offset that is kept.",
            lambda request, _: dict(request.deleted_message_offsets),
        )
    },
)


def _delta(name: str) -> Callable[[BeforeAndAfter, ClusterState], int]:
    def read(sides: BeforeAndAfter, _: ClusterState) -> int:
        before = getattr(sides.before, name) if sides.before is not None else 0
        after = getattr(sides.after, name) if sides.after is not None else 0
        return int(after - before)

    return read


def _replicas(sides: BeforeAndAfter, _: ClusterState) -> bool:
    if sides.before is None or sides.after is None:
        return False
    pairs = zip(sides.before.assignment, sides.after.assignment, strict=False)
    return any(before != after for before, after in pairs)


TOPIC_CHANGE = Record(
    "a change of a topic",
    {
        "configs": RecordField(changes(STRING), CHANGED, changed_configs),
        "partitions": RecordField(
            INT, "How many partitions more; fewer where negative.", _delta("num_partitions")
        ),
        "replicationFactor": RecordField(
            INT, "How many replicas more; fewer where negative.", _delta("replication_factor")
        ),
        "replicas": RecordField(
            BOOL, "Whether replicas of partitions that stay move, or change their order.", _replicas
        ),
    },
)


class BrokerValue(Struct, frozen=True):
    """A broker and its configs; ``requested_configs`` are those that the request names."""

    id: int
    configs: Mapping[str, str]
    requested_configs: Mapping[str, str | None]


_BROKER = {
    "id": RecordField(INT, "The broker's id."),
    "configs": RecordField(map_of(STRING), "Its configs, as far as they are known."),
}
CURRENT_BROKER = Record("a broker", _BROKER)
REQUESTED_BROKER = Record(
    "a broker",
    {
        **_BROKER,
        "requestedConfigs": RecordField(
            map_of(STRING.or_null),
            "Only the configs that the request names; null for a key that it removes.",
        ),
    },
)
BROKER_CHANGE = Record(
    "a change of a broker", {"configs": RecordField(changes(STRING), CHANGED, changed_configs)}
)


ACL = Record(
    "an ACL",
    {
        "principal": RecordField(STRING, "Who, such as User:billing."),
        "host": RecordField(STRING, "From where; * is anywhere."),
        "operation": RecordField(STRING, "Such as Read, in Kafka's spelling."),
        "permission": RecordField(
            STRING, "Allow or Deny.", lambda acl, _: acl.permission_type.value
        ),
        "resourceType": RecordField(
            STRING, "topic, group, cluster, transactionalId, delegationToken or user."
        ),
        "resourceName": RecordField(STRING, "The resource's name or prefix; * is all."),
        "patternType": RecordField(STRING, "literal or prefixed."),
        "virtualCluster": RecordField(
            STRING,
            "The virtual cluster in which the resource's name holds, or its prefix; * is every "
            "one, kafka-cluster none.",
        ),
        "virtualClusterPatternType": RecordField(
            STRING, "How virtualCluster is read: literal or prefixed."
        ),
    },
)


DEFAULT_ENTITY = "<default>"


class Quota(Struct, frozen=True):
    """The quotas of one entity; ``requested_quotas`` are those that the request names."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float]
    requested_quotas: Mapping[str, float | None]


def _entity(quota: Quota, _: ClusterState) -> object:
    parts = {kind: DEFAULT_ENTITY if name is None else name for kind, name in quota.entity}
    return {
        "user": parts.get(quotas.USER),
        "clientId": parts.get(quotas.CLIENT_ID),
        "ip": parts.get(quotas.IP),
        "virtualCluster": parts.get(quotas.VIRTUAL_CLUSTER),
    }


_QUOTA = {
    "entity": RecordField(
        record(
            "an entity", dict.fromkeys(("user", "clientId", "ip", "virtualCluster"), STRING.or_null)
        ),
        f"Whom it is about: user, clientId, ip, virtualCluster; null where the entity has "
        f"no such part, `'{DEFAULT_ENTITY}'` for the default.",
        _entity,
    ),
    "quotas": RecordField(map_of(DOUBLE), "The quotas by Kafka's key, such as producer_byte_rate."),
}
CURRENT_QUOTA = Record("a quota", _QUOTA)
REQUESTED_QUOTA = Record(
    "a quota",
    {
        **_QUOTA,
        "requestedQuotas": RecordField(
            map_of(DOUBLE.or_null),
            "Only the quotas that the request names; null for a key that it removes.",
        ),
    },
)


QUOTA_CHANGE = Record(
    "a change of a quota", {"quotas": RecordField(changes(DOUBLE), CHANGED, changed("quotas"))}
)


def _offsets(request: policy_requests.AlterConsumerGroupOffsetsRequest, _: ClusterState) -> object:
    return [
        {"topic": item.topic, "partition": partition, "offset": offset}
        for item in request.topics
        for partition, offset in sorted(item.offsets.items())
    ]


_GROUP = RecordField(STRING, "The group's id.")
CONFIG_RESOURCE = Record(
    f"configs of {JUDGED_RESOURCES_IN_WORDS}",
    {
        "resourceType": RecordField(STRING, f"{enumerated(JUDGED_RESOURCES)}."),
        "resourceName": RecordField(STRING, "The resource's name, such as the group's id."),
        "requestedConfigs": RecordField(
            map_of(STRING.or_null),
            "Only the configs that the request names, as text; null for a key that it removes.",
            lambda request, _: dict(request.configs),
        ),
    },
)
GROUP_OFFSETS = Record(
    "offsets of a group",
    {
        "group": _GROUP,
        "offsets": RecordField(
            list_of(record("an offset", {"topic": STRING, "partition": INT, "offset": INT})),
            "What is committed, by partition.",
            _offsets,
        ),
    },
)
GROUP = Record("a group", {"group": _GROUP})


class JudgedUser(Struct, frozen=True):
    """A user and its mechanisms; ``mechanism`` and ``iterations`` are those of the request."""

    name: str
    scram: Mapping[str, int]
    mechanism: str = ""
    iterations: int | None = None


_USER = {
    "name": RecordField(STRING, "The user's name, without User:."),
    "scram": RecordField(
        map_of(INT), "The user's mechanisms, such as SCRAM-SHA-512, with their iterations."
    ),
}
CURRENT_USER = Record("a user", _USER)
REQUESTED_USER = Record(
    "a user",
    {
        **_USER,
        "mechanism": RecordField(STRING, "The mechanism that the request is about."),
        "iterations": RecordField(
            INT.or_null, "Its iterations; null where the mechanism is removed."
        ),
    },
)


USER_CHANGE = Record(
    "a change of a user", {"scram": RecordField(changes(INT), CHANGED, changed("scram"))}
)


VIRTUAL_CLUSTER = Record(
    "a virtual cluster",
    {
        "name": RecordField(STRING, "Its name."),
        "users": RecordField(list_of(STRING), "The principals of its users, such as User:jane."),
        "clientIds": RecordField(list_of(STRING), "Its client ids."),
        "groups": RecordField(list_of(STRING), "Its consumer groups, by the names that it knows."),
        "transactionalIds": RecordField(
            list_of(STRING), "Its transactional ids, by the names that it knows."
        ),
        "links": RecordField(
            map_of(STRING),
            "Its links: the name of each to the physical topic.",
            lambda cluster, _: {name: link.topic for name, link in cluster.links.items()},
        ),
    },
)
VIRTUAL_CLUSTER_CHANGE = Record(
    "a change of a virtual cluster",
    {
        "action": RecordField(
            STRING,
            "add, remove, copyOffsets, deleteGroup, or options where no member is changed.",
            lambda request, _: request.change.value,
        ),
        "type": RecordField(
            STRING.or_null,
            "What the member is: user, clientId, group or transactionalId.",
            lambda request, _: request.entity_type and request.entity_type.value,
        ),
        "member": RecordField(
            STRING.or_null,
            "The member; of a user its principal.",
            lambda request, _: request.entity_name,
        ),
        "movedFrom": RecordField(
            STRING.or_null, "The virtual cluster that gives the member up at the same moment."
        ),
        "adopts": RecordField(
            STRING.or_null, "The global group that a group takes over, or whose offsets it gets."
        ),
    },
)
LINK = Record(
    "a link",
    {
        "name": RecordField(
            STRING, "Its name in the virtual cluster.", lambda request, _: request.link
        ),
        "topic": RecordField(STRING, "The physical topic."),
        "sharedWith": RecordField(
            list_of(STRING),
            "The other virtual clusters that see the topic.",
            lambda request, _: sorted(request.affected),
        ),
    },
)
REQUESTED_LINK = Record(
    LINK.name,
    {
        **LINK.fields,
        "replaces": RecordField(
            STRING.or_null, "The physical topic that the link leads to so far."
        ),
    },
)
