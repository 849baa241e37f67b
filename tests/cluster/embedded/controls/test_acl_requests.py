"""CreateAcls, DeleteAcls, DescribeAcls, and KIP-4's AlterAcls (spec §3.8)."""

import inspect
import logging

import pytest
from cluster.clusters import (
    BOTH,
    ROOT,
    a_cluster,
    a_grant,
    a_guarded_cluster,
    admin,
    cluster_grant,
    topic_grant,
)
from msgspec.structs import replace

from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controls.acl_filter import AclFilter, PatternFilter, exact_filter
from kgitops.cluster.embedded.controls.acls import AclAction
from kgitops.cluster.embedded.options import AuthorizerKind, Compat
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.results import ErrorCode

SEED, KRAFT = Compat.SEED, Compat.KRAFT
READ = a_grant(Operation.READ)
WRITE = a_grant(Operation.WRITE)
ANY = AclFilter(pattern=PatternFilter.ANY)


@pytest.mark.parametrize(
    "wanted",
    [AclFilter(), replace(exact_filter(READ), pattern=PatternFilter.MATCH)],
    ids=["any-values", "match-pattern"],
)
def test_what_only_a_filter_can_say_is_not_created(wanted: AclFilter):
    """A4-91, A4-95."""
    cluster = a_cluster()
    (result,) = admin(cluster).create_acls([wanted])
    assert result.code is ErrorCode.INVALID_REQUEST
    assert cluster.read_state().acls == set()


def test_what_exists_already_is_a_success_and_writes_nothing():
    """A4-95."""
    cluster = a_cluster()
    admin(cluster).create_acls([READ])
    before = cluster.controller.image()
    assert [result.ok for result in admin(cluster).create_acls([READ, READ])] == [True, True]
    assert cluster.controller.image() is before


def test_deleting_returns_what_matched_and_nothing_is_no_error():
    """A4-94, A4-95: every filter sees the ACLs as they were before the request, as in Kafka."""
    cluster = a_cluster()
    admin(cluster).create_acls([READ, WRITE])
    filters = [exact_filter(READ), exact_filter(READ), AclFilter(resource_name="none"), ANY]
    outcomes = admin(cluster).delete_acls(filters)
    assert all(outcome.result.ok for outcome in outcomes)
    assert [outcome.bindings for outcome in outcomes] == [(READ,), (READ,), (), (READ, WRITE)]
    assert cluster.read_state().acls == set()


def test_a_filter_with_an_empty_name_is_refused():
    """A4-95."""
    (outcome,) = admin(a_cluster()).delete_acls([AclFilter(resource_name="")])
    assert outcome.result.code is ErrorCode.INVALID_REQUEST


LITERAL = a_grant(Operation.READ, name="orders.eu")
WILDCARD = a_grant(Operation.READ, name="*")
PREFIXED = a_grant(Operation.READ, name="orders.", pattern_type=PatternType.PREFIXED)
PREFIXED_SAME = a_grant(Operation.READ, name="orders.eu", pattern_type=PatternType.PREFIXED)
OTHER = a_grant(Operation.READ, name="orders.us", principal="User:b", host="10.0.0.1")
GROUP = a_grant(Operation.READ, ResourceType.GROUP, "orders.eu")
DENY = a_grant(Operation.WRITE, name="orders.eu", permission_type=PermissionType.DENY)
EVERY = (LITERAL, WILDCARD, PREFIXED, PREFIXED_SAME, OTHER, GROUP, DENY)


