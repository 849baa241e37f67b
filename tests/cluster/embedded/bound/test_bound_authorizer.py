"""Who may do what in and to virtual clusters (spec §8.1)."""

import pytest
from cluster.clusters import a_grant
from msgspec.structs import replace

from kgitops.cluster.embedded.authorizer import Authorizer
from kgitops.cluster.embedded.options import AuthorizerKind, Options
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster
from kgitops.virtual_clusters.image import build_image
from kgitops.virtual_clusters.resolution import bind
from kgitops.virtual_clusters.rights import ApiKey, VirtualClusterScope

ENFORCED = Options(authorizer=AuthorizerKind.ACLS, super_users=frozenset({"User:root"}))
READ, WRITE, DESCRIBE, ALTER = Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER
DENY = PermissionType.DENY
PREFIXED = PatternType.PREFIXED
IMAGE = build_image(
    [
        VirtualCluster(
            name="emea.sales",
            links={"orders": TopicLink(name="orders", topic="emea.eu.sales.orders")},
            users=frozenset({"User:a"}),
            client_ids=frozenset({"app"}),
        ),
        VirtualCluster(name="emea.hr", users=frozenset({"User:b"})),
    ]
)


def an_authorizer(
    *bindings: AclBinding, principal: str = "User:a", client_id: str | None = None
) -> Authorizer:
    """Asked by ``principal`` as it is bound, on 10.0.0.1."""
    binding = bind(IMAGE, principal, client_id)
    return Authorizer(ENFORCED, bindings, principal, "10.0.0.1", binding)


def scoped(
    operation: Operation = READ,
    virtual_cluster: str = "emea.sales",
    *,
    prefixed: bool = False,
    name: str = "orders",
    principal: str = "User:a",
    permission_type: PermissionType = PermissionType.ALLOW,
) -> AclBinding:
    """A binding on the topic ``orders`` of a virtual cluster."""
    return replace(
        a_grant(operation, name=name, principal=principal, permission_type=permission_type),
        virtual_cluster=virtual_cluster,
        virtual_cluster_pattern_type=PREFIXED if prefixed else PatternType.LITERAL,
    )


def on(
    name: str,
    operation: Operation,
    *,
    prefixed: bool = False,
    permission_type: PermissionType = PermissionType.ALLOW,
) -> AclBinding:
    """A binding on the resource CLUSTER."""
    return a_grant(
        operation,
        ResourceType.CLUSTER,
        name,
        pattern_type=PREFIXED if prefixed else PatternType.LITERAL,
        permission_type=permission_type,
    )


def reads_the_link(*bindings: AclBinding, principal: str = "User:a", client_id=None) -> bool:
    """Whether the link ``orders``, which leads to ``emea.eu.sales.orders``, can be read."""
    asked = an_authorizer(*bindings, principal=principal, client_id=client_id)
    return asked.allows_local(READ, ResourceType.TOPIC, "orders", "emea.eu.sales.orders")


PHYSICAL_GRANT = a_grant(READ, name="emea.eu.sales.", pattern_type=PREFIXED)


@pytest.mark.parametrize(
    ("bindings", "allowed"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param([scoped()], True, id="local-name"),
        pytest.param([scoped(name="emea.eu.sales.orders")], False, id="local-is-not-physical"),
        pytest.param([PHYSICAL_GRANT], True, id="global-by-the-physical-name"),
        pytest.param([a_grant(READ, name="orders")], False, id="global-not-by-the-local-name"),
        pytest.param([scoped(virtual_cluster="emea.hr")], False, id="of-another"),
        pytest.param([scoped(virtual_cluster="emea.", prefixed=True)], True, id="of-a-prefix"),
        pytest.param([scoped(virtual_cluster="*")], True, id="of-every-one"),
        pytest.param([scoped(), scoped(permission_type=DENY)], False, id="deny-beats-allow"),
        pytest.param(
            [scoped(), a_grant(READ, name="emea.eu.sales.orders", permission_type=DENY)],
            False,
            id="global-deny-beats-local-allow",
        ),
        pytest.param(
            [PHYSICAL_GRANT, scoped(virtual_cluster="*", permission_type=DENY)],
            False,
            id="local-deny-beats-global-allow",
        ),
        pytest.param(
            [scoped(), a_grant(READ, name="orders", permission_type=DENY)],
            True,
            id="global-deny-of-the-same-word-is-of-another-topic",
        ),
    ],
)
def test_the_decision_table(bindings: list[AclBinding], allowed: bool):
    """VC-148, VC-103, VC-144, VC-006: twelve rows."""
    assert reads_the_link(*bindings) is allowed


