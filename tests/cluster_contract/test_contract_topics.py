"""Topics, as every cluster changes them."""

import re
from collections.abc import Mapping, Sequence

import pytest
from cluster_contract.contract import (
    PRINCIPAL,
    alteration,
    await_state,
    can_judge,
    created,
    creation,
    done,
    judge,
    refused,
    send,
)

from kgitops.cluster.port import Cluster
from kgitops.model.requests import AlterStep, DeleteRecordsRequest, DeleteTopicRequest, Request
from kgitops.model.resources.topics import TopicState
from kgitops.model.results import ErrorCode

pytestmark = pytest.mark.default_kafka

CONFIGS, PARTITIONS, REPLICAS = AlterStep.CONFIGS, AlterStep.PARTITIONS, AlterStep.REPLICAS


def deletion(topic: TopicState) -> DeleteTopicRequest:
    assert topic.topic_id is not None
    return DeleteTopicRequest(topic=topic.name, topic_id=topic.topic_id)


def records_deletion(topic: TopicState, **offsets: int) -> DeleteRecordsRequest:
    assert topic.topic_id is not None
    return DeleteRecordsRequest(
        topic=topic.name,
        topic_id=topic.topic_id,
        deleted_message_offsets={int(key[1:]): offset for key, offset in offsets.items()},
    )


def assert_refused(cluster: Cluster, cases: Mapping[ErrorCode, Sequence[Request]]) -> None:
    """Each request fails with its code, and what is refused changes nothing for the next."""
    told = {code: [refused(cluster, request) for request in cases[code]] for code in cases}
    assert told == {code: [code] * len(requests) for code, requests in cases.items()}


def test_a_topic_is_created_as_requested(cluster: Cluster):
    """A4-37, A4-39, A4-44: replicas in their order."""
    request = creation("orders", ((2, 1), (3, 2)), {"retention.ms": "1000"})
    assert judge(cluster, request) is ErrorCode.NONE
    result = send(cluster, request)
    topic = await_state(cluster, lambda state: "orders" in state.topics).topics["orders"]
    assert topic == TopicState(
        name="orders",
        topic_id=result.topic_id,
        assignment=((2, 1), (3, 2)),
        configs={"retention.ms": "1000"},
    )
    assert re.fullmatch("[A-Za-z0-9_-]{22}", result.topic_id or "")


def test_replicas_that_kgitops_placed_stand_where_the_plan_said(cluster: Cluster):
    """P201-34: nothing is left to the brokers' own placement, for a plan is what is done."""
    wanted = ((3, 1), (1, 2), (3, 1))
    request = creation("orders", wanted, generated=True)
    assert judge(cluster, request) is ErrorCode.NONE
    state = done(cluster, request, lambda state: "orders" in state.topics)
    assert state.topics["orders"].assignment == wanted
    grown = (*wanted, (2, 1), (2, 1))
    request = alteration(state.topics["orders"], PARTITIONS, assignment=grown)
    done(cluster, request, lambda state: state.topics["orders"].assignment == grown)


def test_what_can_not_be_created(cluster: Cluster):
    """A4-09…15, A4-45: too few brokers (A4-13) as an assignment tells it."""
    created(cluster, "taken")
    created(cluster, "a.b")
    cases = {
        ErrorCode.TOPIC_ALREADY_EXISTS: [creation("taken", ((1,),))],
        ErrorCode.INVALID_TOPIC_EXCEPTION: [creation("a b", ((1,),)), creation("a_b", ((1,),))],
        ErrorCode.INVALID_REPLICA_ASSIGNMENT: [
            creation("x", ((1, 1),)),
            creation("x", ((1, 99),)),
            creation("x", ((1, 2), (3,))),
            creation("x", ((1, 2, 3, 4),), generated=True),
        ],
        ErrorCode.INVALID_CONFIG: [
            creation("x", ((1,),), {"retention.ms": "soon"}),
            creation("x", ((1,),), {"no.such.config": "1"}),
        ],
    }
    assert_refused(cluster, cases)


def test_results_are_in_order_and_one_failure_hides_no_other(cluster: Cluster):
    """A4-05, A4-46, A4-50: each request has one result."""
    requests = [creation("a"), creation("b", configs={"retention.ms": "soon"}), creation("c")]
    results = cluster.execute(requests, validate_only=False, principal=PRINCIPAL)
    assert [result.ok for result in results] == [True, False, True]
    assert results[1].message
    await_state(cluster, lambda state: state.topics.keys() == {"a", "c"})


def test_an_empty_batch_is_answered_so(cluster: Cluster):
    """A4-08."""
    for validate_only in (True, False):
        assert not cluster.execute([], validate_only=validate_only, principal=PRINCIPAL)


def test_what_is_asked_twice_in_a_batch_is_answered_twice(cluster: Cluster):
    """A4-31, C-02: an object never stands twice in one request of Kafka's, which refuses that."""
    results = cluster.execute([creation(), creation()], validate_only=False, principal=PRINCIPAL)
    codes = [result.code for result in results]
    assert codes == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]
    topic = await_state(cluster, lambda state: "orders" in state.topics).topics["orders"]
    assert topic.topic_id == results[0].topic_id
    results = cluster.execute([deletion(topic)] * 2, validate_only=False, principal=PRINCIPAL)
    codes = [result.code for result in results]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]


