"""Policies on the embedded brokers: whatever changes a topic is judged, just before it happens."""

import logging
from datetime import date

import pytest
from cluster.clusters import BOTH, ROOT, a_new_topic, admin, cluster_grant, codes, topic_grant
from cluster.policing import Recorder, denying, logged, policed
from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigOp, ConfigResource
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.cluster.embedded.options import AuthorizerKind, Compat
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterStep, AlterTopicRequest
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.policy import BaseTopicPolicy, PolicyViolation, Principal
from kgitops.policy.evaluate.bundle import Level, Waiver

ORDERS = ConfigResource(type="topic", name="orders")
SET, DELETE, APPEND, SUBTRACT = ConfigOp


def configured(cluster: EmbeddedCluster, *operations: AlterConfig, validate_only: bool = False):
    connection = admin(cluster)
    changes = [(ORDERS, operations)]
    return connection.incremental_alter_configs(changes, validate_only=validate_only)[ORDERS]


def undated(cluster: EmbeddedCluster) -> ClusterState:
    """The cluster's state without the second in which it was read."""
    return replace(cluster.read_state(), captured_at="")


def retention(value: str) -> AlterConfig:
    return AlterConfig(key="retention.ms", value=value)


# Every way to change a topic, by its name in Kafka's protocol. Each: how, and whether it has
# validate_only.


def create(cluster, **how) -> RequestResult:
    return admin(cluster).create_topics([a_new_topic("new")], **how)["new"]


def incremental_alter_configs(cluster, **how) -> RequestResult:
    return configured(cluster, retention("1"), **how)


def alter_configs(cluster, **how) -> RequestResult:
    return admin(cluster).alter_configs({ORDERS: {"retention.ms": "1"}}, **how)[ORDERS]


def create_partitions(cluster, **how) -> RequestResult:
    item = NewPartitions(topic="orders", count=6)
    return admin(cluster).create_partitions([item], **how)["orders"]


def alter_partition_reassignments(cluster) -> RequestResult:
    key = "orders", 0
    return admin(cluster).alter_partition_reassignments({key: [3, 1, 2]})[key]


def delete(cluster, **how) -> RequestResult:
    return admin(cluster).delete_topics(["orders"], **how)["orders"]


def delete_by_id(cluster, **how) -> RequestResult:
    topic_id = cluster.read_state().topics["orders"].topic_id
    return admin(cluster).delete_topics(topic_ids=[topic_id], **how)[topic_id]


def delete_records(cluster, **how) -> RequestResult:
    key = "orders", 0
    return admin(cluster).delete_records({key: 4}, **how)[key].result


WAYS = {
    create: "create",
    incremental_alter_configs: "alter",
    alter_configs: "alter",
    create_partitions: "alter",
    alter_partition_reassignments: "alter",
    delete: "delete",
    delete_by_id: "delete",
    delete_records: "delete records",
}
DRY = [way for way in WAYS if way is not alter_partition_reassignments]
ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def with_orders(*policies, **options) -> EmbeddedCluster:
    cluster = policed(*policies, topics=["orders"], **options)
    cluster.produce("orders", 0, records=10, bytes_each=100)
    return cluster


@ways
def test_whatever_changes_a_topic_is_judged_by_one_policy(way):
    """P201-01, P201-08, P201-10, P201-70…75: each API comes to its method, four of them to one."""
    recorder = Recorder()
    cluster = with_orders(recorder)
    assert way(cluster).ok
    assert recorder.methods == [WAYS[way]]
    (call,) = recorder.calls
    assert call.request.topic == ("new" if way is create else "orders")
    assert call.request.principal == Principal("User", "ANONYMOUS")


@pytest.mark.parametrize("compat", BOTH)
@ways
def test_what_a_policy_denies_does_not_happen(way, compat: Compat):
    """P201-04, P201-07, P201-53, P201-55, P201-57, P201-62, P201-64, P201-71…75, P108-12, P108-19:
    44 with the policy's words, and nothing is written.
    """
    cluster = with_orders(denying("why not"), compat=compat)
    before, log = undated(cluster), logged(cluster)
    result = way(cluster)
    assert result.code is ErrorCode.POLICY_VIOLATION
    assert result.code == 44
    silent = compat is Compat.KRAFT and way is delete_records
    assert result.message == (None if silent else "why not")
    assert (undated(cluster), logged(cluster)) == (before, log)
    cluster.controller.policies = None
    cluster.produce("orders", 0, records=0, bytes_each=0)
    assert cluster.read_usage(frozenset({"orders"})).topics["orders"].log_start_offsets[0] == 0


