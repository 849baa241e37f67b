"""Requests, their principals and their cluster as expressions see them."""

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.records.record import Record, RecordField
from kgitops.policy.cel.types import INT, STRING, list_of, map_of, record
from kgitops.policy.evaluate.policy_input import PolicyInput


def _links(policy_input: PolicyInput, _: ClusterState) -> object:
    return [
        {"virtualCluster": local.virtual_cluster, "name": local.name}
        for local in sorted(getattr(policy_input.request, "links", ()))
    ]


REQUEST = Record(
    "a request",
    {
        "api": RecordField(STRING, "CreateTopic, AlterTopic, … as in match."),
        "name": RecordField(
            STRING,
            "The name that match.names is compared with: of a topic or link, of an ACL's resource, "
            "in its virtual cluster where it is in one; of a quota its entity as in the address; "
            "of a broker its id; of a user its name; of a virtual cluster also where a member is "
            "altered.",
        ),
        "address": RecordField(STRING, "The object's address, such as topic/orders."),
        "virtualCluster": RecordField(
            STRING.or_null,
            "The virtual cluster that the object is in, or that is asked for; null for none.",
        ),
        "topic": RecordField(
            STRING.or_null,
            "The physical name of the topic, or of the topic behind a link; null for others.",
        ),
        "links": RecordField(
            list_of(
                record("a name in a virtual cluster", {"virtualCluster": STRING, "name": STRING})
            ),
            "The names by which virtual clusters see the topic: who is affected.",
            _links,
        ),
    },
)
LABELS = RecordField(
    map_of(STRING), "The document's `metadata.labels`; empty where no document asks for it."
)
"""A field of everything that is requested, read from the request itself."""
PRINCIPAL = Record(
    "a principal",
    {
        "type": RecordField(STRING, "User in most cases."),
        "name": RecordField(STRING, "What follows the colon."),
    },
)


CLUSTER = Record(
    "a cluster",
    {
        "size": RecordField(
            INT, "How many brokers are registered.", lambda _, cluster: cluster.cluster_size()
        ),
        "brokers": RecordField(
            list_of(record("a broker", {"id": INT, "rack": STRING.or_null})),
            "The brokers as `{id, rack}`; rack is null where none is configured.",
            lambda _, cluster: [
                {"id": broker.id, "rack": broker.rack} for broker in cluster.brokers()
            ],
        ),
        "topics": RecordField(
            INT,
            "How many topics, internal ones left out.",
            lambda _, cluster: cluster.topic_count(),
        ),
        "partitions": RecordField(
            INT, "How many partitions these topics have.", lambda _, cluster: cluster.partitions()
        ),
        "virtualClusters": RecordField(
            list_of(STRING),
            "The names of the virtual clusters.",
            lambda _, cluster: sorted(cluster.virtual_clusters()),
        ),
        "defaults": RecordField(
            map_of(STRING),
            "What a topic gets where it sets nothing.",
            lambda _, cluster: dict(cluster.default_configs()),
        ),
    },
)
