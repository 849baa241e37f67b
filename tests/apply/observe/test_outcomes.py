"""Recognizing a request's result: never before it exists, always once it does."""

from collections.abc import Mapping

import pytest
from apply.plans import open_cluster, prepare
from builders import a_cluster, a_quota_state, a_topic_state, an_entity
from msgspec.structs import replace
from used import used

from kgitops.apply.effects import is_under_way, is_visible
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState, TopicUsage
from kgitops.model.resources.topics import (
    FOLLOWER_RATE,
    LEADER_RATE,
    RequestedTopicState,
    TopicState,
)
from kgitops.model.results import OK, RequestResult


def test_each_planned_request_is_visible_after_it_was_carried_out_and_not_before() -> None:
    cluster = open_cluster()
    plan = prepare(cluster)
    seen = set()
    for planned in plan.requests:
        request = planned.request
        assert not is_visible(request, used(cluster)), planned.id
        (answer,) = cluster.execute([request], validate_only=False, principal="User:kgitops")
        assert answer.ok, answer
        assert is_visible(request, used(cluster)), planned.id
        assert is_visible(request, used(cluster), answer), planned.id
        seen.add(req.api_name(request))
    assert seen == {
        "CreateTopic",
        "AlterTopic",
        "DeleteTopic",
        "DeleteRecords",
        "CreateAcl",
        "DeleteAcl",
        "AlterClientQuota",
    }


REQUESTED = RequestedTopicState(
    name="orders",
    topic_id=None,
    assignment=((1, 2), (2, 3)),
    configs={"retention.ms": "1000"},
    requested_configs={"retention.ms": "1000"},
)
CREATE = req.CreateTopicRequest(topic="orders", requested_state=REQUESTED)
CREATED = a_topic_state(
    "orders", assignment=REQUESTED.assignment, configs={"retention.ms": "1000"}, topic_id="minted"
)
REPLY = RequestResult(topic_id="minted")


@pytest.mark.parametrize(
    "topic",
    [
        replace(CREATED, assignment=((1, 2),)),
        replace(CREATED, assignment=((1, 2), (2, 1))),
        replace(CREATED, configs={}),
        replace(CREATED, configs={"retention.ms": "1001"}),
        replace(CREATED, configs={"retention.ms": "1000", "max.message.bytes": "1"}),
        replace(CREATED, marked_for_deletion=True),
        replace(CREATED, name="other"),
    ],
)
def test_without_a_reply_only_exactly_the_requested_topic_counts_as_created(
    topic: TopicState,
) -> None:
    assert is_visible(CREATE, a_cluster(CREATED))
    assert not is_visible(CREATE, a_cluster(topic))


def test_with_a_reply_a_topic_of_another_id_is_not_the_created_one() -> None:
    assert is_visible(CREATE, a_cluster(CREATED), REPLY)
    assert not is_visible(CREATE, a_cluster(replace(CREATED, topic_id="another")), REPLY)


def test_with_a_reply_configs_that_the_cluster_adds_do_not_hide_the_topic() -> None:
    added = replace(CREATED, configs={"retention.ms": "1000", "vendor.added": "1"})
    assert is_visible(CREATE, a_cluster(added), REPLY)


def test_replicas_that_kgitops_placed_are_told_from_others_as_declared_ones_are() -> None:
    """Decision 0011: they are sent as well, so a topic placed otherwise is somebody else's."""
    placed = replace(REQUESTED, generated_replica_assignments=True)
    request = req.CreateTopicRequest(topic="orders", requested_state=placed)
    assert is_visible(request, a_cluster(CREATED))
    assert not is_visible(request, a_cluster(replace(CREATED, assignment=((3, 1), (1, 2)))))


def _alter(step: req.AlterStep, **state: object) -> req.AlterTopicRequest:
    requested = replace(REQUESTED, topic_id="minted", **state)
    return req.AlterTopicRequest(
        topic="orders", topic_id="minted", step=step, requested_state=requested
    )


def test_configs_are_visible_when_every_named_key_is_as_asked() -> None:
    request = _alter(
        req.AlterStep.CONFIGS,
        requested_configs={"cleanup.policy": "compact,delete", "retention.ms": None},
    )
    done = a_cluster(replace(CREATED, configs={"cleanup.policy": "delete,compact", "other": "1"}))
    assert is_visible(request, done)
    for configs in (
        {},
        {"cleanup.policy": "compact"},
        {"cleanup.policy": "compact,delete", "retention.ms": "1000"},
    ):
        assert not is_visible(request, a_cluster(replace(CREATED, configs=configs)))


@pytest.mark.parametrize("step", [req.AlterStep.PARTITIONS, req.AlterStep.REPLICAS])
def test_a_placement_is_visible_when_every_replica_stands_where_asked(step: req.AlterStep) -> None:
    request = _alter(step, assignment=((2, 1), (2, 3)))
    assert is_visible(request, a_cluster(replace(CREATED, assignment=((2, 1), (2, 3)))))
    assert not is_visible(request, a_cluster(CREATED))
    assert not is_visible(request, a_cluster(replace(CREATED, assignment=((2, 1),))))