@pytest.mark.parametrize("way", DRY, ids=lambda way: way.__name__)
def test_a_dry_run_is_judged_the_same_and_writes_nothing(way):
    """P201-76, P108-20, P108-24: validate_only has the same verdict, and can be repeated."""
    for policy, code in (
        (Recorder(), ErrorCode.NONE),
        (denying("why not"), ErrorCode.POLICY_VIOLATION),
    ):
        cluster = with_orders(policy)
        before, log = undated(cluster), logged(cluster)
        results = [way(cluster, validate_only=True) for _ in range(2)]
        assert {result.code for result in results} == {code}
        assert {result.message for result in results} == {None if code == 0 else "why not"}
        assert (undated(cluster), logged(cluster)) == (before, log)
        assert policy.methods == [WAYS[way]] * 2
        assert way(cluster).code is code


def test_a_dry_run_is_no_promise():
    """P108-21, P108-23: brokers die meanwhile; each topic is told on its own."""
    recorder = Recorder()
    cluster = policed(recorder)
    topics = [
        NewTopic(name=f"with-{number}", num_partitions=1, replication_factor=number)
        for number in (1, 3)
    ]
    dry = admin(cluster).create_topics(topics, validate_only=True)
    assert codes(dry) == {"with-1": 0, "with-3": 0}
    cluster.fence(3)
    assert codes(admin(cluster).create_topics(topics)) == {
        "with-1": ErrorCode.NONE,
        "with-3": ErrorCode.INVALID_REPLICATION_FACTOR,
    }
    assert list(cluster.read_state().topics) == ["with-1"]
    assert [request.topic for request in recorder.requests] == ["with-1", "with-3", "with-1"]


# What a policy is told


def test_a_creation_is_told_whole_whichever_form_it_had():
    """P201-23, P201-24, P201-30, P201-33, P201-49, P201-52: counts and assignments agree."""
    recorder = Recorder()
    connection = admin(policed(recorder))
    placed = NewTopic(
        name="placed", num_partitions=3, replication_factor=2, configs={"retention.ms": "5"}
    )
    given = NewTopic(name="given", assignments=[(0, [3, 1]), (1, [1, 2])])
    assert all(result.ok for result in connection.create_topics([placed, given]).values())
    first, second = (request.requested_state for request in recorder.requests)
    assert (first.num_partitions, first.replication_factor) == (3, 2)
    assert {len(replicas) for replicas in first.replicas_assignments.values()} == {2}
    assert first.configs == first.requested_configs == {"retention.ms": "5"}
    assert (second.num_partitions, second.replication_factor) == (2, 2)
    assert second.replicas_assignments == {0: (3, 1), 1: (1, 2)}
    assert (first.generated_replica_assignments, second.generated_replica_assignments) == (
        True,
        False,
    )
    assert [state.marked_for_deletion for state in (first, second)] == [False, False]


def test_the_replicas_that_are_judged_are_those_that_are_made():
    """P201-23, P201-34, P108-26: placed before the policy is asked, the same however often."""
    recorder = Recorder()
    cluster = policed(recorder)
    connection = admin(cluster)
    topic = NewTopic(name="orders", num_partitions=6, replication_factor=2)
    for validate_only in (True, True, False):
        connection.create_topics([topic], validate_only=validate_only)
    shown = [request.requested_state.assignment for request in recorder.requests]
    assert shown == [cluster.read_state().topics["orders"].assignment] * 3


def test_defaults_are_resolved_before_a_policy_is_asked():
    """P108-31: it sees numbers, never -1."""
    recorder = Recorder()
    static = {"num.partitions": "4", "default.replication.factor": "3"}
    cluster = policed(recorder, compat=Compat.KRAFT, static_configs=static)
    recorder.calls.clear()
    assert admin(cluster).create_topics([NewTopic(name="orders")])["orders"].ok
    state = recorder.requests[0].requested_state
    assert (state.num_partitions, state.replication_factor) == (4, 3)


