"""The worked scenario of the specification (§24): what is in Git at each of its commits."""

from typing import Any

from cli.projects import Document, document

SALES, ANALYTICS = "emea.sales", "analytics"
STREAM = "emea.eu.sales.SalesStream"
GLOBAL_CLUSTER = "kafka-cluster"


def scoped(kind: str, virtual_cluster: str, name: str, **spec: Any) -> Document:  # noqa: ANN401
    found = document(kind, name, **spec)
    found["metadata"]["virtualCluster"] = virtual_cluster
    return found


def virtual_cluster(name: str, *users: Document, **members: Any) -> Document:  # noqa: ANN401
    return document(
        "VirtualCluster",
        name,
        members={"users": list(users), **members},
        deletionPolicy="Delete",
    )


def acl(
    scope: str | None, user: str, operations: list[str], kind: str, name: str, **more: str
) -> Document:
    spec: dict[str, Any] = {
        "principal": f"User:{user}",
        "permission": "Allow",
        "operations": operations,
        "resource": {"type": kind, "name": name, **more},
    }
    if scope is not None:
        spec["virtualCluster"] = scope
    return document("Acl", f"{user}-{kind}-{name}".lower().replace(".", "-"), **spec)


def quota(name: str, entity: Document, **values: int) -> Document:
    return document("ClientQuota", name, entity=entity, quotas=values)


BEFORE = (
    document("Topic", STREAM, partitions=12, replicationFactor=3),
    quota("sales-app", {"user": "sales-app"}, producer_byte_rate=5242880),
)
SALES_APP = {"principal": "sales-app", "copyAclsFrom": GLOBAL_CLUSTER}
SALES_GROUP = {"name": "sales-etl", "adopt": "sales-etl", "copyOffsets": True}


def of_sales(user: Document) -> tuple[Document, ...]:
    return (
        virtual_cluster(SALES, user, groups=[SALES_GROUP]),
        scoped(
            "Topic",
            SALES,
            "Orders",
            partitions=6,
            replicationFactor=3,
            configs={"retention.ms": 604800000},
            shareWith=[ANALYTICS],
        ),
        scoped("TopicLink", SALES, "SalesStream", target={"physicalTopic": STREAM}),
        acl(SALES, "sales-app", ["Read", "Write"], "topic", "Orders"),
        acl(SALES, "sales-app", ["Write"], "transactionalId", "sales-", patternType="prefixed"),
        acl(None, "sales-admin", ["AlterVirtualCluster"], "cluster", SALES),
        quota("default-cap", {"virtualCluster": "<default>"}, consumer_byte_rate=52428800),
        quota("sales-cap", {"virtualCluster": SALES}, producer_byte_rate=20971520),
        quota(
            "sales-app-inner",
            {"virtualCluster": SALES, "user": "sales-app"},
            producer_byte_rate=10485760,
        ),
    )


PREFIXED_LINK = scoped("TopicLink", SALES, STREAM, target={"physicalTopic": STREAM})
OF_ANALYTICS = (
    virtual_cluster(ANALYTICS, {"principal": "ana-reader"}),
    scoped(
        "Topic", ANALYTICS, "Reports", partitions=3, replicationFactor=3, deletionPolicy="Delete"
    ),
    scoped(
        "TopicLink",
        ANALYTICS,
        "sales.orders",
        target={"virtualCluster": SALES, "topic": "Orders"},
    ),
    acl(ANALYTICS, "ana-reader", ["Read"], "topic", "sales.orders"),
    acl(ANALYTICS, "ana-reader", ["Write"], "topic", "Reports"),
    acl(ANALYTICS, "ana-reader", ["Read"], "group", "rpt-", patternType="prefixed"),
    quota(
        "analytics-users",
        {"virtualCluster": ANALYTICS, "user": {"default": True}},
        consumer_byte_rate=10485760,
    ),
)
REMOVING = {**SALES_APP, "removeOldAclsFrom": GLOBAL_CLUSTER}

COMMITS = (
    (*BEFORE, *of_sales(SALES_APP), PREFIXED_LINK, *OF_ANALYTICS),
    (*BEFORE, *of_sales(REMOVING), PREFIXED_LINK, *OF_ANALYTICS),
    (*BEFORE, *of_sales(REMOVING), *OF_ANALYTICS),
    (*BEFORE, *of_sales(REMOVING)),
)
"""Commits 1 to 4."""