@pytest.mark.parametrize(
    ("wanted", "bindings"),
    [
        pytest.param(ANY, set(EVERY), id="any"),
        pytest.param(AclFilter(), {LITERAL, WILDCARD, OTHER, GROUP, DENY}, id="literal"),
        pytest.param(
            AclFilter(pattern=PatternFilter.PREFIXED), {PREFIXED, PREFIXED_SAME}, id="prefixed"
        ),
        pytest.param(
            AclFilter(pattern=PatternFilter.ANY, resource_name="orders.eu"),
            {LITERAL, PREFIXED_SAME, GROUP, DENY},
            id="any-pattern-of-a-name",
        ),
        pytest.param(
            AclFilter(
                pattern=PatternFilter.MATCH,
                resource_name="orders.eu",
                resource_type=ResourceType.TOPIC,
            ),
            {LITERAL, WILDCARD, PREFIXED, PREFIXED_SAME, DENY},
            id="match",
        ),
        pytest.param(
            AclFilter(pattern=PatternFilter.MATCH, resource_name="pay"),
            {WILDCARD},
            id="match-other",
        ),
        pytest.param(AclFilter(pattern=PatternFilter.MATCH), set(EVERY), id="match-without-name"),
        pytest.param(AclFilter(principal="User:b"), {OTHER}, id="principal"),
        pytest.param(AclFilter(host="10.0.0.1"), {OTHER}, id="host"),
        pytest.param(AclFilter(resource_type=ResourceType.GROUP), {GROUP}, id="type"),
        pytest.param(AclFilter(operation=Operation.WRITE), {DENY}, id="operation"),
        pytest.param(AclFilter(permission_type=PermissionType.DENY), {DENY}, id="permission"),
        pytest.param(AclFilter(resource_name="none"), set(), id="nothing"),
    ],
)
def test_filters(wanted: AclFilter, bindings: set):
    """A4-92, A4-94, A4-95: None is any, and what describe finds delete deletes."""
    cluster = a_cluster()
    admin(cluster).create_acls(EVERY)
    described = admin(cluster).describe_acls(wanted)
    assert described.bindings == tuple(sorted(bindings))
    (deleted,) = admin(cluster).delete_acls([wanted])
    assert set(deleted.bindings) == bindings
    assert cluster.read_state().acls == set(EVERY) - bindings


def test_without_an_authorizer_there_are_no_acls():
    """A4-95."""
    connection = admin(a_cluster(authorizer=AuthorizerKind.DISABLED))
    answers = [
        connection.create_acls([READ])[0].code,
        connection.delete_acls([ANY])[0].result.code,
        connection.describe_acls(ANY).result.code,
    ]
    assert answers == [ErrorCode.SECURITY_DISABLED] * 3


def test_an_authorizer_that_fails_fails_every_acl_of_the_call(caplog):
    """A4-90: without words, which the log has."""
    cluster = a_cluster()
    cluster.faults.authorizer_fails = True
    results = admin(cluster).create_acls([READ, WRITE])
    assert {record.getMessage() for record in caplog.records} == {"the authorizer failed"}
    assert [result.message for result in results] == [None, None]
    assert [result.code for result in results] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert cluster.read_state().acls == set()


@pytest.mark.parametrize(
    ("compat", "operation", "may_alter", "may_describe"),
    [
        (SEED, Operation.ALL, True, True),
        (SEED, Operation.ALTER, False, False),
        (SEED, Operation.DESCRIBE, False, False),
        (KRAFT, Operation.ALL, True, True),
        (KRAFT, Operation.ALTER, True, True),
        (KRAFT, Operation.DESCRIBE, False, True),
    ],
)
def test_acls_need_rights_on_the_cluster(
    compat: Compat, operation: Operation, may_alter: bool, may_describe: bool
):
    """A4-88, A4-93, C-11: All for the seed; Alter, or Describe to read, for KRaft."""
    connection = admin(a_guarded_cluster(compat, cluster_grant(operation)), "User:a")
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    created = connection.create_acls([WRITE])[0].code
    deleted = connection.delete_acls([exact_filter(WRITE)])[0].result.code
    described = connection.describe_acls(ANY).result.code
    alter, describe = (ErrorCode.NONE if may else denied for may in (may_alter, may_describe))
    assert [created, deleted, described] == [alter, alter, describe]


@pytest.mark.parametrize("compat", BOTH)
def test_the_seed_lets_everyone_list_what_allows_them_something(compat: Compat):
    """A4-93, C-11: KRaft has no such exception."""
    mine, others = topic_grant(Operation.READ), topic_grant(Operation.READ, principal="User:b")
    connection = admin(a_guarded_cluster(compat, mine, others), "User:a")
    own = AclFilter(
        principal="User:a", permission_type=PermissionType.ALLOW, pattern=PatternFilter.ANY
    )
    described = connection.describe_acls(own)
    if compat is SEED:
        assert (described.result.ok, described.bindings) == (True, (mine,))
    else:
        assert described.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    for wanted in (ANY, replace(own, principal="User:b")):
        refused = connection.describe_acls(wanted)
        assert refused.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert refused.bindings == ()