def test_the_cluster_is_shown_as_it_was_before():
    """P201-35: a topic is absent while it is created, and there while it is deleted."""
    recorder = Recorder()
    cluster = policed(recorder)
    assert create(cluster).ok
    assert admin(cluster).delete_topics(["new"])["new"].ok
    assert [call.topics for call in recorder.calls] == [{}, {"new": 2}]


@pytest.mark.parametrize(
    ("operation", "configs", "requested"),
    [
        (retention("5"), {"retention.ms": "5", "cleanup.policy": "delete"}, {"retention.ms": "5"}),
        (
            AlterConfig(key="cleanup.policy", value=None, op=DELETE),
            {"retention.ms": "1"},
            {"cleanup.policy": None},
        ),
        (
            AlterConfig(key="cleanup.policy", value="compact", op=APPEND),
            {"retention.ms": "1", "cleanup.policy": "delete,compact"},
            {"cleanup.policy": "delete,compact"},
        ),
        (
            AlterConfig(key="cleanup.policy", value="delete", op=SUBTRACT),
            {"retention.ms": "1", "cleanup.policy": ""},
            {"cleanup.policy": ""},
        ),
    ],
    ids=str,
)
def test_altered_configs_are_told_as_they_will_be(operation, configs, requested):
    """P201-25, P201-26, P201-27, P201-54, P201-71, C-14."""
    recorder = Recorder()
    cluster = policed(recorder)
    admin(cluster).create_topics([a_new_topic(retention_ms="1", cleanup_policy="delete")])
    assert configured(cluster, operation).ok
    state = recorder.requests[-1].requested_state
    assert (state.configs, state.requested_configs) == (configs, requested)
    assert cluster.read_state().topics["orders"].configs == configs
    assert state.generated_replica_assignments is False


def test_the_call_that_replaces_names_only_what_it_sets():
    """P201-29, P201-27: what falls away without a word is missing from ``configs`` alone."""
    recorder = Recorder()
    cluster = policed(recorder)
    admin(cluster).create_topics([a_new_topic(retention_ms="1", cleanup_policy="delete")])
    assert admin(cluster).alter_configs({ORDERS: {"retention.ms": "7"}})[ORDERS].ok
    state = recorder.requests[-1].requested_state
    assert (state.configs, state.requested_configs) == ({"retention.ms": "7"},) * 2


@pytest.mark.parametrize(
    ("assignments", "generated"), [(None, True), ([[1, 2], [2, 3], [3, 1]], False)]
)
def test_more_partitions_are_told_with_those_that_are_there(assignments, generated):
    """P201-31, P201-32, P201-26, P201-72."""
    recorder = Recorder()
    cluster = policed(recorder)
    admin(cluster).create_topics([a_new_topic(retention_ms="1")])
    before = cluster.read_state().topics["orders"].assignment
    item = NewPartitions(topic="orders", count=5, assignments=assignments)
    assert admin(cluster).create_partitions([item])["orders"].ok
    state = recorder.requests[-1].requested_state
    assert state.num_partitions == 5
    assert list(state.replicas_assignments) == [0, 1, 2, 3, 4]
    assert state.assignment[:2] == before
    assert state.assignment == cluster.read_state().topics["orders"].assignment
    assert (state.configs, state.requested_configs) == ({"retention.ms": "1"}, {})
    assert state.generated_replica_assignments is generated


