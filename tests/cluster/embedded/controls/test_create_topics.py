"""CreateTopics (spec §3.2, §3.4)."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster.clusters import (
    BOTH,
    ROOT,
    a_cluster,
    a_cluster_with,
    a_guarded_cluster,
    a_new_topic,
    admin,
    cluster_grant,
    codes,
    topic_grant,
)
from cluster.policing import Recorder, policed

from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.options import Compat
from kgitops.model.cluster_state import Broker
from kgitops.model.placement import place
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode

SEED, KRAFT = Compat.SEED, Compat.KRAFT


def code_of(topic: NewTopic, compat: Compat = SEED) -> ErrorCode:
    """What creating ``topic`` is answered on three brokers where ``a.b`` exists."""
    cluster = a_cluster_with("a.b", compat=compat)
    before = cluster.controller.image()
    code = admin(cluster).create_topics([topic])[topic.name].code
    assert (cluster.controller.image() == before) is (code is not ErrorCode.NONE)
    return code


def test_an_empty_batch_is_an_empty_success():
    """A4-08."""
    assert admin(a_cluster()).create_topics([]) == {}


def test_names_collide_within_one_batch_too():
    """A4-11, P201-41: the second topic sees the first."""
    results = admin(a_cluster()).create_topics([a_new_topic("x.y"), a_new_topic("x_y")])
    assert codes(results) == {"x.y": ErrorCode.NONE, "x_y": ErrorCode.INVALID_TOPIC_EXCEPTION}


@pytest.mark.parametrize("partitions", [0, -2])
def test_a_number_of_partitions_must_be_positive(partitions: int):
    """A4-12."""
    topic = NewTopic(name="x", num_partitions=partitions, replication_factor=1)
    assert code_of(topic) is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("replication_factor", [0, -2, 4])
def test_a_replication_factor_must_fit_the_brokers(replication_factor: int):
    """A4-13."""
    topic = NewTopic(name="x", num_partitions=1, replication_factor=replication_factor)
    assert code_of(topic) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_fenced_brokers_do_not_count():
    """A4-13."""
    cluster = a_cluster()
    cluster.fence(2, 3)
    topic = NewTopic(name="x", num_partitions=1, replication_factor=2)
    assert codes(admin(cluster).create_topics([topic])) == {
        "x": ErrorCode.INVALID_REPLICATION_FACTOR
    }


@pytest.mark.parametrize(
    "assignments",
    [
        pytest.param([(0, [1]), (0, [2])], id="partition-twice"),
        pytest.param([(1, [1])], id="does-not-begin-at-0"),
        pytest.param([(0, [1]), (2, [1])], id="gap"),
    ],
)
def test_assignments_that_no_topic_can_have_are_refused(assignments):
    """A4-14, A4-45: those that requests of the port can not say."""
    topic = NewTopic(name="x", assignments=assignments)
    assert code_of(topic) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_vendors_key_passes_where_asked_for_but_a_removed_one_never():
    cluster = a_cluster(vendor_configs=True)
    results = admin(cluster).create_topics(
        [
            NewTopic(name="x", num_partitions=1, replication_factor=1, configs={"acme.tier": "1"}),
            NewTopic(
                name="y",
                num_partitions=1,
                replication_factor=1,
                configs={"message.format.version": "2.0"},
            ),
        ]
    )
    assert codes(results) == {"x": ErrorCode.NONE, "y": ErrorCode.INVALID_CONFIG}


def test_a_topic_twice_in_a_request_runs_neither_and_hides_no_other(caplog):
    """A4-05, A4-17, A4-31, C-01: one row for the name and one line in the log; unjudged."""
    recorder = Recorder()
    cluster = policed(recorder)
    with caplog.at_level(logging.INFO):
        results = admin(cluster).create_topics([a_new_topic(name) for name in ("a", "b", "a")])
    assert codes(results) == {"a": ErrorCode.INVALID_REQUEST, "b": ErrorCode.NONE}
    assert list(cluster.read_state().topics) == ["b"]
    assert [request.topic for request in recorder.requests] == ["b"]
    assert [record.getMessage() for record in caplog.records] == [
        "topic 'a' is in one CreateTopics request more than once"
    ]


@pytest.mark.parametrize(
    ("compat", "denied"),
    [(SEED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED), (KRAFT, ErrorCode.TOPIC_AUTHORIZATION_FAILED)],
)
def test_creating_needs_create(compat: Compat, denied: ErrorCode):
    """A4-32, C-05: on the cluster; KRaft is content with the topic."""
    cluster = a_guarded_cluster(
        compat,
        cluster_grant(Operation.CREATE, "User:operator"),
        topic_grant(Operation.CREATE, "mine", "User:owner"),
    )

    def answer(principal: str) -> ErrorCode:
        topic = a_new_topic("mine")
        results = admin(cluster, principal).create_topics([topic], validate_only=True)
        return results["mine"].code

    assert answer("User:nobody") is denied
    assert answer("User:operator") is ErrorCode.NONE
    assert answer("User:owner") is (ErrorCode.NONE if compat is KRAFT else denied)
    assert answer(ROOT) is ErrorCode.NONE


@pytest.mark.parametrize("compat", BOTH)
@pytest.mark.parametrize(("partitions", "replication_factor"), [(1, -1), (-1, 1), (1, 1)])
def test_an_assignment_excludes_counts(compat: Compat, partitions: int, replication_factor: int):
    """A4-33, A4-36."""
    topic = NewTopic(
        name="x",
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[(0, [1])],
    )
    assert code_of(topic, compat) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("partitions", "replication_factor"), [(-1, -1), (3, -1), (-1, 2)])
def test_the_seed_wants_both_counts(partitions: int, replication_factor: int):
    """A4-34, A4-35, C-06."""
    topic = NewTopic(name="x", num_partitions=partitions, replication_factor=replication_factor)
    assert code_of(topic, SEED) is ErrorCode.INVALID_REQUEST


def test_kraft_fills_counts_in_from_the_brokers_configs():
    """A4-34, A4-35, C-06 (KIP-464)."""
    cluster = a_cluster(
        compat=KRAFT, static_configs={"num.partitions": "4", "default.replication.factor": "2"}
    )
    results = admin(cluster).create_topics(
        [NewTopic(name="x"), NewTopic(name="y", num_partitions=1)]
    )
    assert codes(results) == {"x": ErrorCode.NONE, "y": ErrorCode.NONE}
    topics = cluster.read_state().topics
    assert (topics["x"].num_partitions, topics["x"].replication_factor) == (4, 2)
    assert (topics["y"].num_partitions, topics["y"].replication_factor) == (1, 2)


def test_counts_follow_from_an_assignment_in_any_order():
    """A4-37."""
    cluster = a_cluster()
    admin(cluster).create_topics([NewTopic(name="x", assignments=[(1, [2, 3]), (0, [3, 1])])])
    topic = cluster.read_state().topics["x"]
    assert topic.assignment == ((3, 1), (2, 3))


def test_the_brokers_place_as_the_planner_does():
    """A4-38, P201-34."""
    racks = [Broker(id=number, rack="abc"[number % 3]) for number in range(1, 7)]
    cluster = a_cluster(brokers=racks)
    admin(cluster).create_topics([NewTopic(name="x", num_partitions=12, replication_factor=3)])
    placed = place(racks, partitions=12, replication_factor=3, seed="x")
    assert cluster.read_state().topics["x"].assignment == placed


def test_a_config_without_a_value_is_refused():
    """A4-40."""
    assert code_of(a_new_topic("x", retention_ms=None)) is ErrorCode.INVALID_CONFIG


def test_the_call_returns_once_the_last_topic_has_leaders():
    """A4-06, A4-41: a refused topic and one that is ready do not cut it short."""
    cluster = a_cluster()
    cluster.faults.leaderless_topics = frozenset({"slow"})
    topics = [a_new_topic("slow"), a_new_topic("bad", retention_ms="x"), a_new_topic("good")]
    with ThreadPoolExecutor() as pool:
        call = pool.submit(admin(cluster).create_topics, topics, timeout_ms=60_000)
        while "slow" not in cluster.read_state().topics:
            assert not call.done()
        with pytest.raises(TimeoutError):
            call.result(0.2)
        cluster.release()
        results = call.result()
    assert codes(results) == {
        "slow": ErrorCode.NONE,
        "bad": ErrorCode.INVALID_CONFIG,
        "good": ErrorCode.NONE,
    }


def test_the_call_waits_for_leaders_and_then_says_timed_out():
    """A4-42: the slow topic is there all the same."""
    cluster = a_cluster()
    cluster.faults.leaderless_topics = frozenset({"slow"})
    results = admin(cluster).create_topics(
        [a_new_topic("slow"), a_new_topic("bad", retention_ms="x"), a_new_topic("good")],
        timeout_ms=20,
    )
    assert codes(results) == {
        "slow": ErrorCode.REQUEST_TIMED_OUT,
        "bad": ErrorCode.INVALID_CONFIG,
        "good": ErrorCode.NONE,
    }
    assert list(cluster.read_state().topics) == ["good", "slow"]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_without_time_the_seed_only_triggers(timeout_ms: int):
    """A4-43, C-08."""
    cluster = a_cluster()
    results = admin(cluster).create_topics(
        [a_new_topic("good"), a_new_topic("bad", retention_ms="x")], timeout_ms=timeout_ms
    )
    assert codes(results) == {
        "good": ErrorCode.REQUEST_TIMED_OUT,
        "bad": ErrorCode.INVALID_CONFIG,
    }
    assert list(cluster.read_state().topics) == ["good"]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_without_time_kraft_does_nothing(timeout_ms: int):
    """A4-43, C-08."""
    cluster = a_cluster(compat=KRAFT)
    results = admin(cluster).create_topics([a_new_topic("good")], timeout_ms=timeout_ms)
    assert codes(results) == {"good": ErrorCode.REQUEST_TIMED_OUT}
    assert cluster.read_state().topics == {}


def test_the_first_living_replica_leads():
    """A4-44."""
    cluster = a_cluster()
    admin(cluster).create_topics([NewTopic(name="x", assignments=[(0, [2, 1, 3])])])
    (topic,) = admin(cluster).metadata(["x"])
    assert topic.partitions[0].leader == 2
    cluster.fence(2)
    (topic,) = admin(cluster).metadata(["x"])
    assert topic.partitions[0].leader == 1


@pytest.mark.parametrize(
    ("topic", "earlier"),
    [
        pytest.param(
            NewTopic(name="a b", configs={"x": None}), ErrorCode.INVALID_TOPIC_EXCEPTION, id="name"
        ),
        pytest.param(
            NewTopic(name="a.b", configs={"x": "1"}), ErrorCode.TOPIC_ALREADY_EXISTS, id="exists"
        ),
        pytest.param(
            NewTopic(name="x", configs={"y": None, "x": "1"}), ErrorCode.INVALID_CONFIG, id="null"
        ),
        pytest.param(
            NewTopic(name="x", configs={"x": "1"}, assignments=[(0, [9])], num_partitions=1),
            ErrorCode.INVALID_CONFIG,
            id="config",
        ),
        pytest.param(
            NewTopic(name="x", assignments=[(0, [9])], num_partitions=1),
            ErrorCode.INVALID_REQUEST,
            id="either-or",
        ),
    ],
)
@pytest.mark.parametrize("compat", BOTH)
def test_of_two_broken_rules_the_earlier_is_told(
    topic: NewTopic, earlier: ErrorCode, compat: Compat
):
    """A4-48."""
    assert code_of(topic, compat) is earlier


@pytest.mark.parametrize("compat", BOTH)
def test_authorization_is_asked_before_the_name_is_looked_at(compat: Compat):
    """A4-48."""
    cluster = a_guarded_cluster(compat)
    results = admin(cluster, "User:nobody").create_topics([a_new_topic("a b")])
    assert results["a b"].code in (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )


def test_a_batch_beyond_ten_thousand_records_is_refused_whole():
    """A4-03: a topic, its partitions and its configs all count."""
    cluster = a_cluster()
    connection = admin(cluster)
    small = NewTopic(name="small", num_partitions=1, replication_factor=1)
    large = NewTopic(
        name="large", num_partitions=9_997, replication_factor=1, configs={"retention.ms": "1"}
    )
    results = connection.create_topics([small, large])
    assert codes(results) == {
        "small": ErrorCode.POLICY_VIOLATION,
        "large": ErrorCode.POLICY_VIOLATION,
    }
    assert "excessively large batch" in (results["large"].message or "")
    assert cluster.read_state().topics == {}
    assert connection.create_topics([large])["large"].ok