def test_the_seeds_exception_does_not_tell_of_denials():
    """A4-93: only where permission is Allow."""
    deny = a_grant(Operation.WRITE, permission_type=PermissionType.DENY)
    connection = admin(a_guarded_cluster(SEED, topic_grant(Operation.READ), deny), "User:a")
    described = connection.describe_acls(AclFilter(principal="User:a"))
    assert described.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


ORDERS = (ResourceType.TOPIC, "orders")
PAYMENTS = (ResourceType.TOPIC, "payments")


def test_alter_acls_deletes_before_it_adds():
    """A4-84: whatever the order, what is added is there in the end."""
    cluster = a_cluster()
    admin(cluster).create_acls([READ, WRITE])
    actions = [
        AclAction(binding=READ, is_add=True),
        AclAction(binding=READ, is_add=False),
        AclAction(binding=WRITE, is_add=False),
    ]
    results = admin(cluster).alter_acls([(ORDERS, actions)])
    assert [result.ok for result in results[ORDERS]] == [True, True, True]
    assert cluster.read_state().acls == {READ}


def test_acls_are_there_when_the_call_returns():
    """A4-89: there is no timeout that could be given, and listing shows what became true."""
    cluster = a_cluster()
    for call in (EmbeddedAdmin.alter_acls, EmbeddedAdmin.create_acls, EmbeddedAdmin.delete_acls):
        assert "timeout_ms" not in inspect.signature(call).parameters
    admin(cluster).alter_acls([(ORDERS, [AclAction(binding=READ, is_add=True)])])
    assert admin(cluster).describe_acls(ANY).bindings == (READ,)
    admin(cluster).alter_acls([(ORDERS, [AclAction(binding=READ, is_add=False)])])
    assert admin(cluster).describe_acls(ANY).bindings == ()


def test_alter_acls_answers_for_each_action():
    """A4-87: one bad one among three."""
    cluster = a_cluster()
    bad = replace(READ, principal="nobody")
    actions = [AclAction(binding=item, is_add=True) for item in (READ, bad, WRITE)]
    results = admin(cluster).alter_acls([(ORDERS, actions)])
    assert [result.ok for result in results[ORDERS]] == [True, False, True]
    assert cluster.read_state().acls == {READ, WRITE}


def test_alter_acls_refuses_a_resource_that_is_there_twice(caplog):
    """A4-83: one error for the resource and one line in the log; no other is touched by it."""
    cluster = a_cluster()
    pay = replace(READ, resource_name="payments")
    orders = (ORDERS, [AclAction(binding=READ, is_add=True)])
    with caplog.at_level(logging.INFO):
        results = admin(cluster).alter_acls(
            [orders, (PAYMENTS, [AclAction(binding=pay, is_add=True)]), orders]
        )
    assert [record.getMessage() for record in caplog.records] == [
        "topic 'orders' is in one AlterAcls request more than once"
    ]
    assert [result.code for result in results[ORDERS]] == [ErrorCode.INVALID_REQUEST]
    assert [result.code for result in results[PAYMENTS]] == [ErrorCode.NONE]
    assert cluster.read_state().acls == {pay}


def test_alter_acls_refuses_a_binding_of_another_resource():
    """A4-17."""
    results = admin(a_cluster()).alter_acls([(PAYMENTS, [AclAction(binding=READ, is_add=True)])])
    assert [result.code for result in results[PAYMENTS]] == [ErrorCode.INVALID_REQUEST]


def test_alter_acls_needs_all_on_the_cluster():
    """A4-88."""
    cluster = a_guarded_cluster(SEED, cluster_grant(Operation.ALTER, "User:b"))
    requests = [(ORDERS, [AclAction(binding=READ, is_add=True)])]
    denied = admin(cluster, "User:b").alter_acls(requests)[ORDERS]
    assert [result.code for result in denied] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert [result.code for result in admin(cluster, ROOT).alter_acls(requests)[ORDERS]] == [
        ErrorCode.NONE
    ]


def test_a_batch_beyond_ten_thousand_acls_is_refused_whole():
    """A4-03."""
    cluster = a_cluster()
    bindings = [replace(READ, resource_name=f"t{number}") for number in range(10_001)]
    results = admin(cluster).create_acls(bindings)
    assert {result.code for result in results} == {ErrorCode.POLICY_VIOLATION}
    assert len(results) == 10_001
    assert cluster.read_state().acls == set()