def test_a_reassignment_is_told_once_for_each_topic_and_whole():
    """P201-73, P201-16, P201-32: two partitions of one topic are one alteration, beside what
    stays, and the replicas are the client's choice.
    """
    recorder = Recorder()
    cluster = policed(recorder)
    four = [(partition, [1, 2]) for partition in range(4)]
    topics = [NewTopic(name=name, assignments=four) for name in ("a", "b")]
    admin(cluster).create_topics(topics)
    recorder.calls.clear()
    moves = {("a", 0): [2, 3], ("b", 1): [3], ("a", 3): [3, 1, 2], ("a", 9): [1]}
    results = admin(cluster).alter_partition_reassignments(moves)
    assert list(results) == list(moves)
    assert codes(results) == {
        ("a", 0): ErrorCode.NONE,
        ("b", 1): ErrorCode.NONE,
        ("a", 3): ErrorCode.NONE,
        ("a", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    shown = {request.topic: request.requested_state.assignment for request in recorder.requests}
    assert recorder.methods == ["alter", "alter"]
    assert shown == {
        "a": ((2, 3), (1, 2), (1, 2), (3, 1, 2)),
        "b": ((1, 2), (3,), (1, 2), (1, 2)),
    }
    assert {n: t.assignment for n, t in cluster.read_state().topics.items()} == shown
    states = [request.requested_state for request in recorder.requests]
    assert {state.generated_replica_assignments for state in states} == {False}


def test_a_move_is_told_beside_those_that_still_run():
    """P201-16: the others as they will be."""
    recorder = Recorder()
    cluster = policed(recorder)
    admin(cluster).create_topics([NewTopic(name="orders", assignments=[(0, [1]), (1, [1])])])
    cluster.faults.hold_reassignments = True
    for partition in (0, 1):
        key = "orders", partition
        assert admin(cluster).alter_partition_reassignments({key: [2]})[key].ok
    assert recorder.requests[-1].requested_state.assignment == ((2,), (2,))


@pytest.mark.parametrize("generated", [True, False])
@pytest.mark.parametrize("step", [AlterStep.PARTITIONS, AlterStep.REPLICAS])
def test_the_port_says_whose_choice_the_replicas_are(step: AlterStep, generated: bool):
    """P201-32, P201-34: kgitops places them itself, and brokers judge what a plan judged."""
    recorder = Recorder()
    cluster = policed(recorder, topics=["orders"])
    before = cluster.read_state().topics["orders"]
    more = (*before.assignment, (3, 1)) if step is AlterStep.PARTITIONS else ((1, 2), (3, 2))
    state = RequestedTopicState(
        name="orders",
        topic_id=before.topic_id,
        assignment=more,
        generated_replica_assignments=generated,
    )
    assert before.topic_id
    request = AlterTopicRequest(
        topic="orders", topic_id=before.topic_id, step=step, requested_state=state
    )
    (result,) = cluster.execute([request], validate_only=True, principal="User:a")
    assert result.ok
    assert recorder.requests[0].requested_state == state


def test_a_denied_reassignment_is_told_on_every_partition_of_that_topic():
    """P201-65, P201-73."""
    policy = Recorder(says=lambda request, _: "no" if request.topic == "a" else None)
    cluster = policed(policy, topics=["a", "b"])
    moves = {("a", 0): [1], ("a", 1): [1], ("b", 0): [1]}
    results = admin(cluster).alter_partition_reassignments(moves)
    assert [result.code for result in results.values()] == [44, 44, 0]
    assert [result.message for result in results.values()] == ["no", "no", None]
    topics = cluster.read_state().topics
    assert (1,) not in topics["a"].assignment
    assert topics["b"].assignment[0] == (1,)


def test_cancelling_a_move_is_an_alteration_too():
    """P201-16, P201-73: the target is what policies see while it runs, and what cancelling ends."""
    current: list[tuple | None] = []

    def look(request, cluster):
        topic = cluster.topic_state(request.topic)
        current.append(None if topic is None else topic.assignment)

    recorder = Recorder(says=look)
    cluster = policed(recorder)
    admin(cluster).create_topics([NewTopic(name="orders", assignments=[(0, [1, 2])])])
    cluster.faults.hold_reassignments = True
    key = "orders", 0
    assert admin(cluster).alter_partition_reassignments({key: [2, 3]})[key].ok
    assert configured(cluster, retention("1")).ok
    assert admin(cluster).alter_partition_reassignments({key: None})[key].ok
    moved, altered, cancelled = (request.requested_state for request in recorder.requests[1:])
    assert moved.assignment == altered.assignment == ((2, 3),)
    assert cancelled.assignment == ((1, 2),)
    assert current == [None, ((1, 2),), ((2, 3),), ((2, 3),)]


def test_a_rule_on_any_aspect_holds_on_every_way():
    """P201-02, P201-03, P201-05, P201-06: written once, it sees creations and all alterations."""

    class Survives(BaseTopicPolicy):
        def validate_create_topic(self, request, cluster_state):
            self.check(request.requested_state)

        def validate_alter_topic(self, request, cluster_state):
            self.check(request.requested_state)

        def check(self, state):
            least = int(state.configs.get("min.insync.replicas", "1"))
            if state.replication_factor >= 3 and least < 2:
                raise PolicyViolation("three replicas need min.insync.replicas of 2")
            if state.num_partitions > 4 and int(state.configs.get("retention.ms", "9")) > 5:
                raise PolicyViolation("many partitions need a short retention")

    cluster = policed(Survives())
    connection = admin(cluster)
    topic = NewTopic(
        name="orders",
        num_partitions=2,
        replication_factor=3,
        configs={"min.insync.replicas": "2", "retention.ms": "9"},
    )
    assert connection.create_topics([replace(topic, configs={})])["orders"].code == 44
    assert connection.create_topics([topic])["orders"].ok
    assert configured(cluster, AlterConfig(key="min.insync.replicas", value="1")).code == 44
    assert create_partitions(cluster).code == 44
    assert configured(cluster, retention("3")).ok
    assert create_partitions(cluster).ok
    assert configured(cluster, retention("9")).code == 44
    state = cluster.read_state().topics["orders"]
    assert (state.num_partitions, state.configs["retention.ms"]) == (6, "3")
    two = NewTopic(name="two", assignments=[(0, [1, 2])])
    assert connection.create_topics([two])["two"].ok
    moved = connection.alter_partition_reassignments({("two", 0): [1, 2, 3]})[("two", 0)]
    assert (moved.code, moved.message) == (44, "three replicas need min.insync.replicas of 2")
    assert cluster.read_state().topics["two"].assignment == ((1, 2),)


def test_each_node_judges_with_its_own_configs():
    """P201-40: the controller for topics, the leader for records."""
    recorder = Recorder()
    cluster = policed(
        recorder,
        static_configs={"everyone": "yes"},
        broker_configs={number: {"marker": f"on {number}"} for number in (1, 2, 3)},
    )
    connection = admin(cluster)
    led = [(0, [2, 1]), (1, [3, 1])]
    connection.create_topics([NewTopic(name="orders", assignments=led)])
    for partition in (0, 1):
        cluster.produce("orders", partition, records=10, bytes_each=1)
    recorder.calls.clear()
    assert configured(cluster, retention("1")).ok
    connection.delete_records({("orders", 0): 5, ("orders", 1): 5})
    cluster.fence(1)
    assert configured(cluster, retention("2")).ok
    assert [call.node["marker"] for call in recorder.calls] == ["on 1", "on 2", "on 3", "on 2"]
    assert [call.node["node.id"] for call in recorder.calls] == ["1", "2", "3", "2"]
    assert {call.node["everyone"] for call in recorder.calls} == {"yes"}


# Batches


def test_topics_are_judged_in_order_and_each_on_its_own():
    """P108-17, P108-22, P201-65: good, bad, good are 0, 44, 0."""
    policy = Recorder(says=lambda request, _: "bad" if request.topic == "b" else None)
    cluster = policed(policy)
    results = admin(cluster).create_topics([a_new_topic(name) for name in "cba"])
    assert codes(results) == {"c": 0, "b": 44, "a": 0}
    assert [request.topic for request in policy.requests] == ["c", "b", "a"]
    assert list(cluster.read_state().topics) == ["a", "c"]


def test_every_other_request_goes_on_after_a_denial():
    """P201-65: good, bad, good are 0, 44, 0 wherever a request names several topics."""
    policy = Recorder(says=lambda request, _: "bad" if request.topic == "b" else None)
    cluster = policed(policy, topics=list("abc"))
    connection = admin(cluster)
    for name in "abc":
        cluster.produce(name, 0, records=10, bytes_each=1)
    resources = [ConfigResource(type="topic", name=name) for name in "abc"]
    rows = connection.delete_records({(name, 0): 4 for name in "abc"})
    for results in (
        connection.incremental_alter_configs([(item, [retention("1")]) for item in resources]),
        connection.alter_configs({item: {"retention.ms": "2"} for item in resources}),
        connection.create_partitions([NewPartitions(topic=name, count=5) for name in "abc"]),
        {key: row.result for key, row in rows.items()},
    ):
        assert [int(result.code) for result in results.values()] == [0, 44, 0]
    topics = cluster.read_state().topics
    assert [topics[name].num_partitions for name in "abc"] == [5, 2, 5]
    assert [topics[name].configs.get("retention.ms") for name in "abc"] == ["2", None, "2"]
    usage = cluster.read_usage(frozenset("abc")).topics
    assert [usage[name].log_start_offsets[0] for name in "abc"] == [4, 0, 4]
    assert codes(connection.delete_topics(list("abc"))) == {"a": 0, "b": 44, "c": 0}
    assert list(cluster.read_state().topics) == ["b"]


@pytest.mark.parametrize("validate_only", [True, False])
def test_a_cap_can_not_be_passed_by_a_batch(validate_only: bool):
    """P201-09, P201-41: later topics see the earlier ones that were accepted."""

    def cap(request, cluster):
        total = sum(cluster.topic_state(name).num_partitions for name in cluster.topics())
        asked = request.requested_state.num_partitions
        return f"{total} + {asked} are too many" if total + asked > 10 else None

    policy = Recorder(says=cap)
    topics = [NewTopic(name=name, num_partitions=4, replication_factor=1) for name in "abcd"]
    topics[3] = replace(topics[3], num_partitions=2)
    results = admin(policed(policy)).create_topics(topics, validate_only=validate_only)
    assert codes(results) == {"a": 0, "b": 0, "c": 44, "d": 0}
    assert results["c"].message == "8 + 4 are too many"
    assert [call.topics for call in policy.calls][3] == {"a": 4, "b": 4}


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (NewTopic(name="a b", num_partitions=1, replication_factor=1), 17),
        (NewTopic(name="orders", num_partitions=1, replication_factor=1), 36),
        (NewTopic(name="new", num_partitions=0, replication_factor=1), 37),
        (NewTopic(name="new", num_partitions=1, replication_factor=9), 38),
        (NewTopic(name="new", assignments=[(0, [1, 1])]), 39),
        (replace(a_new_topic("new"), configs={"nonsense": "1"}), 40),
        (NewTopic(name="new", num_partitions=1, assignments=[(0, [1])]), 42),
        (NewTopic(name="new", replication_factor=1, assignments=[(0, [1])]), 42),
        (NewTopic(name="new", num_partitions=1), 42),
        (NewTopic(name="new", replication_factor=1), 42),
    ],
)
def test_what_is_not_correct_never_comes_to_a_policy(topic: NewTopic, code: int):
    """P201-77, P108-18, P108-25: checks come first, also in a dry run."""
    policy = denying()
    cluster = with_orders(policy)
    for validate_only in (True, False):
        result = admin(cluster).create_topics([topic], validate_only=validate_only)[topic.name]
        assert result.code == code
    assert policy.calls == []