def test_no_topic_of_a_batch_hides_what_became_of_another(cluster: Cluster):
    """A4-05: of three, one is gone, one is refused and one is altered."""
    topics = [created(cluster, name) for name in ("gone", "refused", "altered")]
    done(cluster, deletion(topics[0]), lambda state: "gone" not in state.topics)
    values = ("1", "soon", "1")
    requests = [
        alteration(topic, CONFIGS, configs={"retention.ms": value})
        for topic, value in zip(topics, values, strict=True)
    ]
    for validate_only in (True, False):
        results = cluster.execute(requests, validate_only=validate_only, principal=PRINCIPAL)
        assert [result.code for result in results] == [
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.INVALID_CONFIG,
            ErrorCode.NONE,
        ]
    state = await_state(cluster, lambda state: bool(state.topics["altered"].configs))
    assert not state.topics["refused"].configs


def test_configs_are_set_and_removed_and_others_left_alone(cluster: Cluster):
    """A4-74, A4-77, P201-27, C-31: after a dry run, which every version of Kafka's has."""
    topic = created(cluster, "orders", retention_ms="1000", cleanup_policy="compact")
    request = alteration(topic, CONFIGS, configs={"retention.ms": None, "segment.bytes": "1048576"})
    assert judge(cluster, request) is ErrorCode.NONE
    after = {"cleanup.policy": "compact", "segment.bytes": "1048576"}
    done(cluster, request, lambda state: state.topics["orders"].configs == after)
    # Once more is the same.
    assert send(cluster, request).ok
    assert cluster.read_state().topics["orders"].configs == after


@pytest.mark.parametrize(
    ("step", "cases"),
    [
        (
            CONFIGS,
            {
                ErrorCode.INVALID_CONFIG: [
                    {"retention.ms": "soon"},
                    {"segment.bytes": "1048576", "no.such.config": "1"},
                ]
            },
        ),
        (
            PARTITIONS,
            {
                ErrorCode.INVALID_PARTITIONS: [((1, 2),)],
                ErrorCode.INVALID_REPLICA_ASSIGNMENT: [
                    ((1, 2), (2, 3), (1,)),
                    ((1, 2), (2, 3), (1, 99)),
                ],
            },
        ),
        (
            REPLICAS,
            {
                ErrorCode.INVALID_REPLICA_ASSIGNMENT: [
                    ((1, 99), (2, 3)),
                    ((1, 1), (2, 3)),
                    ((), (2, 3)),
                ]
            },
        ),
    ],
    ids=["configs", "partitions", "replicas"],
)
def test_alterations_that_can_not_be(cluster: Cluster, step: AlterStep, cases):
    """A4-71, A4-72, A4-75, A4-80, C-07: one bad config fails all of the topic."""
    topic = created(cluster, "orders")
    word = "configs" if step is CONFIGS else "assignment"
    requests = {
        code: [alteration(topic, step, **{word: item}) for item in items]
        for code, items in cases.items()
    }
    assert_refused(cluster, requests)


def test_partitions_are_added_as_requested(cluster: Cluster):
    """A4-71, A4-72."""
    topic = created(cluster, "orders")
    wanted = (*topic.assignment, (3, 1), (1, 2))
    request = alteration(topic, PARTITIONS, assignment=wanted)
    assert judge(cluster, request) is ErrorCode.NONE
    done(cluster, request, lambda state: state.topics["orders"].assignment == wanted)
    # The count is a total, so the same request is not the same again.
    assert refused(cluster, request) is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize(
    "wanted",
    [((2, 1), (2, 3)), ((3, 1), (1, 3)), ((1, 2, 3), (2, 3, 1)), ((1,), (2,))],
    ids=["leader", "move", "more", "fewer"],
)
def test_replicas_move_where_they_are_wanted(cluster: Cluster, wanted):
    """A4-80."""
    topic = created(cluster, "orders")
    done(
        cluster,
        alteration(topic, REPLICAS, assignment=wanted),
        lambda state: (
            state.topics["orders"].assignment == wanted and not state.topics["orders"].reassigning
        ),
    )


def test_a_topic_is_deleted_by_its_id(cluster: Cluster):
    """A4-62, C-03."""
    topic, other = created(cluster, "orders"), created(cluster, "other")
    if can_judge(cluster, deletion(topic)):
        assert judge(cluster, deletion(topic)) is ErrorCode.NONE
    state = done(cluster, deletion(topic), lambda state: "orders" not in state.topics)
    assert state.topics == {"other": other}
    assert refused(cluster, deletion(topic)) is ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_made_anew_under_the_name_is_not_touched(cluster: Cluster):
    """A4-69b: the worst day is a topic deleted by accident."""
    old = created(cluster, "orders")
    done(cluster, deletion(old), lambda state: "orders" not in state.topics)
    new = created(cluster, "orders")
    assert new.topic_id != old.topic_id
    for request in (
        deletion(old),
        records_deletion(old, p0=0),
        alteration(old, CONFIGS, configs={"retention.ms": "1"}),
        alteration(old, PARTITIONS, assignment=(*old.assignment, (1, 2))),
        alteration(old, REPLICAS, assignment=((3, 1), (1, 3))),
    ):
        assert refused(cluster, request) is ErrorCode.UNKNOWN_TOPIC_ID
    assert cluster.read_state().topics["orders"] == new


@pytest.mark.parametrize(
    ("offset", "code"), [(0, ErrorCode.NONE), (1, ErrorCode.OFFSET_OUT_OF_RANGE)]
)
def test_records_are_deleted_within_what_is_there(cluster: Cluster, offset: int, code: ErrorCode):
    """A4-81: nothing was ever written."""
    topic = created(cluster, "orders")
    request = records_deletion(topic, p0=offset)
    if can_judge(cluster, request):
        assert judge(cluster, request) is code
    assert send(cluster, request).code is code


def test_a_compacted_topic_keeps_its_records(cluster: Cluster):
    """A4-81, C-26."""
    topic = created(cluster, "orders", cleanup_policy="compact")
    assert refused(cluster, records_deletion(topic, p0=0)) is ErrorCode.POLICY_VIOLATION