def test_everyone_in_a_virtual_cluster_means_its_members():
    """VC-148, VC-145."""
    everyone = scoped(principal="User:*")
    assert reads_the_link(everyone)
    assert not reads_the_link(everyone, principal="User:b")
    stranger = an_authorizer(everyone, principal="User:stranger")
    assert not stranger.allows_topic(READ, "orders")
    assert not stranger.allows_topic(READ, "emea.eu.sales.orders")


def test_a_binding_of_a_virtual_cluster_acts_for_members_only():
    """VC-145: denied before a user is bound, allowed after."""
    granted = scoped(principal="User:new")
    before = Authorizer(ENFORCED, [granted], "User:new", "h", bind(IMAGE, "User:new", None))
    assert not before.allows_topic(READ, "orders")
    sales = replace(IMAGE.by_name["emea.sales"], users=frozenset({"User:new"}))
    binding = bind(build_image([sales]), "User:new", None)
    after = Authorizer(ENFORCED, [granted], "User:new", "h", binding)
    assert after.allows_local(READ, ResourceType.TOPIC, "orders", "emea.eu.sales.orders")
    assert not after.allows_topic(READ, "orders")


def test_a_claimed_client_id_gives_no_rights():
    """VC-085: it takes an ACL that names the principal."""
    everyone, own = scoped(principal="User:*"), scoped(principal="User:x")
    assert not reads_the_link(everyone, principal="User:x", client_id="app")
    assert reads_the_link(own, principal="User:x", client_id="app")
    denied = scoped(principal="User:*", permission_type=DENY)
    assert not reads_the_link(own, denied, principal="User:x", client_id="app")


def test_rights_on_a_name_that_leads_nowhere():
    """VC-150: what is granted on every name still is, and nothing else."""
    for binding, allowed in [
        (scoped(name="*"), True),
        (a_grant(READ, name="*"), True),
        (PHYSICAL_GRANT, False),
        (a_grant(READ, name="nowhere"), False),
    ]:
        asked = an_authorizer(binding)
        assert asked.allows_local(READ, ResourceType.TOPIC, "nowhere", None) is allowed


def test_an_implied_right_is_one_within_too():
    """VC-142."""
    asked = an_authorizer(scoped(WRITE))
    assert asked.allows_local(DESCRIBE, ResourceType.TOPIC, "orders", "x")
    assert not asked.allows_local(READ, ResourceType.TOPIC, "orders", "x")


@pytest.mark.parametrize(
    ("binding", "name", "allowed"),
    [
        (on("emea.sales", ALTER), "emea.sales", True),
        (on("emea.sales", ALTER), "emea.hr", False),
        (on("emea.", ALTER, prefixed=True), "emea.hr", True),
        (on("emea.", ALTER, prefixed=True), "apac.hr", False),
        (on("*", ALTER), "apac.hr", True),
        (on(CLUSTER_NAME, ALTER), "apac.hr", True),
        (on(CLUSTER_NAME, DESCRIBE), "apac.hr", False),
        (on(CLUSTER_NAME, Operation.ALL), "apac.hr", True),
        (on("emea.sales", Operation.ALTER_VIRTUAL_CLUSTER), "emea.sales", True),
        (on(CLUSTER_NAME, Operation.ALTER_VIRTUAL_CLUSTER), "emea.sales", True),
        (on("emea.sales", Operation.DELETE_VIRTUAL_CLUSTER), "emea.sales", False),
        (on("emea.sales", READ), "emea.sales", False),
    ],
)
def test_who_may_alter_a_virtual_cluster(binding: AclBinding, name: str, allowed: bool):
    """VC-101, VC-140, VC-141, VC-146: whether or not the principal is a member of it."""
    for principal in ("User:a", "User:b", "User:unbound"):
        asked = an_authorizer(replace(binding, principal=principal), principal=principal)
        assert asked.allows_virtual_cluster(Operation.ALTER_VIRTUAL_CLUSTER, name) is allowed


