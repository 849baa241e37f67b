"""AlterPartitionReassignments and ListPartitionReassignments (A4-80)."""

import pytest
from cluster.clusters import (
    ROOT,
    a_cluster,
    a_guarded_cluster,
    admin,
    cluster_grant,
    codes,
    topic_grant,
)
from cluster_contract.contract import alteration

from kgitops.cluster.embedded.controls.reassignments import OngoingReassignment
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.options import Compat
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.requests import AlterStep
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode


def orders(*, held: bool = False):
    """A topic with partition 0 on 1, 2 and partition 1 on 2, 3, among five brokers."""
    cluster = a_cluster(brokers=5)
    topic = NewTopic(name="orders", assignments=[(0, [1, 2]), (1, [2, 3])])
    admin(cluster).create_topics([topic])
    cluster.faults.hold_reassignments = held
    return cluster


def test_what_is_not_there_is_neither_moved_nor_cancelled():
    """A4-80: a move that does not run, and partitions by names that no topic has."""
    cluster = orders()
    asked = {("orders", 0): None, ("orders", 2): [1], ("none", 0): [1]}
    assert codes(admin(cluster).alter_partition_reassignments(asked)) == {
        ("orders", 0): ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ("orders", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("none", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert cluster.read_state().topics["orders"].assignment == ((1, 2), (2, 3))


@pytest.mark.parametrize(
    ("replicas", "code"),
    [([3, 4], ErrorCode.NONE), ([3], ErrorCode.INVALID_REPLICATION_FACTOR)],
)
def test_a_change_of_the_replication_factor_can_be_ruled_out(replicas, code: ErrorCode):
    """A4-80 (KIP-860)."""
    results = admin(orders()).alter_partition_reassignments(
        {("orders", 0): replicas}, allow_replication_factor_change=False
    )
    assert codes(results) == {("orders", 0): code}


def test_while_a_partition_moves_its_target_counts():
    """P201-16: the metadata show the old and the new replicas."""
    cluster = orders(held=True)
    admin(cluster).alter_partition_reassignments({("orders", 0): [2, 4]})
    topic = cluster.read_state().topics["orders"]
    assert topic.reassigning
    assert topic.assignment == ((2, 4), (2, 3))
    assert topic.replication_factor == 2
    (metadata,) = admin(cluster).metadata(["orders"])
    assert metadata.partitions[0].replicas == (1, 2, 4)
    assert metadata.partitions[0].isr == (1, 2)
    assert admin(cluster).list_partition_reassignments() == {
        ("orders", 0): OngoingReassignment(replicas=(1, 2, 4), adding=(4,), removing=(1,))
    }
    assert admin(cluster).list_partition_reassignments([("orders", 1)]) == {}
    cluster.release()
    after = cluster.read_state().topics["orders"]
    assert (after.reassigning, after.assignment) == (False, ((2, 4), (2, 3)))
    assert admin(cluster).list_partition_reassignments() == {}


def test_a_move_can_be_directed_elsewhere_or_back():
    cluster = orders(held=True)
    connection = admin(cluster)
    connection.alter_partition_reassignments({("orders", 0): [4, 5]})
    connection.alter_partition_reassignments({("orders", 0): [3, 4]})
    assert cluster.read_state().topics["orders"].assignment[0] == (3, 4)
    connection.alter_partition_reassignments({("orders", 0): [1, 2]})
    topic = cluster.read_state().topics["orders"]
    assert (topic.reassigning, topic.assignment[0]) == (False, (1, 2))


def test_moving_needs_alter_on_the_cluster_and_listing_describe():
    """A4-80."""
    cluster = a_guarded_cluster(
        Compat.KRAFT,
        cluster_grant(Operation.ALTER, "User:mover"),
        cluster_grant(Operation.DESCRIBE, "User:watcher"),
    )

    def move(principal: str) -> ErrorCode:
        results = admin(cluster, principal).alter_partition_reassignments({("orders", 0): [1, 2]})
        return results["orders", 0].code

    assert move("User:watcher") is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert move("User:mover") is ErrorCode.NONE
    assert move(ROOT) is ErrorCode.NONE
    assert admin(cluster, "User:watcher").list_partition_reassignments() == {}
    with pytest.raises(Refusal) as refusal:
        admin(cluster, "User:nobody").list_partition_reassignments()
    assert refusal.value.result.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_replicas_that_come_to_a_dead_broker_are_on_the_way_until_it_is_back():
    """As on a real cluster, where no data is copied meanwhile (docs/internals/differences.md)."""
    cluster = orders()
    cluster.fence(4)
    admin(cluster).alter_partition_reassignments({("orders", 0): [4, 1], ("orders", 1): [5, 3]})
    assert admin(cluster).list_partition_reassignments() == {
        ("orders", 0): OngoingReassignment(replicas=(1, 2, 4), adding=(4,), removing=(2,))
    }
    cluster.fence(3)
    assert admin(cluster).list_partition_reassignments() == {}
    assert cluster.read_state().topics["orders"].assignment == ((4, 1), (5, 3))


def test_who_moved_may_cancel():
    """The port's cancellation names nobody: it is asked for by who asked last."""
    cluster = a_guarded_cluster(
        Compat.KRAFT,
        topic_grant(Operation.DESCRIBE, principal="User:mover"),
        cluster_grant(Operation.ALTER, principal="User:mover"),
    )
    cluster.faults.hold_reassignments = True
    topic = cluster.read_state().topics["orders"]
    away = tuple((replicas[-1] % 3 + 1,) for replicas in topic.assignment)
    moving = alteration(topic, AlterStep.REPLICAS, assignment=away)
    for principal, moves in (("User:nobody", False), ("User:mover", True)):
        (moved,) = cluster.execute([moving], validate_only=False, principal=principal)
        assert moved.ok is moves
    cluster.cancel_moves({"orders": range(len(away))})
    assert cluster.read_state().topics["orders"].assignment == topic.assignment
