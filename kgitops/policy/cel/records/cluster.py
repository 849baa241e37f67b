"""The cluster that a request is asked of."""

from kgitops.policy.cel.records.record import Field, Record
from kgitops.policy.cel.types import INT, STRING, list_of, map_of, record

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
        "virtualClusters": Field(
            list_of(STRING),
            "The names of the virtual clusters.",
            lambda _, cluster: sorted(cluster.virtual_clusters()),
        ),
        "defaults": Field(
            map_of(STRING),
            "What a topic gets where it sets nothing.",
            lambda _, cluster: dict(cluster.default_configs()),
        ),
    },
)
