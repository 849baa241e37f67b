"""A project with every kind that declares an object, in each form that its documents have."""

from collections.abc import Mapping, Sequence

from cli.projects import Document, acl, document, quota, tombstone, topic

from kgitops.model.resources.kinds import FORMS, RESOURCES, Kind

WORD = "ONE_PASSWORD"
"""The environment variable that holds a password."""
DEFAULTS = {"topic": {"configs": {"retention.ms": 604800000, "min.insync.replicas": 2}}}
_BEFORE = [topic("orders", deletionPolicy="Delete"), topic("cut", deletionPolicy="Orphan"), acl()]
_ENDED = topic("gone")
_TOMBSTONE = tombstone("topic/gone")
_SCRAM = "SCRAM-SHA-512"
_ELSEWHERE = "kafka-cluster"


def within(virtual_cluster: str, made: Document) -> Document:
    """The document in a virtual cluster."""
    made["metadata"]["virtualCluster"] = virtual_cluster
    return made


def user(name: str, password: object, **spec: object) -> Document:
    """A user of one mechanism, whose password comes from there."""
    scram = [{"mechanism": _SCRAM, "iterations": 4096, "password": password, "version": "1"}]
    return document("User", name, scram=scram, **spec)


def with_labels(made: Document) -> Document:
    made["metadata"]["labels"] = {"team": "payments"}
    return made


_COMPACTED = {"cleanup.policy": "compact", "retention.ms": None}
_RESETS: Mapping[str, object] = {
    "earliest": {"to": "earliest", "topics": ["orders"]},
    "timestamp": {"to": {"timestamp": "2026-11-01T00:00:00.250+01:00"}, "topics": ["orders"]},
    "offsets": {"to": {"offsets": {"orders": {0: 0, 1: 0}}}},
}
_METRICS = {
    "metrics": ["org.apache.kafka.consumer.", "org.apache.kafka.producer."],
    "interval.ms": 60000,
    "match": ["client_software_name=apache-kafka-java"],
}

DOCUMENTS: Mapping[str, Sequence[Document]] = {
    "Topic": [
        topic("orders", deletionPolicy="Delete"),
        topic("customers", configs=_COMPACTED),
        topic("placed", assignments={0: [1, 2], 1: [3, 1]}, configsPolicy="Exact"),
        topic("cut", deleteRecordsBefore={0: 0}, deletionPolicy="Orphan"),
        with_labels(within("emea", topic("local", shareWith=["apac"]))),
    ],
    "TopicLink": [
        within("apac", document("TopicLink", "shared", target={"physicalTopic": "orders"})),
        within(
            "apac",
            document(
                "TopicLink",
                "theirs",
                target={"virtualCluster": "emea", "topic": "local"},
                deletionPolicy="Protect",
            ),
        ),
    ],
    "Acl": [
        acl(),
        acl("writer", operations=["Write", "Describe"], deletionPolicy="Orphan"),
        acl("jane", virtualCluster="emea", resource={"type": "topic", "name": "local"}),
    ],
    "ClientQuota": [
        quota(),
        document(
            "ClientQuota",
            "defaults",
            entity={"user": {"default": True}},
            quotas={"producer_byte_rate": 2048},
            deletionPolicy="Protect",
        ),
        document(
            "ClientQuota",
            "cap",
            entity={"virtualCluster": "emea"},
            quotas={"producer_byte_rate": 1024},
        ),
    ],
    "User": [
        user("by-variable", {"env": WORD}),
        user("by-file", {"file": "word.txt"}, deletionPolicy="Orphan"),
        user("generated", {"generate": {"to": {"file": "made.txt"}}}),
        user("longer", {"generate": {"length": 40, "to": {"file": "longer.txt"}}}),
        user("by-command", {"command": ["echo", "a password of some length"]}),
        within("emea", user("jane", {"env": WORD})),
    ],
    "ConsumerGroup": [
        *(
            document("ConsumerGroup", f"reset-{name}", resetOffsets={"version": "1", **reset})
            for name, reset in _RESETS.items()
        ),
        document(
            "ConsumerGroup",
            "configured",
            configs={"consumer.session.timeout.ms": 50000, "share.auto.offset.reset": "earliest"},
            deletionPolicy="Delete",
        ),
        document("ConsumerGroup", "not-there-yet", deletionPolicy="Orphan"),
        within("emea", document("ConsumerGroup", "etl", deletionPolicy="Delete")),
        within("emea", document("ConsumerGroup", "plain")),
    ],
    "ClientMetrics": [
        document("ClientMetrics", "lag", configs=_METRICS),
        document("ClientMetrics", "kept", configs={"interval.ms": 5000}, deletionPolicy="Protect"),
    ],
    "BrokerConfig": [
        document(
            "BrokerConfig", "<default>", configs={"log.retention.ms": "7d", "num.io.threads": 9}
        ),
        document("BrokerConfig", "1", configs={"background.threads": 11}, deletionPolicy="Protect"),
    ],
    "VirtualCluster": [
        document(
            "VirtualCluster",
            "emea",
            members={
                "users": [{"principal": "User:jane"}],
                "clientIds": ["batch"],
                "transactionalIds": ["tx-1"],
            },
            lowering={"capLowering": "divide"},
            deletionPolicy="Delete",
        ),
        document(
            "VirtualCluster",
            "apac",
            members={
                "mode": "additive",
                "users": [{"principal": "User:billing", "copyAclsFrom": _ELSEWHERE}],
            },
        ),
    ],
    "VirtualClusterBinding": [
        within("apac", document("VirtualClusterBinding", "u", user="joe", deletionPolicy="Orphan")),
        within("apac", document("VirtualClusterBinding", "c", clientId="c-1")),
        within(
            "apac",
            document(
                "VirtualClusterBinding", "t", transactionalId="tx-2", deletionPolicy="Protect"
            ),
        ),
    ],
}
"""Kind to documents; together they can be applied."""