def test_alterations_that_can_not_be_made_never_come_to_a_policy():
    """P201-77."""
    policy = denying()
    cluster = with_orders(policy)
    connection = admin(cluster)
    key = "orders", 0
    refused = [
        connection.create_topics([a_new_topic("twice")] * 2)["twice"].code,
        configured(cluster, retention("x")).code,
        configured(cluster, AlterConfig(key="retention.ms", value=None)).code,
        connection.create_partitions([NewPartitions(topic="orders", count=2)])["orders"].code,
        connection.alter_partition_reassignments({key: []})[key].code,
        connection.alter_partition_reassignments({key: None})[key].code,
        connection.delete_topics(["none"])["none"].code,
        connection.delete_records({key: 99})[key].result.code,
    ]
    assert refused == [42, 40, 42, 37, 39, 85, 17, 1]
    assert policy.calls == []


@pytest.mark.parametrize("compat", BOTH)
@ways
def test_who_may_not_ask_never_comes_to_a_policy(way, compat: Compat):
    """P201-78: a policy tells nothing to someone without rights, whose error stays 29 or 31."""
    policy = denying()
    grants = [topic_grant(Operation.DESCRIBE, principal="User:ANONYMOUS")]
    cluster = with_orders(policy, compat=compat, authorizer=AuthorizerKind.ACLS, acls=grants)
    assert way(cluster).code in (
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    )
    assert policy.calls == []


