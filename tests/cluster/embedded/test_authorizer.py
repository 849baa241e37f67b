"""The rules of Kafka's StandardAuthorizer."""

import pytest
from cluster.clusters import a_grant

from kgitops.cluster.embedded.authorizer import Authorizer
from kgitops.cluster.embedded.options import AuthorizerKind, Options
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.virtual_clusters.resolution import Binding, BoundBy

ENFORCED = Options(authorizer=AuthorizerKind.ACLS, super_users=frozenset({"User:root"}))
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
DENY = PermissionType.DENY
PREFIXED = PatternType.PREFIXED


def allows(operation: Operation, *bindings: AclBinding, principal: str = "User:a") -> bool:
    """Whether ``principal`` may do it to the topic ``orders`` from 10.0.0.1."""
    return Authorizer(ENFORCED, bindings, principal, "10.0.0.1").allows_topic(operation, "orders")


@pytest.mark.parametrize(
    ("binding", "allowed"),
    [
        pytest.param(a_grant(READ), True, id="itself"),
        pytest.param(a_grant(WRITE), False, id="another-operation"),
        pytest.param(a_grant(Operation.ALL), True, id="all"),
        pytest.param(a_grant(READ, name="*"), True, id="every-topic"),
        pytest.param(a_grant(READ, name="order"), False, id="another-name"),
        pytest.param(a_grant(READ, name="ord", pattern_type=PREFIXED), True, id="prefix"),
        pytest.param(a_grant(READ, name="orders", pattern_type=PREFIXED), True, id="whole-prefix"),
        pytest.param(a_grant(READ, name="orders2", pattern_type=PREFIXED), False, id="longer"),
        pytest.param(a_grant(READ, ResourceType.GROUP), False, id="another-type"),
        pytest.param(a_grant(READ, principal="User:*"), True, id="everyone"),
        pytest.param(a_grant(READ, principal="User:b"), False, id="another-principal"),
        pytest.param(a_grant(READ, principal="Group:a"), False, id="another-principal-type"),
        pytest.param(a_grant(READ, host="10.0.0.1"), True, id="this-host"),
        pytest.param(a_grant(READ, host="10.0.0.2"), False, id="another-host"),
    ],
)
def test_what_one_allow_allows(binding: AclBinding, allowed: bool):
    assert allows(READ, binding) is allowed


def test_nothing_is_allowed_by_nothing():
    assert not allows(READ)


@pytest.mark.parametrize("operation", [READ, WRITE, Operation.DELETE, Operation.ALTER], ids=str)
def test_describe_is_implied(operation: Operation):
    assert allows(DESCRIBE, a_grant(operation))


def test_describe_configs_is_implied_by_alter_configs_alone():
    assert allows(Operation.DESCRIBE_CONFIGS, a_grant(Operation.ALTER_CONFIGS))
    assert not allows(Operation.DESCRIBE_CONFIGS, a_grant(Operation.ALTER))


@pytest.mark.parametrize(
    "deny",
    [
        a_grant(READ, permission_type=DENY),
        a_grant(Operation.ALL, permission_type=DENY),
        a_grant(READ, principal="User:*", permission_type=DENY),
        a_grant(READ, name="*", permission_type=DENY),
        a_grant(READ, name="o", pattern_type=PREFIXED, permission_type=DENY),
    ],
    ids=["itself", "all", "everyone", "every-topic", "prefix"],
)
def test_a_deny_wins_over_every_allow(deny: AclBinding):
    assert not allows(READ, a_grant(Operation.ALL), deny)


def test_a_deny_implies_nothing():
    assert allows(DESCRIBE, a_grant(DESCRIBE), a_grant(READ, permission_type=DENY))


def test_a_super_user_may_do_everything():
    assert allows(READ, a_grant(READ, principal="User:*", permission_type=DENY),
                  principal="User:root")  # fmt: skip


@pytest.mark.parametrize("kind", [AuthorizerKind.NONE, AuthorizerKind.DISABLED])
def test_without_enforcement_everyone_may(kind: AuthorizerKind):
    authorizer = Authorizer(Options(authorizer=kind), [], "User:a", "10.0.0.1")
    assert authorizer.allows_topic(READ, "orders")
    assert authorizer.allows_cluster(Operation.ALTER)


UNLISTED = Options(
    authorizer=AuthorizerKind.ACLS, static_configs={"allow.everyone.if.no.acl.found": "True"}
)


def test_everyone_may_use_what_has_no_acl():
    """Not a resource that another user, or another host, has an ACL on."""

    def may(operation: Operation, topic: str, *bindings: AclBinding) -> bool:
        return Authorizer(UNLISTED, bindings, "User:x", "10.0.0.1").allows_topic(operation, topic)

    assert may(READ, "orders")
    assert may(READ, "orders", a_grant(READ, name="prices"))
    assert not may(READ, "orders", a_grant(READ, principal="User:other"))
    assert not may(READ, "orders", a_grant(READ, principal="User:other", permission_type=DENY))
    assert not may(READ, "orders", a_grant(DESCRIBE, name="o", pattern_type=PREFIXED))
    assert not may(READ, "orders", a_grant(READ, name="*", principal="User:other"))
    assert may(READ, "orders", a_grant(READ, principal="User:x"))
    assert not may(READ, "orders", a_grant(READ, principal="User:x", permission_type=DENY))
    for value in ("false", "yes"):
        options = Options(
            authorizer=AuthorizerKind.ACLS,
            static_configs={"allow.everyone.if.no.acl.found": value},
        )
        assert not Authorizer(options, [], "User:x", "10.0.0.1").allows_topic(READ, "orders")


def test_everyone_may_use_some_resource_of_a_type_without_acls():
    """As Kafka's authorizeByResourceType, which asks for a resource that has no ACL of its own."""
    everyone = Authorizer(UNLISTED, [], "User:x", "10.0.0.1")
    assert everyone.allows_somewhere(Operation.WRITE, ResourceType.TOPIC)
    on_all = a_grant(READ, name="*", principal="User:other")
    limited = Authorizer(UNLISTED, [on_all], "User:x", "10.0.0.1")
    assert not limited.allows_somewhere(Operation.WRITE, ResourceType.TOPIC)


def test_no_tenant_gets_what_has_no_acl():
    """A caller in a virtual cluster has the rights that it was given."""
    sales = VirtualCluster(name="sales")
    binding = Binding(virtual_cluster=sales, reason=BoundBy.USER)
    tenant = Authorizer(UNLISTED, [], "User:x", "10.0.0.1", binding)
    assert not tenant.allows_topic(READ, "orders")
    assert not tenant.allows_local(READ, ResourceType.TOPIC, "orders", "orders")
