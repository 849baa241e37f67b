"""Metadata and DescribeCluster (spec §3.3)."""

import pytest
from cluster.clusters import a_cluster, a_cluster_with, a_guarded_cluster, admin, topic_grant

from kgitops.cluster.embedded.client.metadata import BrokerNode
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.options import Compat
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode


@pytest.mark.parametrize(
    ("version", "topics", "names"),
    [
        (1, None, ["a", "b"]),
        (1, [], []),
        (0, [], ["a", "b"]),
        (0, ["b"], ["b"]),
        (1, ["b", "b"], ["b"]),
    ],
)
def test_which_topics_are_asked_for(version: int, topics, names):
    """A4-18, A4-19, C-32."""
    described = admin(a_cluster_with("a", "b")).metadata(topics, version=version)
    assert [topic.name for topic in described] == names


def test_brokers_and_the_controller():
    """A4-20, A4-21: a broker without a rack has none, and each has an address of its own."""
    cluster = a_cluster(brokers=[Broker(id=4, rack="b"), Broker(id=2)])
    described = admin(cluster).describe_cluster()
    assert described.brokers == (
        BrokerNode(node_id=2, host="localhost", port=9094, rack=None),
        BrokerNode(node_id=4, host="localhost", port=9096, rack="b"),
    )
    assert described.controller_id == 2
    assert described.cluster_id == cluster.read_state().cluster_id
    cluster.fence(2)
    assert admin(cluster).describe_cluster().controller_id == 4
    cluster.fence(2, 4)
    assert admin(cluster).describe_cluster().controller_id == -1


def test_the_shape_of_a_topic():
    """A4-22, A4-29."""
    cluster = a_cluster_with("a", "__consumer_offsets")
    topic, internal = admin(cluster).metadata(["a", "__consumer_offsets"])
    assert topic.error is ErrorCode.NONE
    assert topic.topic_id == cluster.read_state().topics["a"].topic_id
    assert (topic.is_internal, internal.is_internal) == (False, True)
    assert [partition.id for partition in topic.partitions] == [0, 1]
    first = topic.partitions[0]
    assert first.leader == first.replicas[0]
    assert first.isr == first.replicas


@pytest.mark.parametrize(
    ("version", "replicas", "error"),
    [(0, (2,), ErrorCode.REPLICA_NOT_AVAILABLE), (1, (1, 2), ErrorCode.NONE)],
)
def test_a_dead_broker(version: int, replicas, error: ErrorCode):
    """A4-23, A4-24: version 0 hides it and says so, later ones list it."""
    cluster = a_cluster()
    admin(cluster).create_topics([NewTopic(name="a", assignments=[(0, [1, 2])])])
    cluster.fence(1)
    (topic,) = admin(cluster).metadata(["a"], version=version)
    partition = topic.partitions[0]
    assert (partition.replicas, partition.isr) == (replicas, (2,))
    assert (partition.error, partition.leader) == (error, 2)
    assert [node.node_id for node in admin(cluster).describe_cluster().brokers] == [2, 3]
    # What planning reads is not changed by it.
    assert cluster.read_state().topics["a"].assignment == ((1, 2),)


def test_a_partition_without_a_leader():
    cluster = a_cluster_with("a")
    cluster.fence(1, 2, 3)
    (topic,) = admin(cluster).metadata(["a"])
    assert {(part.leader, part.error) for part in topic.partitions} == {
        (-1, ErrorCode.LEADER_NOT_AVAILABLE)
    }


def test_the_mark_of_deletion_is_visible():
    """A4-25, C-09."""
    cluster = a_cluster_with("a")
    cluster.faults.hold_deletions = True
    admin(cluster).delete_topics(["a"], timeout_ms=0)
    assert admin(cluster).metadata(["a"])[0].marked_for_deletion


def test_asked_by_name_each_topic_has_an_answer():
    cluster = a_guarded_cluster(Compat.KRAFT, topic_grant(Operation.DESCRIBE, "*", "User:a"))
    answers = admin(cluster, "User:a").metadata(["orders", "none", "a b"])
    assert [topic.error for topic in answers] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]
    hidden = admin(cluster, "User:b").metadata(["orders", "none"])
    assert {topic.error for topic in hidden} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