def test_policies_know_who_asks():
    """P201-12, P201-50: what a principal may not, the administrator may."""
    policy = Recorder(
        says=lambda request, _: (
            None if request.principal.name == "root" else f"not for {request.principal}"
        )
    )
    grants = [cluster_grant(Operation.CREATE, principal="User:sales")]
    cluster = policed(policy, authorizer=AuthorizerKind.ACLS, acls=grants)
    refused = admin(cluster, "User:sales").create_topics([a_new_topic("a")])["a"]
    assert (refused.code, refused.message) == (44, "not for User:sales")
    assert admin(cluster, ROOT).create_topics([a_new_topic("a")])["a"].ok


def test_an_internal_topic_is_no_way_round_a_policy():
    """P201-79, P201-20, P201-33: nothing creates topics by itself, and clients can't skip it."""
    policy = denying()
    name = "__consumer_offsets"
    result = admin(policed(policy)).create_topics([a_new_topic(name)])[name]
    assert result.code is ErrorCode.POLICY_VIOLATION
    assert policy.requests[0].requested_state.internal
    connection = admin(policed(policy, topics=[name]))
    resource = ConfigResource(type="topic", name=name)
    more = NewPartitions(topic=name, count=9)
    assert [
        connection.incremental_alter_configs([(resource, [retention("1")])])[resource].code,
        connection.create_partitions([more])[name].code,
        connection.alter_partition_reassignments({(name, 0): [1]})[name, 0].code,
        connection.delete_topics([name])[name].code,
    ] == [ErrorCode.POLICY_VIOLATION] * 4


