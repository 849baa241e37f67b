"""Requests that are sent to a real cluster, and those that never are."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from cluster.kafka.read.test_read_usage import produce
from cluster_contract.contract import (
    alteration,
    await_state,
    binding,
    created,
    creation,
    done,
    send,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.answers import result_of
from kgitops.cluster.kafka.write import records as write_records
from kgitops.cluster.kafka.write.batches import MOST_RECORDS, PlannedTopic, split_batches
from kgitops.model import requests as req
from kgitops.model.resources.topics import TopicState
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.sandbox.sandbox import Sandbox

on_kafka = pytest.mark.kafka


def records_deletion(topic: TopicState, offsets: dict[int, int]) -> req.DeleteRecordsRequest:
    return req.DeleteRecordsRequest(
        topic=topic.name, topic_id=topic.topic_id or "", deleted_message_offsets=offsets
    )


@on_kafka
def test_a_dry_run_that_kafka_does_not_have_is_never_sent(kafka_cluster: KafkaCluster) -> None:
    """C-22, A4-80, A4-96: sent all the same, each of these would be the real thing."""
    topic = created(kafka_cluster)
    assert topic.topic_id
    requests: Sequence[req.Request] = (
        req.DeleteTopicRequest(topic=topic.name, topic_id=topic.topic_id),
        records_deletion(topic, {0: 0}),
        req.CreateAclRequest(binding=binding()),
        req.DeleteAclRequest(binding=binding()),
        alteration(topic, req.AlterStep.REPLICAS, assignment=((3, 1), (1, 2))),
    )
    before = dict(kafka_cluster.wire.sent)
    for request in requests:
        with pytest.raises(ValueError, match="Kafka has no validate_only"):
            send(kafka_cluster, request, validate_only=True)
        with pytest.raises(ValueError, match="Kafka has no validate_only"):
            kafka_cluster.execute(
                [creation("new"), request], validate_only=True, principal="User:a"
            )
    assert dict(kafka_cluster.wire.sent) == before


@on_kafka
def test_more_partitions_than_a_controller_takes_never_reach_it(
    kafka_cluster: KafkaCluster,
) -> None:
    """Kafka 4 answers that with UNKNOWN_SERVER_ERROR, and makes the first 10,000 all the same."""
    topic = created(kafka_cluster)
    wanted = (*topic.assignment, *(((1, 2),) * (MOST_RECORDS + 1)))
    request = alteration(topic, req.AlterStep.PARTITIONS, assignment=wanted)
    for validate_only in (True, False):
        result = send(kafka_cluster, request, validate_only=validate_only)
        assert result.code is ErrorCode.POLICY_VIOLATION
    assert kafka_cluster.wire.sent["CreatePartitions"] == 0


@on_kafka
def test_records_go_where_their_leaders_are_though_one_has_moved(
    kafka: Sandbox, kafka_cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A4-81. The first look is a fake that takes each leader for another one."""
    request = creation("orders", ((1,), (2,), (3,)))
    state = done(kafka_cluster, request, lambda state: "orders" in state.topics)
    for partition in range(3):
        produce(kafka, "orders", partition, 3)
    find_topics = write_records.find_topics
    looks = []

    def outdated_at_first(*words: object) -> Sequence[PlannedTopic | RequestResult]:
        found = find_topics(*words)  # type: ignore[arg-type]
        looks.append(found)
        if len(looks) > 1:
            return found
        return [
            replace(topic, leaders={0: 2, 1: 2, 2: 3}) if isinstance(topic, PlannedTopic) else topic
            for topic in found
        ]

    monkeypatch.setattr(write_records, "find_topics", outdated_at_first)
    deletion = records_deletion(state.topics["orders"], {0: 1, 1: 2, 2: -1})
    assert send(kafka_cluster, deletion) == OK
    assert len(looks) == 2
    orders = frozenset({"orders"})

    def starts() -> tuple[int | None, ...]:
        return kafka_cluster.read_usage(orders).topics["orders"].log_start_offsets

    await_state(kafka_cluster, lambda _: starts() == (1, 2, 3))


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (0, "fine", "ok"),
        (44, "No, says Ada", "POLICY_VIOLATION (44): No, says Ada"),
        (29, None, "TOPIC_AUTHORIZATION_FAILED (29)"),
        (36, "", "TOPIC_ALREADY_EXISTS (36)"),
        (94, "odd", "UNKNOWN_SERVER_ERROR (-1): error 94 (INCONSISTENT_VOTER_SET): odd"),
        (9999, None, "UNKNOWN_SERVER_ERROR (-1): error 9999 (UNKNOWN)"),
    ],
)
def test_answers_keep_their_code_and_words(code: int, message: str | None, expected: str) -> None:
    """Spec §7: what kgitops does not know counts as an unknown error of the server."""
    assert str(result_of(code, message)) == expected


@given(
    st.lists(st.tuples(st.integers(0, 3 * MOST_RECORDS), st.integers(0, 9)), max_size=30).map(tuple)
)
def test_batches_keep_everything_in_order_within_what_a_controller_takes(
    items: tuple[tuple[int, int], ...],
) -> None:
    """A4-03: what is too large by itself goes alone, and no object stands in a request twice."""
    pieces = list(split_batches(items, weight=lambda item: item[0], key=lambda item: item[1]))
    assert [item for piece in pieces for item in piece] == list(items)
    for piece in pieces:
        assert len(piece) == len({key for _, key in piece})
        assert len(piece) == 1 or sum(size for size, _ in piece) <= MOST_RECORDS
    for piece, following in pairwise(pieces):
        fits = sum(size for size, _ in (*piece, following[0])) <= MOST_RECORDS
        assert not fits or following[0][1] in {key for _, key in piece}
