"""A guarded embedded cluster with two tenants, and the connections of those who use it.

``sales`` has ``User:a`` and the client id ``app``; ``hr`` has ``User:b``. Both own a topic that
they call ``orders``, and share ``prices``; members may do everything with what is theirs.
"""

from cluster.clusters import ROOT, a_cluster, a_grant, a_new_topic, admin
from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.options import AuthorizerKind, Compat
from kgitops.model import requests as req
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, VirtualCluster

SALES, HR = "sales", "hr"
PHYSICAL = {SALES: "emea.sales.orders", HR: "emea.hr.orders"}
SHARED = "emea.prices"
MEMBER_TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


def two_tenants(
    *bindings: AclBinding, compat: Compat = Compat.SEED, members_may: bool = True
) -> EmbeddedCluster:
    """The cluster, with these bindings besides those of the members."""
    cluster = a_cluster(
        compat=compat,
        authorizer=AuthorizerKind.ACLS,
        static_configs={"default.replication.factor": "1"},
    )
    root = admin(cluster, ROOT)
    for name in (*PHYSICAL.values(), SHARED):
        assert root.create_topics([a_new_topic(name)])[name].ok
    for name, user in ((SALES, "User:a"), (HR, "User:b")):
        execute(cluster, req.CreateVirtualClusterRequest(virtual_cluster=name))
        link(cluster, name, "orders", PHYSICAL[name])
        link(cluster, name, "prices", SHARED)
        change(cluster, name, EntityType.USER, user)
    change(cluster, SALES, EntityType.CLIENT_ID, "app")
    given = [
        scoped(a_grant(Operation.ALL, kind, "*", principal), name)
        for name, principal in ((SALES, "User:a"), (HR, "User:b"))
        for kind in MEMBER_TYPES
        if members_may
    ]
    assert all(result.ok for result in root.create_acls([*given, *bindings]))
    return cluster


def connect(
    cluster: EmbeddedCluster, principal: str = "User:a", client_id: str | None = None
) -> EmbeddedAdmin:
    """A connection of ``principal`` that calls itself ``client_id``."""
    return EmbeddedAdmin(cluster.controller, principal=principal, client_id=client_id)


def root(cluster: EmbeddedCluster) -> EmbeddedAdmin:
    """A connection that may do everything, in no virtual cluster."""
    return admin(cluster, ROOT)


def execute(cluster: EmbeddedCluster, request: req.Request) -> None:
    """Carry it out as the administrator."""
    [result] = cluster.execute([request], validate_only=False, principal=ROOT)
    assert result.ok, result


def link(cluster: EmbeddedCluster, virtual_cluster: str, name: str, topic: str) -> None:
    """Give a physical topic a name there."""
    change(cluster, virtual_cluster, EntityType.TOPIC, name, topic=topic)


def change(
    cluster: EmbeddedCluster,
    virtual_cluster: str,
    entity_type: EntityType,
    name: str,
    kind: ChangeType = ChangeType.ADD,
    topic: str | None = None,
) -> None:
    """Add an entity to a virtual cluster, or remove it."""
    execute(
        cluster,
        req.AlterVirtualClusterRequest(
            virtual_cluster=virtual_cluster,
            change=kind,
            entity_type=entity_type,
            entity_name=name,
            topic=topic,
        ),
    )


def scoped(binding: AclBinding, virtual_cluster: str = SALES, *, prefixed: bool = False):
    """The binding in a virtual cluster, or in those that begin so."""
    return replace(
        binding,
        virtual_cluster=virtual_cluster,
        virtual_cluster_pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
    )


def on_cluster(
    operation: Operation,
    name: str = SALES,
    principal: str = "User:a",
    *,
    prefixed: bool = False,
    permission_type: PermissionType = PermissionType.ALLOW,
) -> AclBinding:
    """A right on a virtual cluster itself."""
    return a_grant(
        operation,
        ResourceType.CLUSTER,
        name,
        principal,
        pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        permission_type=permission_type,
    )


def tenant(cluster: EmbeddedCluster, name: str = SALES) -> VirtualCluster:
    """The virtual cluster as it is now."""
    return cluster.read_state().virtual_clusters[name]