NO_OBJECTS = {
    "Project": "the project file",
    "Tombstone": "ends an object",
    "TopicProfile": "gives values to topics",
    "Folder": "gives labels and a profile",
    "Policy": "judges",
    "Waiver": "judges",
    "PolicyTest": "judges",
}
"""The kinds that declare no object of a cluster, and what they do instead."""


def stages() -> list[list[Document]]:
    """What a project consists of from one apply to the next; at last of every kind.

    Resets need their topics, copies their ACLs, and a Tombstone an object that it ends.
    """
    every = [item for documents in DOCUMENTS.values() for item in documents]
    return [[*_BEFORE, _ENDED], [*_BEFORE, _TOMBSTONE], [*every, _TOMBSTONE]]


ADDRESSES: Mapping[str, Sequence[str]] = {
    "Topic": [
        "topic/orders",
        "topic/customers",
        "topic/placed",
        "topic/cut",
        "vc/emea/topic/local",
    ],
    "TopicLink": ["vc/apac/link/shared", "vc/apac/link/theirs"],
    "Acl": [
        "acl/User:billing/Allow/Read/topic/literal/orders@*",
        "acl/User:writer/Allow/Describe/topic/literal/orders@*",
        "acl/User:writer/Allow/Write/topic/literal/orders@*",
        "vc/emea/acl/User:jane/Allow/Read/topic/literal/local@*",
    ],
    "ClientQuota": ["quota/user=<default>", "quota/user=billing", "quota/virtual-cluster=emea"],
    "User": [
        "user/by-command",
        "user/by-file",
        "user/by-variable",
        "user/generated",
        "user/jane",
        "user/longer",
    ],
    "ConsumerGroup": [
        "group/configured",
        "group/not-there-yet",
        "group/reset-earliest",
        "group/reset-offsets",
        "group/reset-timestamp",
        "vc/emea/group/etl",
        "vc/emea/group/plain",
    ],
    "ClientMetrics": ["client-metrics/kept", "client-metrics/lag"],
    "BrokerConfig": ["broker-config/1", "broker-config/<default>"],
    "VirtualCluster": ["vc/apac", "vc/emea"],
    "VirtualClusterBinding": [
        "vc/apac/client/c-1",
        "vc/apac/txn/tx-2",
        "vc/apac/user/User:billing",
        "vc/apac/user/User:joe",
        "vc/emea/client/batch",
        "vc/emea/txn/tx-1",
        "vc/emea/user/User:jane",
    ],
}
"""Kind to the addresses that its documents declare, as plans name them."""

ASKED_OF_BROKERS = {
    "broker-config/1": ("broker/1",),
    "broker-config/<default>": ("broker/1", "broker/2", "broker/3"),
}
"""What a plan asks once, and brokers ask for each of them that takes it (P201-89)."""

NOT_IN_SNAPSHOTS = {f"{form.segment}/": form.kind.plural for form in RESOURCES.values()}
"""The addresses of objects that no snapshot holds begin with these; how plans call them."""

NOTHING_TO_JUDGE = ("group/not-there-yet", "group/reset-")
"""What is declared and leaves nothing on the cluster that an audit or an export could find."""

NO_NAMES = {form.kind for form in FORMS if form.declarable and not form.by_name} | {Kind.BINDING}
"""The kinds whose objects no name tells apart: Tombstones name them by address."""

NO_SCOPE = ("VirtualCluster", "ClientMetrics", "BrokerConfig")
"""The kinds that have names, and never lie in a virtual cluster."""

HELD_IN = {
    "Topic": "topics",
    "TopicLink": "virtual_clusters",
    "Acl": "acls",
    "ClientQuota": "quotas",
    "VirtualCluster": "virtual_clusters",
    "VirtualClusterBinding": "virtual_clusters",
}
"""Kind to the part of a cluster's state that holds its objects, unless that is ``objects``."""

LOST = {
    "Topic": "topics are deleted",
    "Acl": "rights are revoked",
    "User": "logins of",
    "ConsumerGroup": "the offsets of",
}
"""What a report of a plan begins with when all objects of a kind are deleted."""

NOT_SETTLED_BY_A_STATE = ("topic/cut", *NOT_IN_SNAPSHOTS)
"""The addresses begin so of objects whose plan depends on what no state holds, such as offsets."""
