"""DeleteTopics (spec §3.5)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster.clusters import (
    BOTH,
    a_cluster,
    a_cluster_with,
    a_guarded_cluster,
    a_new_topic,
    admin,
    cluster_grant,
    codes,
    topic_grant,
)

from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode

SEED, KRAFT = Compat.SEED, Compat.KRAFT
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
ABSENT = {SEED: ErrorCode.INVALID_TOPIC_EXCEPTION, KRAFT: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("compat", BOTH)
def test_deleting_by_name_or_id(compat: Compat):
    """A4-62, A4-67, A4-69b, C-03."""
    cluster = a_cluster_with("a", "b", "c", compat=compat)
    topic_id = cluster.read_state().topics["b"].topic_id
    results = admin(cluster).delete_topics(["a", "none"], topic_ids=[topic_id, "no-such-id"])
    assert codes(results) == {
        "a": ErrorCode.NONE,
        "none": ABSENT[compat],
        topic_id: ErrorCode.NONE,
        "no-such-id": ErrorCode.UNKNOWN_TOPIC_ID,
    }
    assert list(cluster.read_state().topics) == ["c"]


@pytest.mark.parametrize(
    ("compat", "code"), [(SEED, ErrorCode.NONE), (KRAFT, ErrorCode.INVALID_REQUEST)]
)
def test_a_name_or_id_given_twice(compat: Compat, code: ErrorCode):
    """A4-61, C-01, C-02: the seed reads a set, KRaft refuses."""
    cluster = a_cluster_with("a", "b", compat=compat)
    topic_id = cluster.read_state().topics["b"].topic_id
    results = admin(cluster).delete_topics(["a", "a"], topic_ids=[topic_id, topic_id])
    assert codes(results) == {"a": code, topic_id: code}
    assert len(cluster.read_state().topics) == (0 if code is ErrorCode.NONE else 2)


def test_a_topic_being_deleted_is_waited_for_without_an_error():
    """A4-63: whoever comes second waits for the same end, and is answered like the first."""
    cluster = a_cluster_with("a")
    topic_id = cluster.read_state().topics["a"].topic_id
    cluster.faults.hold_deletions = True
    assert codes(admin(cluster).delete_topics(["a"], timeout_ms=0)) == {
        "a": ErrorCode.REQUEST_TIMED_OUT
    }
    assert cluster.read_state().topics["a"].marked_for_deletion
    with ThreadPoolExecutor() as pool:
        calls = [
            pool.submit(admin(cluster).delete_topics, ["a"], timeout_ms=60_000),
            pool.submit(admin(cluster).delete_topics, topic_ids=[topic_id], timeout_ms=60_000),
        ]
        for call in calls:
            with pytest.raises(TimeoutError):
                call.result(0.2)
        cluster.release()
        results = [codes(call.result()) for call in calls]
    assert results == [{"a": ErrorCode.NONE}, {topic_id: ErrorCode.NONE}]
    assert cluster.read_state().topics == {}


@pytest.mark.parametrize(
    ("compat", "principal", "by_name", "by_id"),
    [
        (SEED, "User:deleter", ErrorCode.NONE, ErrorCode.NONE),
        (SEED, "User:reader", DENIED, DENIED),
        (SEED, "User:nobody", ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.UNKNOWN_TOPIC_ID),
        (KRAFT, "User:deleter", ErrorCode.NONE, ErrorCode.NONE),
        (KRAFT, "User:reader", DENIED, DENIED),
        (KRAFT, "User:nobody", DENIED, DENIED),
    ],
)
def test_deleting_needs_delete(
    compat: Compat, principal: str, by_name: ErrorCode, by_id: ErrorCode
):
    """A4-64, C-04: the seed hides a topic that may not even be described; KRaft refuses."""
    for code, is_by_name in ((by_name, True), (by_id, False)):
        cluster = a_guarded_cluster(
            compat,
            topic_grant(Operation.DELETE, principal="User:deleter"),
            topic_grant(Operation.READ, principal="User:reader"),
        )
        topic_id = cluster.read_state().topics["orders"].topic_id
        asked = {"names": ["orders"]} if is_by_name else {"topic_ids": [topic_id]}
        results = admin(cluster, principal).delete_topics(**asked)
        assert codes(results) == {"orders" if is_by_name else topic_id: code}
        assert ("orders" not in cluster.read_state().topics) is (code is ErrorCode.NONE)


@pytest.mark.parametrize(
    ("compat", "code"),
    [(SEED, ErrorCode.TOPIC_AUTHORIZATION_FAILED), (KRAFT, ErrorCode.NONE)],
)
def test_the_right_to_delete_on_the_cluster_is_krafts_alone(compat: Compat, code: ErrorCode):
    """A4-64: to the seed it is the operation on the topic that counts."""
    cluster = a_guarded_cluster(
        compat, cluster_grant(Operation.DELETE), topic_grant(Operation.DESCRIBE)
    )
    assert codes(admin(cluster, "User:a").delete_topics(["orders"])) == {"orders": code}


@pytest.mark.parametrize("compat", BOTH)
def test_a_hidden_topic_is_answered_like_one_that_is_not_there(compat: Compat):
    """A4-64: no answer tells whether it exists."""
    connection = admin(a_guarded_cluster(compat), "User:nobody")
    results = connection.delete_topics(["orders", "none"])
    assert results["orders"] == results["none"]


def test_a_deletion_that_takes_longer_than_the_timeout_goes_on():
    """A4-42, A4-65, P201-19: the mark is visible meanwhile."""
    cluster = a_cluster_with("a")
    cluster.faults.hold_deletions = True
    results = admin(cluster).delete_topics(["a"], timeout_ms=20)
    assert codes(results) == {"a": ErrorCode.REQUEST_TIMED_OUT}
    assert cluster.read_state().topics["a"].marked_for_deletion
    cluster.release()
    assert cluster.read_state().topics == {}


def test_without_time_the_seed_only_triggers():
    """A4-66."""
    cluster = a_cluster_with("a")
    results = admin(cluster).delete_topics(["a", "none"], timeout_ms=0)
    assert codes(results) == {
        "a": ErrorCode.REQUEST_TIMED_OUT,
        "none": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert cluster.read_state().topics == {}


def test_without_time_kraft_does_nothing():
    """A4-66, C-08."""
    cluster = a_cluster_with("a", compat=KRAFT)
    results = admin(cluster).delete_topics(["a"], timeout_ms=0)
    assert codes(results) == {"a": ErrorCode.REQUEST_TIMED_OUT}
    assert list(cluster.read_state().topics) == ["a"]


def test_kraft_knows_no_topic_that_is_marked_for_deletion():
    """C-09."""
    cluster = a_cluster_with("a", compat=KRAFT)
    cluster.faults.hold_deletions = True
    assert admin(cluster).delete_topics(["a"])["a"].ok
    assert cluster.read_state().topics == {}


@pytest.mark.parametrize(
    ("version", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)],
)
def test_deletion_can_be_disabled(version: int, code: ErrorCode):
    """A4-69."""
    cluster = a_cluster(static_configs={"delete.topic.enable": "false"})
    connection = admin(cluster)
    connection.create_topics([a_new_topic("a")])
    assert codes(connection.delete_topics(["a"], version=version)) == {"a": code}
    assert list(cluster.read_state().topics) == ["a"]


def test_a_name_is_free_only_once_its_deletion_is_done():
    """A4-69c."""
    cluster = a_cluster_with("a")
    cluster.faults.hold_deletions = True
    admin(cluster).delete_topics(["a"], timeout_ms=0)
    again = [a_new_topic("a")]
    assert admin(cluster).create_topics(again)["a"].code is ErrorCode.TOPIC_ALREADY_EXISTS
    cluster.release()
    assert admin(cluster).create_topics(again)["a"].ok


def test_a_dry_run_is_the_seeds_alone():
    """P201-103, C-22."""
    seed, kraft = a_cluster_with("a"), a_cluster_with("a", compat=KRAFT)
    judged = admin(seed).delete_topics(["a", "none"], validate_only=True)
    assert codes(judged) == {"a": ErrorCode.NONE, "none": ErrorCode.INVALID_TOPIC_EXCEPTION}
    for cluster, version in ((seed, 1), (kraft, 6)):
        refused = admin(cluster).delete_topics(["a"], validate_only=True, version=version)
        assert codes(refused) == {"a": ErrorCode.UNSUPPORTED_VERSION}
        assert list(cluster.read_state().topics) == ["a"]


@pytest.mark.parametrize(("compat", "silent", "telling"), [(SEED, 1, 2), (KRAFT, 4, 5)])
def test_older_versions_have_no_words(compat: Compat, silent: int, telling: int):
    """P201-104, C-22."""
    connection = admin(a_cluster(compat=compat))
    assert connection.delete_topics(["none"], version=silent)["none"].message is None
    assert connection.delete_topics(["none"], version=telling)["none"].message is not None
