"""The worked scenario of the specification (§24), as logical requests in the order of its plans."""

from functools import cache

from lowering.modelled_brokers import Brokers, a_requested_topic, id_text

from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.quotas import ClientQuotaState, make_entity
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName

T, G, X, C = (
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.TRANSACTIONAL_ID,
    ResourceType.CLUSTER,
)
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ, WRITE = Operation.READ, Operation.WRITE
STREAM = "emea.eu.sales.SalesStream"
SALES, ANALYTICS = "emea.sales", "analytics"
APP, READER, ADMIN = "User:sales-app", "User:ana-reader", "User:sales-admin"


def acl(
    virtual_cluster: str,
    principal: str,
    operation: Operation,
    kind: ResourceType,
    name: str,
    pattern: PatternType = LITERAL,
    permission: PermissionType = PermissionType.ALLOW,
    host: str = "*",
    scope: PatternType = LITERAL,
) -> AclBinding:
    return AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
        virtual_cluster=virtual_cluster,
        virtual_cluster_pattern_type=scope,
    )


def quota(value: float, key: str, **parts: str | None) -> req.AlterClientQuotaRequest:
    names = {"vc": "virtual-cluster", "user": "user", "client": "client-id"}
    entity = make_entity({names[kind]: name for kind, name in parts.items()})
    return req.AlterClientQuotaRequest(entity=entity, quotas={key: value})


def add(virtual_cluster: str, kind: EntityType, name: str, **more: object) -> req.Request:
    return req.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster, entity_type=kind, entity_name=name, **more
    )


def remove(virtual_cluster: str, kind: EntityType, name: str) -> req.Request:
    return req.AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=kind,
        entity_name=name,
    )


def create_topic(virtual_cluster: str, name: str) -> req.CreateTopicRequest:
    return req.CreateTopicRequest(
        topic=f"<uuid:new>.{name}",
        requested_state=a_requested_topic(f"<uuid:new>.{name}"),
        local=LocalName(virtual_cluster, name),
    )


G1 = acl("kafka-cluster", APP, READ, T, "emea.eu.sales.", PREFIXED)
G2 = acl("kafka-cluster", APP, WRITE, T, "emea.eu.sales.", PREFIXED)
G3 = acl("kafka-cluster", APP, READ, G, "sales-etl")
RPT = acl(ANALYTICS, READER, READ, G, "rpt-", PREFIXED)
REPORTS = acl(ANALYTICS, READER, WRITE, T, "Reports")
SHARED = acl(ANALYTICS, READER, READ, T, "sales.orders")
ADMINS = acl("kafka-cluster", ADMIN, Operation.ALTER_VIRTUAL_CLUSTER, C, SALES)
ETL = acl(SALES, APP, READ, G, "sales-etl")
ORDERS_READ = acl(SALES, APP, READ, T, "Orders")
ORDERS_WRITE = acl(SALES, APP, WRITE, T, "Orders")
STREAM_READ = acl(SALES, APP, READ, T, "SalesStream")
STREAM_WRITE = acl(SALES, APP, WRITE, T, "SalesStream")
LONG_READ = acl(SALES, APP, READ, T, STREAM)
LONG_WRITE = acl(SALES, APP, WRITE, T, STREAM)
TXN = acl(SALES, APP, WRITE, X, "sales-", PREFIXED)
ACLS = (
    RPT, REPORTS, SHARED, ADMINS, ETL, ORDERS_READ, ORDERS_WRITE, STREAM_READ, STREAM_WRITE,
    LONG_READ, LONG_WRITE, TXN,
)  # fmt: skip

COMMIT_1: tuple[tuple[req.Request, ...], ...] = (
    (
        req.CreateVirtualClusterRequest(virtual_cluster=ANALYTICS),
        req.CreateVirtualClusterRequest(virtual_cluster=SALES),
    ),
    (create_topic(ANALYTICS, "Reports"), create_topic(SALES, "Orders")),
    (
        add(ANALYTICS, EntityType.TOPIC, "sales.orders", target=LocalName(SALES, "Orders")),
        add(SALES, EntityType.TOPIC, "SalesStream", topic=STREAM),
        add(SALES, EntityType.TOPIC, STREAM, topic=STREAM),
        add(SALES, EntityType.GROUP, "sales-etl", adopts="sales-etl"),
    ),
    tuple(req.CreateAclRequest(binding=binding) for binding in ACLS),
    (
        quota(52428800, "consumer_byte_rate", vc=None),
        quota(20971520, "producer_byte_rate", vc=SALES),
        quota(10485760, "consumer_byte_rate", vc=ANALYTICS, user=None),
        quota(10485760, "producer_byte_rate", vc=SALES, user="sales-app"),
    ),
    (
        add(ANALYTICS, EntityType.USER, READER),
        add(SALES, EntityType.USER, APP),
    ),
)
COMMIT_2 = (tuple(req.DeleteAclRequest(binding=binding) for binding in (G3, G1, G2)),)
COMMIT_3 = (
    (req.DeleteAclRequest(binding=LONG_READ), req.DeleteAclRequest(binding=LONG_WRITE)),
    (remove(SALES, EntityType.TOPIC, STREAM),),
)


def commit_4(reports: str) -> tuple[tuple[req.Request, ...], ...]:
    """``reports`` is the physical topic of analytics/Reports."""
    removed = req.AlterClientQuotaRequest(
        entity=make_entity({"virtual-cluster": ANALYTICS, "user": None}),
        quotas={"consumer_byte_rate": None},
    )
    return (
        (remove(ANALYTICS, EntityType.USER, READER),),
        tuple(req.DeleteAclRequest(binding=binding) for binding in (RPT, REPORTS, SHARED)),
        (removed,),
        (
            remove(ANALYTICS, EntityType.TOPIC, "Reports"),
            remove(ANALYTICS, EntityType.TOPIC, "sales.orders"),
        ),
        (
            req.DeleteTopicRequest(
                topic=reports,
                topic_id=id_text(reports),
                local=LocalName(ANALYTICS, "Reports"),
            ),
        ),
        (req.DeleteVirtualClusterRequest(virtual_cluster=ANALYTICS),),
    )


def before() -> Brokers:
    """§24.1."""
    entity = make_entity({"user": "sales-app"})
    return Brokers(
        topics=[STREAM],
        acls=[G1, G2, G3],
        quotas=[ClientQuotaState(entity=entity, quotas={"producer_byte_rate": 5242880.0})],
    )


def apply(brokers: Brokers, commit: tuple[tuple[req.Request, ...], ...]) -> None:
    for batch in commit:
        for result in brokers.ask(*batch):
            assert result.ok, result


def after_commit_1() -> Brokers:
    """§24.1 and the first commit; each caller has its own."""
    return _after_commit_1().copied()


@cache
def _after_commit_1() -> Brokers:
    brokers = before()
    apply(brokers, COMMIT_1)
    return brokers


def before_members() -> Brokers:
    """All of the first commit but its last batch, which binds the users."""
    return _before_members().copied()


@cache
def _before_members() -> Brokers:
    brokers = before()
    apply(brokers, COMMIT_1[:-1])
    return brokers
