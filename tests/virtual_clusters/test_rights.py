"""KIP-1134's operation lists (spec §8.2), with each row repeated here."""

from collections.abc import Iterable

import pytest

from kgitops.model.resources.acls import Operation
from kgitops.virtual_clusters.rights import (
    ALLOWED_APIS,
    ApiKey,
    operations_that_allow,
    operations_that_deny,
    sufficient_operations,
)

ALTER, ALTER_CONFIGS, CREATE = Operation.ALTER, Operation.ALTER_CONFIGS, Operation.CREATE
DESCRIBE, DELETE = Operation.DESCRIBE, Operation.DELETE
CLUSTER_ACTION, DESCRIBE_CONFIGS = Operation.CLUSTER_ACTION, Operation.DESCRIBE_CONFIGS

INTERNAL = [1, 4, 5, 6, 7, 23, 43, 52, 53, 54, 58, 59, 62, 63, 67, 70, 83]
ALLOWED_KEYS = {
    ALTER: [27, 30, 31, 34, 51, 92],
    ALTER_CONFIGS: [33, 44, 49],
    CLUSTER_ACTION: [33, 44, 49, 56, 27, 84, 85, 86, 87],
    CREATE: [3, 19, 91],
    DESCRIBE: [16, 29, 35, 46, 50, 94, 95],
    DELETE: [93],
    DESCRIBE_CONFIGS: [32, 48],
}
NAMED = {
    Operation.CREATE_VIRTUAL_CLUSTER: 91,
    Operation.ALTER_VIRTUAL_CLUSTER: 92,
    Operation.DELETE_VIRTUAL_CLUSTER: 93,
    Operation.LIST_VIRTUAL_CLUSTERS: 94,
    Operation.DESCRIBE_VIRTUAL_CLUSTER: 95,
}


def allowed(key: int, operations: Iterable[Operation]) -> bool:
    """True if one of these rights is enough, directly or by implication."""
    held = set(operations)
    return any(held & operations_that_allow(operation) for operation in sufficient_operations(key))


@pytest.mark.parametrize(
    ("operation", "key"),
    [(operation, key) for operation, keys in ALLOWED_KEYS.items() for key in keys],
)
def test_what_a_right_allows(operation: Operation, key: int):
    """VC-151, VC-154, VC-155, VC-158, VC-159, VC-160a, VC-160b."""
    assert allowed(key, [operation])


@pytest.mark.parametrize("operation", ALLOWED_KEYS, ids=str)
def test_the_lists_are_complete(operation: Operation):
    """VC-151, VC-154, VC-155, VC-158, VC-159, VC-160a: nothing more than what is listed."""
    assert ALLOWED_APIS[operation] == set(ALLOWED_KEYS[operation])


@pytest.mark.parametrize("key", [45, 57, 64, 43, 80, 81])
def test_what_alter_does_not_allow(key: int):
    """VC-152, VC-153."""
    assert not allowed(key, Operation)


@pytest.mark.parametrize("key", [*INTERNAL, 73])
def test_what_cluster_action_does_not_allow(key: int):
    """VC-102, VC-156, VC-157: whatever right someone has on a virtual cluster."""
    assert not allowed(key, Operation)


def test_the_quorum_is_not_described():
    """VC-159: it is about the physical cluster only."""
    assert not allowed(55, Operation)


@pytest.mark.parametrize("key", [0, 22, 37, 38, 39, 40, 41, 61, 65, 66, 74, 80, 81, 82, 88, 90, 96])
def test_what_no_list_names_is_refused(key: int):
    """VC-160b."""
    assert not allowed(key, Operation)


@pytest.mark.parametrize("operation", [Operation.READ, Operation.WRITE])
def test_read_and_write_mean_nothing(operation: Operation):
    """VC-160a: and they imply no Describe, as they do on a topic."""
    assert not [key for key in range(100) if allowed(key, [operation])]


@pytest.mark.parametrize("operation", NAMED, ids=str)
def test_a_right_of_its_own_allows_its_request_alone(operation: Operation):
    """VC-141, VC-142: except describing, which three of them imply."""
    changes = {"Create", "Alter", "Delete"}
    implied = {95} if operation.value.removesuffix("VirtualCluster") in changes else set()
    keys = {key for key in range(100) if allowed(key, [operation])}
    assert keys == {NAMED[operation]} | implied


@pytest.mark.parametrize(
    ("operation", "enough"),
    [
        (Operation.CREATE_VIRTUAL_CLUSTER, {CREATE}),
        (Operation.ALTER_VIRTUAL_CLUSTER, {ALTER}),
        (Operation.DELETE_VIRTUAL_CLUSTER, {DELETE}),
        (Operation.LIST_VIRTUAL_CLUSTERS, {DESCRIBE, ALTER, DELETE}),
        (
            Operation.DESCRIBE_VIRTUAL_CLUSTER,
            {
                DESCRIBE,
                ALTER,
                DELETE,
                Operation.CREATE_VIRTUAL_CLUSTER,
                Operation.ALTER_VIRTUAL_CLUSTER,
                Operation.DELETE_VIRTUAL_CLUSTER,
            },
        ),
        (DESCRIBE_CONFIGS, {ALTER_CONFIGS}),
        (ALTER, set()),
    ],
    ids=lambda value: "" if isinstance(value, set) else str(value),
)
def test_what_is_enough_for_an_operation(operation: Operation, enough: set[Operation]):
    """VC-141, VC-142."""
    assert operations_that_allow(operation) == {operation, Operation.ALL} | enough


def test_a_deny_covers_what_its_classic_operation_lists():
    """VC-141: and implies nothing."""
    assert operations_that_deny(Operation.ALTER_VIRTUAL_CLUSTER) == {
        Operation.ALTER_VIRTUAL_CLUSTER,
        ALTER,
        Operation.ALL,
    }
    assert operations_that_deny(DESCRIBE) == {DESCRIBE, Operation.ALL}


def test_who_may_alter_quotas():
    """VC-154, VC-155."""
    assert sufficient_operations(ApiKey.ALTER_CLIENT_QUOTAS) == {ALTER_CONFIGS, CLUSTER_ACTION}
