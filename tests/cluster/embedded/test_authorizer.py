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
