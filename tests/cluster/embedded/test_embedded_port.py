"""The embedded cluster behind the port, beyond what every cluster promises."""

import threading

from cluster.clusters import a_cluster, a_cluster_with, a_new_topic, admin
from used import used

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import TopicUsage
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.results import ErrorCode, RequestResult


def send(cluster: EmbeddedCluster, *requests: req.Request, validate_only: bool = False):
    return cluster.execute(requests, validate_only=validate_only, principal="User:a")


def creation(name: str, partitions: int = 2) -> req.CreateTopicRequest:
    state = RequestedTopicState(name=name, topic_id=None, assignment=((1, 2),) * partitions)
    return req.CreateTopicRequest(topic=name, requested_state=state)


def alteration(topic: TopicState, step: req.AlterStep, **changes) -> req.AlterTopicRequest:
    state = RequestedTopicState(
        name=topic.name,
        topic_id=topic.topic_id,
        assignment=changes.get("assignment", topic.assignment),
        requested_configs=changes.get("configs", {}),
    )
    assert topic.topic_id
    return req.AlterTopicRequest(
        topic=topic.name, topic_id=topic.topic_id, step=step, requested_state=state
    )


def test_steps_of_several_kinds_go_in_one_batch():
    cluster = a_cluster_with("a", "b", "c")
    a, b, c = cluster.read_state().topics.values()
    results = send(
        cluster,
        alteration(a, req.AlterStep.CONFIGS, configs={"retention.ms": "1"}),
        alteration(b, req.AlterStep.PARTITIONS, assignment=(*b.assignment, (3, 1))),
        alteration(c, req.AlterStep.REPLICAS, assignment=((1, 2, 3), (2, 3, 1))),
    )
    assert [result.code for result in results] == [ErrorCode.NONE] * 3
    topics = cluster.read_state().topics
    assert topics["a"].configs == {"retention.ms": "1"}
    assert topics["b"].assignment == (*b.assignment, (3, 1))
    assert topics["c"].assignment == ((1, 2, 3), (2, 3, 1))


def test_a_held_deletion_and_a_leaderless_topic_time_out():
    """A4-42, A4-65: the outcome must be looked up."""
    cluster = a_cluster_with("a")
    cluster.faults.hold_deletions = True
    cluster.faults.leaderless_topics = frozenset({"b"})
    topic_id = cluster.read_state().topics["a"].topic_id
    assert topic_id
    deletion = req.DeleteTopicRequest(topic="a", topic_id=topic_id)
    assert send(cluster, deletion, validate_only=True)[0].ok
    assert send(cluster, creation("b"), validate_only=True)[0].ok
    codes = [send(cluster, request)[0].code for request in (deletion, creation("b"))]
    assert codes == [ErrorCode.REQUEST_TIMED_OUT] * 2
    topics = cluster.read_state().topics
    assert (topics["a"].marked_for_deletion, "b" in topics) == (True, True)
    cluster.release()
    assert list(cluster.read_state().topics) == ["b"]


def test_usage_is_what_partitions_hold():
    cluster = a_cluster_with("a")
    cluster.produce("a", 1, records=10, bytes_each=100)
    topic_id = cluster.read_state().topics["a"].topic_id
    assert topic_id
    send(
        cluster,
        req.DeleteRecordsRequest(topic="a", topic_id=topic_id, deleted_message_offsets={1: 4}),
    )
    assert used(cluster).usage["a"] == TopicUsage(
        log_start_offsets=(0, 4),
        high_watermarks=(0, 10),
        size_bytes=(0, 600),
        active_groups=(),
    )


def test_records_are_deleted_by_partition_and_the_first_failure_is_told():
    cluster = a_cluster_with("a")
    cluster.produce("a", 0, records=10, bytes_each=1)
    topic_id = cluster.read_state().topics["a"].topic_id
    assert topic_id
    offsets = {0: 4, 1: 4, 7: 1}
    (result,) = send(
        cluster,
        req.DeleteRecordsRequest(topic="a", topic_id=topic_id, deleted_message_offsets=offsets),
    )
    assert result.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert used(cluster).usage["a"].log_start_offsets == (4, 0)


def test_a_batch_beyond_ten_thousand_records_is_refused_whole():
    """A4-03."""
    cluster = a_cluster()
    results = send(cluster, creation("a", 6_000), creation("b", 6_000))
    assert (
        results
        == [
            RequestResult(
                code=ErrorCode.POLICY_VIOLATION,
                message="Unable to perform excessively large batch operation.",
            )
        ]
        * 2
    )
    assert cluster.read_state().topics == {}
    assert send(cluster, creation("a", 6_000))[0].ok


def test_the_state_is_in_order_whatever_the_order_of_changes():
    cluster = a_cluster_with("c", "a", "b")
    for user in ("b", None, "a"):
        request = req.AlterClientQuotaRequest(
            entity=make_entity({"user": user}), quotas={"consumer_byte_rate": 1.0}
        )
        send(cluster, request)
    state = used(cluster)
    assert list(state.topics) == list(state.usage) == ["a", "b", "c"]
    assert list(state.quotas) == [(("user", None),), (("user", "a"),), (("user", "b"),)]


def test_several_threads_take_turns():
    """A4-105: no update is lost."""
    cluster = a_cluster()
    threads = [
        threading.Thread(
            target=lambda n=n: [send(cluster, creation(f"t{n}-{i}")) for i in range(20)]
        )
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cluster.read_state().topics) == 80


def test_who_did_what_when_is_in_the_log(tmp_path):
    cluster = a_cluster(tmp_path / "local.db")
    admin(cluster, "User:alice").create_topics([a_new_topic("a")])
    rows = cluster.controller._store.connection.execute(
        "SELECT principal FROM log ORDER BY log_offset"
    ).fetchall()
    assert rows == [("",), ("User:alice",)]
