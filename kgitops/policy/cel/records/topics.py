"""Topics, deletions of their records, and what changes of a topic."""

from collections.abc import Callable

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.records.changes import CHANGED, Sides, changed_configs, changes
from kgitops.policy.cel.records.record import Field, Record
from kgitops.policy.cel.types import BOOL, INT, STRING, list_of, map_of

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
        map_of(STRING),
        "The topic's own configs; a key that it doesn't set is missing.",
        lambda topic, _: dict(topic.configs),
    ),
    "effectiveConfigs": Field(
        map_of(STRING),
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
            map_of(STRING.or_null),
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


TOPIC_CHANGE = Record(
    "a change of a topic",
    {
        "configs": Field(changes(STRING), CHANGED, changed_configs),
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
