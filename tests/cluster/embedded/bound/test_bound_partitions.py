"""DeleteRecords and reassignments of callers in a virtual cluster."""

import pytest
from cluster.clusters import codes, topic_grant
from cluster.embedded.bound.tenancies import (
    PHYSICAL,
    SALES,
    SHARED,
    connect,
    on_cluster,
    root,
    scoped,
    two_tenants,
)

from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.acls import CLUSTER_NAME, Operation
from kgitops.model.results import ErrorCode

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
MOVE = {("orders", 0): (3, 2)}


def test_records_are_deleted_for_everyone_who_shares():
    """VC-036, VC-249."""
    cluster = two_tenants()
    cluster.produce(SHARED, 0, 10, 100)
    result = connect(cluster).delete_records(
        {("prices", 0): 4, ("prices", 1): 9, (SHARED, 0): 5, ("never", 0): 1}
    )
    assert codes(result) == {
        ("prices", 0): ErrorCode.NONE,
        ("prices", 1): ErrorCode.OFFSET_OUT_OF_RANGE,
        (SHARED, 0): UNKNOWN,
        ("never", 0): UNKNOWN,
    }
    assert result["prices", 0].low_watermark == 4
    usage = cluster.read_usage(frozenset({SHARED}))
    assert usage.topics[SHARED].log_start_offsets == (4, 0)


def test_deleting_records_needs_delete_on_the_link():
    """VC-150."""
    cluster = two_tenants(scoped(topic_grant(Operation.DELETE, "gone")), members_may=False)
    result = connect(cluster).delete_records({("orders", 0): 0, ("gone", 0): 0, ("no", 0): 0})
    assert codes(result) == {("orders", 0): DENIED, ("gone", 0): UNKNOWN, ("no", 0): DENIED}


@pytest.mark.parametrize("operation", [Operation.ALTER, Operation.ALL, Operation.CLUSTER_ACTION])
def test_no_right_on_a_virtual_cluster_moves_replicas(operation: Operation):
    """VC-152, VC-002."""
    cluster = two_tenants(on_cluster(operation), on_cluster(operation, "*"))
    before = cluster.read_state().topics
    result = connect(cluster).alter_partition_reassignments(MOVE)
    assert codes(result) == {("orders", 0): ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    assert cluster.read_state().topics == before


def test_an_administrator_of_the_physical_cluster_moves_by_link():
    """VC-101, VC-152: names are still those of the virtual cluster that it is in."""
    cluster = two_tenants(on_cluster(Operation.ALTER, CLUSTER_NAME))
    moves = {**MOVE, ("prices", 9): (1,), (SHARED, 0): (3, 2)}
    result = connect(cluster).alter_partition_reassignments(moves)
    assert codes(result) == {
        ("orders", 0): ErrorCode.NONE,
        ("prices", 9): UNKNOWN,
        (SHARED, 0): UNKNOWN,
    }
    assert SHARED not in (result["prices", 9].message or "")
    assert cluster.read_state().topics[PHYSICAL[SALES]].assignment[0] == (3, 2)
    small = connect(cluster).alter_partition_reassignments(
        {("orders", 0): (1,)}, allow_replication_factor_change=False
    )
    assert codes(small) == {("orders", 0): ErrorCode.INVALID_REPLICATION_FACTOR}


def test_moves_are_listed_by_link():
    """VC-159: of linked topics alone, and to who may describe the virtual cluster."""
    cluster = two_tenants(on_cluster(Operation.DESCRIBE))
    cluster.faults.hold_reassignments = True
    state = cluster.read_state().topics
    brokers = {broker.id for broker in cluster.read_state().brokers}
    moves = {}
    for name in (PHYSICAL[SALES], PHYSICAL["hr"], SHARED):
        held = state[name].assignment[0]
        moves[name, 0] = (held[0], *(brokers - set(held)))
    assert all(result.ok for result in root(cluster).alter_partition_reassignments(moves).values())
    a = connect(cluster)
    listed = a.list_partition_reassignments()
    assert list(listed) == [("orders", 0), ("prices", 0)]
    every = root(cluster).list_partition_reassignments()
    assert listed["prices", 0] == every[SHARED, 0]
    assert list(a.list_partition_reassignments([("prices", 0), (SHARED, 0)])) == [("prices", 0)]
    with pytest.raises(Refusal) as refused:
        connect(cluster, "User:b").list_partition_reassignments()
    assert refused.value.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