def test_a_deletion_that_waits_is_shown_and_not_judged_twice():
    """P201-19, P201-38: the topic is marked, and deleting it again is nothing new."""
    recorder = Recorder()
    cluster = with_orders(recorder)
    cluster.faults.hold_deletions = True
    connection = admin(cluster)
    for _ in range(2):
        connection.delete_topics(["orders"], timeout_ms=0)
    assert recorder.methods == ["delete"]
    marks = []
    recorder.says = lambda _, state: marks.append(state.topic_state("orders").marked_for_deletion)
    assert create(cluster).ok
    assert marks == [True]
    assert configured(cluster, retention("1")).ok
    assert recorder.requests[-1].requested_state.marked_for_deletion


# Verdicts


def test_a_violation_without_words_has_no_message():
    """P201-69."""

    class Silent(BaseTopicPolicy):
        def validate_create_topic(self, request, cluster_state):
            raise PolicyViolation

    assert create(policed(Silent())) == RequestResult(code=ErrorCode.POLICY_VIOLATION)


def test_all_words_of_all_policies_are_told():
    assert create(policed(denying("one"), Recorder(), denying("two"))).message == "one; two"


@pytest.mark.parametrize("level", [Level.INFO, Level.ADVISORY])
def test_what_only_informs_refuses_nothing(level: Level):
    policy = denying()
    assert create(policed(policy, level=level)).ok
    assert policy.methods == ["create"]


def test_a_waiver_lifts_a_soft_denial_on_the_brokers_as_well():
    waiver = Waiver(
        name="w",
        policy="policy-0",
        address="topic/new",
        owner="o",
        reason="r",
        ticket="t",
        expires=date(2999, 1, 1),
    )
    for level, code in ((Level.SOFT, 0), (Level.HARD, 44)):
        assert create(policed(denying(), level=level, waivers=[waiver])).code == code


class Breaks(BaseTopicPolicy):
    """Fails on the topic ``b``."""

    def validate_create_topic(self, request, cluster_state):
        if request.topic == "b":
            raise ZeroDivisionError("secret")


