"""ACLs and quotas of virtual clusters, read back as they were written on every kind of cluster."""

from cluster_contract.contract import await_state, created, done, refused, send
from cluster_contract.tenant_requests import (
    TOPIC,
    USER,
    acl_in,
    add,
    all_done,
    linked,
    make,
    quota_in,
    remove,
    right_on,
)

from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.resources.quotas import make_entity
from kgitops.model.results import ErrorCode

ANA, APP = "User:ana-reader", "User:sales-app"
ACLS = (
    acl_in("a", ResourceType.TOPIC, "Orders", Operation.READ),
    acl_in("a", ResourceType.TOPIC, "Or", Operation.WRITE, pattern=PatternType.PREFIXED),
    acl_in("a", ResourceType.TOPIC, "*", Operation.DESCRIBE, principal="User:*"),
    acl_in("a", ResourceType.TOPIC, "Orders", Operation.ALL, permission=PermissionType.DENY),
    acl_in("a", ResourceType.GROUP, "etl", Operation.READ),
    acl_in("a", ResourceType.GROUP, "rpt-", Operation.READ, pattern=PatternType.PREFIXED),
    acl_in("a", ResourceType.TRANSACTIONAL_ID, "*", Operation.WRITE),
    acl_in("*", ResourceType.TOPIC, "Orders", Operation.READ, principal=ANA),
    acl_in("a", ResourceType.GROUP, "g", Operation.READ, scope=PatternType.PREFIXED),
    right_on("a"),
)


def test_acls_are_kept_as_they_were_meant(cluster: Cluster) -> None:
    """VC-140, 143, 144, 165, 327: none is lost or doubled by what brokers make of it."""
    all_done(cluster, make("a"), add("a", USER, APP))
    linked(cluster, "a", "Orders")
    for acl in ACLS:
        done(cluster, CreateAclRequest(binding=acl), lambda state, acl=acl: acl in state.acls)
    assert cluster.read_state().acls == {*ACLS}
    assert send(cluster, CreateAclRequest(binding=ACLS[0])).ok
    for acl in ACLS:
        done(cluster, DeleteAclRequest(binding=acl), lambda state, acl=acl: acl not in state.acls)
    assert cluster.read_state().acls == set()


def test_a_global_acl_is_nobody_elses(cluster: Cluster) -> None:
    """VC-103, VC-168: what a virtual cluster's ACL needs is not taken from it, nor the reverse."""
    topic = created(cluster, "orders")
    scoped = acl_in("a", ResourceType.TOPIC, "mine", Operation.READ)
    same = acl_in("kafka-cluster", ResourceType.TOPIC, "orders", Operation.READ)
    all_done(cluster, make("a"), add("a", TOPIC, "mine", topic=topic.name))
    for first, second in ((scoped, same), (same, scoped)):
        for acl in (first, second):
            done(cluster, CreateAclRequest(binding=acl), lambda state, acl=acl: acl in state.acls)
        assert cluster.read_state().acls == {scoped, same}
        assert send(cluster, DeleteAclRequest(binding=first)).ok
        await_state(cluster, lambda state, acl=second: state.acls == {acl})
        assert send(cluster, DeleteAclRequest(binding=second)).ok
        await_state(cluster, lambda state: not state.acls)


def test_quotas_of_every_entity(cluster: Cluster) -> None:
    """VC-200, 201, 203, 207, 210, 224: names stand as they are."""
    all_done(cluster, make("a"), add("a", USER, APP), add("a", USER, "User:CN=x, O=ä/%"))
    wanted = {
        make_entity({"virtual-cluster": None}): {"consumer_byte_rate": 52428800.0},
        make_entity({"virtual-cluster": "a"}): {"producer_byte_rate": 20971520.0},
        make_entity({"virtual-cluster": "a", "user": "sales-app"}): {
            "producer_byte_rate": 10485760.0,
            "request_percentage": 12.5,
        },
        make_entity({"virtual-cluster": "a", "user": None}): {"consumer_byte_rate": 1048576.0},
        make_entity({"virtual-cluster": "a", "user": "CN=x, O=ä/%"}): {
            "consumer_byte_rate": 2048.0
        },
        make_entity({"virtual-cluster": "a", "client-id": None}): {"producer_byte_rate": 4096.0},
        make_entity({"virtual-cluster": "a", "user": "sales-app", "client-id": "app"}): {
            "producer_byte_rate": 8192.0
        },
    }
    for entity, values in wanted.items():
        request = quota_in(dict(entity), values)
        done(cluster, request, lambda state, entity=entity: entity in state.quotas)
    assert quotas(cluster.read_state()) == wanted
    for entity, values in wanted.items():
        request = quota_in(dict(entity), dict.fromkeys(values))
        done(cluster, request, lambda state, entity=entity: entity not in state.quotas)
    assert quotas(cluster.read_state()) == {}


def test_a_global_quota_comes_back(cluster: Cluster) -> None:
    """VC-204, VC-220: it is the user's own value again when the user leaves."""
    user = make_entity({"user": "sales-app"})
    first = quota_in({"user": "sales-app"}, {"producer_byte_rate": 5242880.0})
    done(cluster, first, lambda state: user in state.quotas)
    inner = {"virtual-cluster": "a", "user": "sales-app"}
    all_done(
        cluster,
        make("a"),
        quota_in(inner, {"producer_byte_rate": 10485760.0}),
        add("a", USER, APP),
    )
    both = {
        user: {"producer_byte_rate": 5242880.0},
        make_entity(inner): {"producer_byte_rate": 10485760.0},
    }
    await_state(cluster, lambda state: quotas(state) == both)
    changed = {**both, user: {"producer_byte_rate": 1048576.0}}
    all_done(cluster, quota_in({"user": "sales-app"}, changed[user]))
    await_state(cluster, lambda state: quotas(state) == changed)
    all_done(cluster, remove("a", USER, APP))
    await_state(cluster, lambda state: quotas(state) == changed)
    all_done(cluster, quota_in(inner, {"producer_byte_rate": None}))
    await_state(cluster, lambda state: quotas(state) == {user: changed[user]})


def test_quotas_that_can_not_be(cluster: Cluster) -> None:
    """VC-104, VC-205, VC-206, VC-209, VC-210."""
    all_done(cluster, make("a"))
    rate = {"producer_byte_rate": 1.0}
    wrong = (
        quota_in({"virtual-cluster": "kafka-cluster"}, rate),
        quota_in({"virtual-cluster": None, "user": "x"}, rate),
        quota_in({"virtual-cluster": None, "client-id": None}, rate),
        quota_in({"virtual-cluster": "a", "ip": "1.2.3.4"}, {"connection_creation_rate": 1.0}),
        quota_in({"virtual-cluster": "a"}, {"producer_byte_rate": 0.0}),
        quota_in({"virtual-cluster": "a"}, {"producer_byte_rate": 1.5}),
        quota_in({"virtual-cluster": "a", "user": "x"}, {"no_such_key": 1.0}),
    )
    for request in wrong:
        assert refused(cluster, request) is ErrorCode.INVALID_REQUEST, request


def quotas(state: ClusterState) -> dict:
    return {entity: {**found.quotas} for entity, found in state.quotas.items()}
