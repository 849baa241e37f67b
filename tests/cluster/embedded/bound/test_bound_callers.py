"""Who is in which virtual cluster, and from when on."""

from cluster.clusters import ROOT, a_cluster, a_grant, a_new_topic, admin, codes, topic_grant
from cluster.embedded.bound.tenancies import (
    HR,
    PHYSICAL,
    SALES,
    SHARED,
    change,
    connect,
    execute,
    link,
    on_cluster,
    root,
    scoped,
    two_tenants,
)

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.acl_filter import AclFilter
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.quotas import QuotaAlteration
from kgitops.cluster.embedded.options import AuthorizerKind
from kgitops.model.requests import AlterVirtualClusterRequest, CreateVirtualClusterRequest
from kgitops.model.resources.acls import CLUSTER_NAME, Operation
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.results import ErrorCode

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def names(connection) -> list[str]:
    """All topics that it sees."""
    return [topic.name for topic in connection.metadata()]


def test_a_user_counts_before_its_client_id():
    """VC-084: which anyone could claim to get elsewhere (VC-085)."""
    cluster = two_tenants()
    as_b = connect(cluster, "User:b", "app")
    assert as_b.metadata(["orders"])[0].topic_id == (
        cluster.read_state().topics[PHYSICAL[HR]].topic_id
    )


def test_a_claimed_client_id_leads_into_a_virtual_cluster_without_rights():
    """VC-085: nor do its own global rights reach what it would see outside."""
    cluster = two_tenants(a_grant(Operation.ALL, name="global", principal="User:x"))
    assert root(cluster).create_topics([a_new_topic("global")])["global"].ok
    outside, claiming = connect(cluster, "User:x"), connect(cluster, "User:x", "app")
    assert names(outside) == ["global"]
    assert names(claiming) == []
    errors = [topic.error for topic in claiming.metadata(["orders", "global"])]
    assert errors == [DENIED, DENIED]
    assert names(connect(cluster, "User:x", "another-app")) == ["global"]


def test_a_client_id_is_enough_where_the_principal_has_rights():
    """VC-010, VC-145: one connection differs from another only in who asks."""
    cluster = two_tenants(scoped(topic_grant(Operation.READ, principal="User:x")))
    assert names(connect(cluster, "User:x", "app")) == ["orders"]
    assert names(connect(cluster, "User:x")) == []


def test_a_namespace_is_looked_up_for_each_request():
    """VC-091, VC-082: an open connection is in the virtual cluster with its next request."""
    cluster = two_tenants(
        a_grant(Operation.DESCRIBE, name="emea.", principal="User:x"),
        scoped(a_grant(Operation.DESCRIBE, name="*", principal="User:x")),
        a_grant(Operation.DESCRIBE, name=SHARED, principal="User:x"),
    )
    x = connect(cluster, "User:x")
    assert names(x) == [SHARED]
    change(cluster, SALES, EntityType.USER, "User:x")
    assert names(x) == ["orders", "prices"]
    assert x.metadata([SHARED])[0].error is UNKNOWN
    move = AlterVirtualClusterRequest(
        virtual_cluster=HR,
        entity_type=EntityType.USER,
        entity_name="User:x",
        moved_from=SALES,
    )
    execute(cluster, move)
    assert names(x) == ["prices"]
    change(cluster, HR, EntityType.USER, "User:x", ChangeType.REMOVE)
    assert names(x) == [SHARED]


def test_unbound_a_user_has_its_global_rights_and_no_others():
    """VC-089, VC-145: ACLs of the virtual cluster stay, and are inert."""
    cluster = two_tenants(a_grant(Operation.ALL, name="orders"))
    assert root(cluster).create_topics([a_new_topic("orders")])["orders"].ok
    change(cluster, SALES, EntityType.USER, "User:a", ChangeType.REMOVE)
    a = connect(cluster)
    assert names(a) == ["orders"]
    errors = [topic.error for topic in a.metadata(["prices", PHYSICAL[SALES]])]
    assert errors == [DENIED, DENIED]


def test_who_is_in_none_is_answered_as_on_a_cluster_that_has_none():
    """VC-088, VC-248, VC-380."""
    rights = [
        a_grant(Operation.ALL, name="t", principal="User:x"),
        on_cluster(Operation.ALL, CLUSTER_NAME, "User:x"),
    ]
    without = a_cluster(authorizer=AuthorizerKind.ACLS)
    for name in (*PHYSICAL.values(), SHARED):
        assert root(without).create_topics([a_new_topic(name)])[name].ok
    root(without).create_acls(rights)
    answers = [_answers(cluster) for cluster in (without, two_tenants(*rights))]
    assert answers[0] == answers[1]


def _answers(cluster: EmbeddedCluster) -> list[object]:
    x = connect(cluster, "User:x")
    grant = a_grant(Operation.READ, name="t", principal="User:y")
    limits = QuotaAlteration(entity=(("user", "y"),), operations=[("request_percentage", 5.0)])
    return [
        codes(x.create_topics([a_new_topic("t"), a_new_topic(SHARED), a_new_topic("..")])),
        names(x),
        codes(x.create_partitions([NewPartitions(topic=name, count=5) for name in ("t", SHARED)])),
        x.create_acls([grant]),
        x.describe_acls(AclFilter()),
        x.alter_client_quotas([limits]),
        x.describe_client_quotas(),
        codes(x.delete_topics(["t", SHARED, "orders"])),
        x.delete_acls([AclFilter(principal="User:y")]),
        x.list_groups(),
        x.list_partition_reassignments(),
    ]


def test_a_bound_administrator_still_speaks_of_links():
    """VC-101: whoever may do everything everywhere is better in no virtual cluster."""
    cluster = two_tenants(
        on_cluster(Operation.ALL, CLUSTER_NAME), a_grant(Operation.ALL, name="*"), members_may=False
    )
    a = connect(cluster)
    assert names(a) == ["orders", "prices"]
    assert a.metadata([SHARED])[0].error is UNKNOWN
    assert a.create_topics([a_new_topic("mine")])["mine"].ok
    assert "mine" not in cluster.read_state().topics


def test_where_nothing_is_enforced_names_are_local_all_the_same():
    """VC-149, VC-029."""
    cluster = a_cluster()
    assert admin(cluster).create_topics([a_new_topic("physical")])["physical"].ok
    execute(cluster, CreateVirtualClusterRequest(virtual_cluster=SALES))
    link(cluster, SALES, "orders", "physical")
    change(cluster, SALES, EntityType.USER, "User:a")
    assert names(connect(cluster)) == ["orders"]
    assert names(connect(cluster, "User:z")) == ["physical"]


def test_who_lists_which_virtual_clusters():
    """VC-160a, VC-236, VC-146."""
    cluster = two_tenants(
        on_cluster(Operation.LIST_VIRTUAL_CLUSTERS),
        on_cluster(Operation.DESCRIBE, HR, "User:d"),
        on_cluster(Operation.READ, HR, "User:r"),
        on_cluster(Operation.DESCRIBE, CLUSTER_NAME, "User:g"),
    )
    listed = {
        user: connect(cluster, f"User:{user}").list_virtual_clusters()
        for user in ("a", "b", "d", "r", "g")
    }
    assert listed == {"a": (SALES,), "b": (), "d": (HR,), "r": (), "g": (HR, SALES)}
    assert admin(cluster, ROOT).list_virtual_clusters() == (HR, SALES)