def test_a_policy_that_fails_refuses_that_topic_and_tells_the_log(caplog):
    """P201-67, C-28: -1 for one item of three; who asks is not told how it failed."""
    cluster = policed(Breaks())
    with caplog.at_level(logging.INFO):
        results = admin(cluster).create_topics([a_new_topic(name) for name in "abc"])
    assert codes(results) == {"a": 0, "b": ErrorCode.UNKNOWN_SERVER_ERROR, "c": 0}
    assert results["b"].code == -1
    assert results["b"].message == "The policy policy-0 failed; the brokers' log says why."
    (told,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "policy-0 failed on topic/b" in told.getMessage()
    assert "ZeroDivisionError: secret" in told.getMessage()
    assert "Traceback" in caplog.text
    assert list(cluster.read_state().topics) == ["a", "c"]
    assert create(cluster).ok


def test_a_denial_counts_more_than_a_failure():
    """P201-64, P201-67: the words are those of the policy that could say something."""

    class AlwaysBreaks(BaseTopicPolicy):
        def validate_create_topic(self, request, cluster_state):
            raise ZeroDivisionError("secret")

    result = create(policed(AlwaysBreaks(), denying("why")))
    assert (result.code, result.message) == (ErrorCode.POLICY_VIOLATION, "why")
    assert create(policed(AlwaysBreaks(), level=Level.ADVISORY)).ok


# Versions


def test_the_first_version_of_create_topics_has_the_code_without_words():
    """P108-13, P108-14, P108-15, P108-16, C-12, C-30: no remapping here, and no dry run."""
    cluster = policed(denying("why"))
    connection = admin(cluster)
    answers = {
        version: connection.create_topics([a_new_topic("new")], version=version)["new"]
        for version in (0, 1)
    }
    assert [(answer.code, answer.message) for answer in answers.values()] == [
        (44, None),
        (44, "why"),
    ]
    dry = connection.create_topics([a_new_topic("new")], version=0, validate_only=True)["new"]
    assert dry.code is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("version", [0, 1, 2])
def test_older_versions_of_delete_topics_do_not_speak_of_policies(version: int, caplog):
    """P201-103, P201-104, P201-105, C-12: -1 without words, and the log tells the truth."""
    cluster = with_orders(denying("why not"))
    with caplog.at_level(logging.ERROR):
        result = admin(cluster).delete_topics(["orders"], version=version)["orders"]
    if version < 2:
        assert result == RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR)
        assert "orders" in caplog.text
        assert "why not" in caplog.text
    else:
        assert (result.code, result.message) == (ErrorCode.POLICY_VIOLATION, "why not")
        assert not caplog.records
    assert "orders" in cluster.read_state().topics
    dry = admin(cluster).delete_topics(["orders"], version=version, validate_only=True)["orders"]
    assert dry.code == (35 if version < 2 else 44)


@pytest.mark.parametrize("version", [0, 1])
def test_the_first_version_of_delete_records_does_not_speak_of_policies(version: int, caplog):
    """P201-106, P201-107, P201-108, C-12."""
    cluster = with_orders(denying("why not"))
    key = "orders", 0
    with caplog.at_level(logging.ERROR):
        row = admin(cluster).delete_records({key: 4}, version=version)[key]
    if version == 0:
        assert row.result == RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR)
        assert "orders" in caplog.text
        assert "why not" in caplog.text
    else:
        assert (row.result.code, row.result.message) == (44, "why not")
        assert not caplog.records
    assert row.low_watermark == -1
    dry = admin(cluster).delete_records({key: 4}, version=version, validate_only=True)[key]
    assert dry.result.code == (35 if version == 0 else 44)


def test_kraft_has_no_dry_run_of_deletions_and_late_words():
    """P201-111, C-22: none of KIP-201's versions shipped, so KRaft's are followed there."""
    cluster = with_orders(denying("why not"), compat=Compat.KRAFT)
    connection = admin(cluster)
    key = "orders", 0
    for version in (2, 6):
        dry = connection.delete_topics(["orders"], version=version, validate_only=True)["orders"]
        assert dry.code is ErrorCode.UNSUPPORTED_VERSION
    words = {
        version: connection.delete_topics(["orders"], version=version)["orders"].message
        for version in (2, 4, 5, 6)
    }
    assert words == {2: None, 4: None, 5: "why not", 6: "why not"}
    dry_row = connection.delete_records({key: 4}, version=2, validate_only=True)[key]
    assert dry_row.result.code is ErrorCode.UNSUPPORTED_VERSION
    assert connection.delete_records({key: 4}, version=2)[key].result == RequestResult(
        code=ErrorCode.POLICY_VIOLATION
    )