@pytest.mark.parametrize(
    "deny",
    [
        on("emea.sales", ALTER, permission_type=DENY),
        on("emea.sales", Operation.ALTER_VIRTUAL_CLUSTER, permission_type=DENY),
        on("emea", Operation.ALL, prefixed=True, permission_type=DENY),
        on("*", ALTER, permission_type=DENY),
        on(CLUSTER_NAME, ALTER, permission_type=DENY),
    ],
)
def test_a_deny_wins_on_virtual_clusters_too(deny: AclBinding):
    """VC-148."""
    asked = an_authorizer(on(CLUSTER_NAME, Operation.ALL), on("*", Operation.ALL), deny)
    assert not asked.allows_virtual_cluster(Operation.ALTER_VIRTUAL_CLUSTER, "emea.sales")


@pytest.mark.parametrize(
    "binding",
    [
        on("k", Operation.ALL, prefixed=True),
        on(CLUSTER_NAME, Operation.ALL, prefixed=True),
        on("", Operation.ALL, prefixed=True),
        on("*", Operation.ALL),
    ],
    ids=["prefix", "whole-name", "empty-prefix", "every-one"],
)
def test_no_pattern_means_the_physical_cluster(binding: AclBinding):
    """VC-108."""
    asked = an_authorizer(binding)
    assert not asked.allows_cluster(ALTER)
    assert not asked.allows_virtual_cluster(Operation.ALTER_VIRTUAL_CLUSTER, CLUSTER_NAME)
    assert asked.allows_virtual_cluster(ALTER, CLUSTER_NAME + "-2")


def test_a_prefix_like_the_physical_clusters_name_is_no_global_scope():
    """VC-108."""
    granted = scoped(virtual_cluster=CLUSTER_NAME, prefixed=True)
    assert not an_authorizer(granted, principal="User:a").allows_topic(READ, "orders")


@pytest.mark.parametrize(
    ("grant", "scope", "allowed"),
    [
        (on("emea.sales", ALTER), VirtualClusterScope("emea.sales"), True),
        (on("emea.sales", ALTER), VirtualClusterScope("emea.sales", PREFIXED), False),
        (on("emea.sales", ALTER), VirtualClusterScope("", PREFIXED), False),
        (on("emea.", ALTER, prefixed=True), VirtualClusterScope("emea.sales", PREFIXED), True),
        (on("emea.", ALTER, prefixed=True), VirtualClusterScope("emea.", PREFIXED), True),
        (on("emea.", ALTER, prefixed=True), VirtualClusterScope("em", PREFIXED), False),
        (on("emea.", ALTER, prefixed=True), VirtualClusterScope("*"), False),
        (on("*", ALTER), VirtualClusterScope("em", PREFIXED), True),
        (on("*", ALTER), VirtualClusterScope("*"), True),
        (on("*", ALTER), VirtualClusterScope(CLUSTER_NAME), False),
        (on(CLUSTER_NAME, ALTER), VirtualClusterScope("*"), True),
    ],
)
def test_over_which_scopes_an_administrator_rules(
    grant: AclBinding, scope: VirtualClusterScope, allowed: bool
):
    """VC-147, VC-106."""
    assert an_authorizer(grant).allows_request(ApiKey.CREATE_ACLS, scope) is allowed


def test_one_denied_virtual_cluster_is_no_part_of_a_prefix():
    """VC-147: or an ACL of the prefix would act there."""
    denied = on("emea.sales", ALTER, permission_type=DENY)
    asked = an_authorizer(on("emea.", ALTER, prefixed=True), denied)
    assert not asked.allows_request(ApiKey.CREATE_ACLS, VirtualClusterScope("emea.", PREFIXED))
    assert asked.allows_request(ApiKey.CREATE_ACLS, VirtualClusterScope("emea.hr"))


def test_super_users_and_clusters_that_enforce_nothing():
    """VC-149."""
    for asked in (
        an_authorizer(principal="User:root"),
        Authorizer(Options(), (), "User:a", "h", bind(IMAGE, "User:a", None)),
        an_authorizer().allowing_everything(),
    ):
        assert asked.allows_local(READ, ResourceType.TOPIC, "orders", None)
        assert asked.allows_virtual_cluster(ALTER, "emea.sales")
        assert asked.allows_request(ApiKey.CREATE_ACLS, VirtualClusterScope("*"))
    assert not an_authorizer().allows_request(ApiKey.CREATE_ACLS, VirtualClusterScope("emea.sales"))