def test_a_reassignment_is_done_once_the_data_is_copied() -> None:
    """P201-16: meanwhile the state already shows the target."""
    request = _alter(req.AlterStep.REPLICAS, assignment=((2, 1), (2, 3)))
    moving = replace(CREATED, assignment=((2, 1), (2, 3)), reassigning=True)
    assert not is_visible(request, a_cluster(moving))
    assert is_under_way(request, a_cluster(moving))
    assert not is_under_way(request, a_cluster(replace(moving, reassigning=False)))
    assert not is_under_way(request, a_cluster(replace(moving, topic_id="another")))
    elsewhere = replace(moving, assignment=((2, 1), (1, 3)))
    assert not is_under_way(request, a_cluster(elsewhere))


def test_a_throttle_is_visible_on_its_broker_alone() -> None:
    request = req.AlterBrokerRequest(broker=2, configs={LEADER_RATE: "7", FOLLOWER_RATE: None})
    cases: list[tuple[Mapping[str, str] | None, bool]] = [
        ({LEADER_RATE: "7"}, True),
        ({LEADER_RATE: "7", FOLLOWER_RATE: "7"}, False),
        ({LEADER_RATE: "8"}, False),
        ({}, False),
        (None, False),
    ]
    for throttles, visible in cases:
        brokers = [Broker(id=1, throttles={LEADER_RATE: "7"}), Broker(id=2, throttles=throttles)]
        assert is_visible(request, a_cluster(brokers=brokers)) is visible
    assert not is_visible(request, a_cluster(brokers=1))


@pytest.mark.parametrize("step", req.AlterStep)
def test_no_alteration_is_visible_on_a_topic_made_anew(step: req.AlterStep) -> None:
    request = _alter(step)
    assert is_visible(request, a_cluster(CREATED))
    assert not is_visible(request, a_cluster(replace(CREATED, topic_id="another")))
    assert not is_visible(request, a_cluster())


def test_a_topic_is_deleted_when_its_id_is_gone() -> None:
    request = req.DeleteTopicRequest(topic="orders", topic_id="minted")
    assert is_visible(request, a_cluster())
    assert is_visible(request, a_cluster(replace(CREATED, topic_id="another")))
    assert not is_visible(request, a_cluster(CREATED))
    assert not is_visible(request, a_cluster(replace(CREATED, marked_for_deletion=True)))


DELETE_RECORDS = req.DeleteRecordsRequest(
    topic="orders", topic_id="minted", deleted_message_offsets={1: 40}
)


def _log_starts(*starts: int | None) -> ClusterState:
    return a_cluster(CREATED, usage={"orders": TopicUsage(log_start_offsets=starts)})


def test_records_are_gone_when_every_log_starts_at_or_after_the_offset() -> None:
    assert is_visible(DELETE_RECORDS, _log_starts(0, 40))
    assert is_visible(DELETE_RECORDS, _log_starts(0, 41))
    assert not is_visible(DELETE_RECORDS, _log_starts(0, 39))
    assert not is_visible(DELETE_RECORDS, _log_starts(0, 39), OK)


@pytest.mark.parametrize(
    "state", [_log_starts(0, None), _log_starts(0), a_cluster(CREATED)], ids=["none", "short", "no"]
)
def test_offsets_that_cannot_be_read_prove_nothing_but_do_not_contradict_the_leader(
    state: ClusterState,
) -> None:
    assert not is_visible(DELETE_RECORDS, state)
    assert is_visible(DELETE_RECORDS, state, OK)


def test_quotas_are_visible_when_every_named_key_is_as_asked() -> None:
    entity = an_entity(user="billing")
    request = req.AlterClientQuotaRequest(
        entity=entity, quotas={"producer_byte_rate": 1.0, "consumer_byte_rate": None}
    )
    assert is_visible(request, a_cluster(a_quota_state(entity, producer_byte_rate=1)))
    both = a_quota_state(entity, producer_byte_rate=1, consumer_byte_rate=2)
    for state in (a_cluster(), a_cluster(both), a_cluster(a_quota_state(entity))):
        assert not is_visible(request, state)


def test_removing_the_last_quota_is_visible_when_the_entity_is_gone() -> None:
    entity = an_entity(user="billing")
    request = req.AlterClientQuotaRequest(entity=entity, quotas={"producer_byte_rate": None})
    assert is_visible(request, a_cluster())


def test_records_deleted_on_the_cluster_are_visible() -> None:
    cluster: EmbeddedCluster = open_cluster()
    cluster.execute([CREATE], validate_only=False, principal="User:kgitops")
    cluster.produce("orders", 1, records=100, bytes_each=1)
    topic_id = cluster.read_state().topics["orders"].topic_id or ""
    request = replace(DELETE_RECORDS, topic_id=topic_id)
    assert not is_visible(request, used(cluster))
    (answer,) = cluster.execute([request], validate_only=False, principal="User:kgitops")
    assert answer.ok
    assert is_visible(request, used(cluster))
