"""CreatePartitions (A4-71…73)."""

import pytest
from cluster.clusters import a_cluster, a_cluster_with, admin, codes

from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model.placement import place
from kgitops.model.results import ErrorCode


@pytest.mark.parametrize(
    ("assignments", "code"),
    [
        pytest.param([[1, 2], [2, 3]], ErrorCode.NONE, id="given"),
        pytest.param([], ErrorCode.INVALID_REPLICA_ASSIGNMENT, id="empty"),
        pytest.param([[1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT, id="too-few"),
        pytest.param([[1, 2]] * 3, ErrorCode.INVALID_REPLICA_ASSIGNMENT, id="too-many"),
    ],
)
def test_assignments_are_of_the_new_partitions_alone(assignments, code: ErrorCode):
    """A4-72."""
    cluster = a_cluster_with("orders")
    before = cluster.read_state().topics["orders"].assignment
    item = NewPartitions(topic="orders", count=4, assignments=assignments)
    assert codes(admin(cluster).create_partitions([item])) == {"orders": code}
    added = tuple(map(tuple, assignments)) if code is ErrorCode.NONE else ()
    assert cluster.read_state().topics["orders"].assignment == before + added


def test_without_assignments_the_brokers_place_as_the_planner_does():
    """A4-72, P201-34."""
    cluster = a_cluster_with("orders")
    before = cluster.read_state()
    current = before.topics["orders"].assignment
    admin(cluster).create_partitions([NewPartitions(topic="orders", count=7)])
    placed = place(
        before.brokers, partitions=7, replication_factor=2, existing=current, seed="orders"
    )
    assert cluster.read_state().topics["orders"].assignment == current + placed


def test_duplicates_and_unknown_topics():
    """A4-73, A4-05."""
    cluster = a_cluster_with("a", "b")
    items = [NewPartitions(topic=name, count=3) for name in ("a", "none", "b", "a")]
    assert codes(admin(cluster).create_partitions(items)) == {
        "a": ErrorCode.INVALID_REQUEST,
        "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "b": ErrorCode.NONE,
    }


def test_new_partitions_without_leaders_are_waited_for():
    """A4-42."""
    cluster = a_cluster_with("orders")
    cluster.faults.leaderless_topics = frozenset({"orders"})
    item = NewPartitions(topic="orders", count=3)
    results = admin(cluster).create_partitions([item], timeout_ms=20)
    assert codes(results) == {"orders": ErrorCode.REQUEST_TIMED_OUT}
    assert cluster.read_state().topics["orders"].num_partitions == 3


def test_records_of_one_batch_are_counted_together():
    """A4-03."""
    cluster = a_cluster()
    connection = admin(cluster)
    for name in ("a", "b"):
        connection.create_topics([NewTopic(name=name, num_partitions=1, replication_factor=1)])
    items = [NewPartitions(topic=name, count=5_002) for name in ("a", "b")]
    assert codes(connection.create_partitions(items)) == {
        "a": ErrorCode.POLICY_VIOLATION,
        "b": ErrorCode.POLICY_VIOLATION,
    }
    assert all(topic.num_partitions == 1 for topic in cluster.read_state().topics.values())
