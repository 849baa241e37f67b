"""Requests as they go over the wire, recorded by a wire that sends nothing."""

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest
from cluster_contract.contract import creation
from kafka.protocol.admin import DeleteRecordsRequest as LeaderRequest
from kafka.protocol.admin import DeleteRecordsResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

import kgitops
from kgitops.cluster.kafka.protocol_values import uuid_from_text
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import MOST_RECORDS
from kgitops.cluster.kafka.write.quotas import alter_quotas
from kgitops.cluster.kafka.write.records import delete_records
from kgitops.cluster.kafka.write.topics import create_partitions, create_topics, delete_topics
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterStep,
    AlterTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
)
from kgitops.model.resources.quotas import make_entity
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.results import ErrorCode, RequestResult

TOPIC_ID = "5L6g3nShTeMCtKA8X86swQ"


class _SeenError(Exception):
    """The request that would have gone out."""


class _SendsNothing:
    """A fake: it stops at the first request that changes something."""

    def send(self, request: object, **_: object) -> NoReturn:
        raise _SeenError(request)


@pytest.mark.parametrize(
    "write",
    [
        lambda wire: create_topics(wire, [creation()], validate_only=False),
        lambda wire: create_topics(wire, [creation()], validate_only=True),
        lambda wire: delete_topics(wire, [DeleteTopicRequest(topic="orders", topic_id=TOPIC_ID)]),
    ],
    ids=["create", "dry run", "delete"],
)
def test_brokers_are_given_time(write: Callable[[Wire], object]) -> None:
    """K-03, A4-43, C-08: KRaft drops what has none, so that nothing would be done."""
    with pytest.raises(_SeenError) as seen:
        write(_SendsNothing())  # type: ignore[arg-type]
    assert seen.value.args[0].timeout_ms > 0


class _OneLeader:
    """A fake: a topic with one partition, whose leader deletes nothing and answers a code."""

    def __init__(self, code: ErrorCode) -> None:
        self._code = code

    def send(self, request: object, **_: object) -> Message:
        if isinstance(request, MetadataRequest):
            partition = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
                partition_index=0, leader_id=1, replica_nodes=[1]
            )
            topic = MetadataResponse.MetadataResponseTopic(
                name="orders",
                error_code=0,
                topic_id=uuid_from_text(TOPIC_ID),
                partitions=[partition],
            )
            return MetadataResponse(topics=[topic])
        assert isinstance(request, LeaderRequest)
        result = DeleteRecordsResponse.DeleteRecordsTopicResult
        row = result.DeleteRecordsPartitionResult(partition_index=0, error_code=self._code)
        return DeleteRecordsResponse(topics=[result(name="orders", partitions=[row])])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.POLICY_VIOLATION, "The topic's cleanup.policy does not let records be deleted."),
        (ErrorCode.OFFSET_OUT_OF_RANGE, "Partition 0 has no offset 7."),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "Records of an internal topic can not be deleted."),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no partition 0."),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None),
    ],
)
def test_a_leader_has_codes_and_kgitops_the_words(code: ErrorCode, words: str | None) -> None:
    """A4-81, C-26: 44 is no policy's here."""
    request = DeleteRecordsRequest(
        topic="orders", topic_id=TOPIC_ID, deleted_message_offsets={0: 7}
    )
    (result,) = delete_records(_OneLeader(code), [request])  # type: ignore[arg-type]
    assert result == RequestResult(code=code, message=words)


def test_a_batch_that_no_controller_takes_has_a_controllers_answer() -> None:
    """C-26, A4-03: 44 is no policy's here either; nothing but the look goes out."""
    request = AlterTopicRequest(
        topic="orders",
        topic_id=TOPIC_ID,
        step=AlterStep.PARTITIONS,
        requested_state=RequestedTopicState(
            name="orders", topic_id=TOPIC_ID, assignment=((1,),) * (MOST_RECORDS + 2)
        ),
    )
    wire = _OneLeader(ErrorCode.NONE)
    (result,) = create_partitions(wire, [request], validate_only=False)  # type: ignore[arg-type]
    assert str(result) == (
        "POLICY_VIOLATION (44): Unable to perform excessively large batch operation."
    )


ENTITIES = [
    {"user": "CN=orders,O=Example, Inc.+OU=50% /é"},
    {"user": "a%2Cb%25", "client-id": "c d&e=%41"},
    {"user": None, "client-id": "<default>"},
    {"ip": "::1"},
]


@pytest.mark.parametrize("parts", ENTITIES, ids=str)
def test_names_in_quotas_are_sent_unencoded(parts: Mapping[str, str | None]) -> None:
    """VC-224: Kafka encodes names itself; an encoded name would be another name."""
    request = AlterClientQuotaRequest(
        entity=make_entity(parts), quotas={"consumer_byte_rate": 1.5, "producer_byte_rate": None}
    )
    with pytest.raises(_SeenError) as seen:
        alter_quotas(_SendsNothing(), [request], validate_only=False)  # type: ignore[arg-type]
    (entry,) = seen.value.args[0].entries
    assert {part.entity_type: part.entity_name for part in entry.entity} == parts
    assert [(op.key, op.value, op.remove) for op in entry.ops] == [
        ("consumer_byte_rate", 1.5, False),
        ("producer_byte_rate", 0.0, True),
    ]


def test_configs_are_never_replaced_as_a_whole() -> None:
    """K-05, A4-78: AlterConfigs forgets what is not listed, so that nothing imports it."""
    found = {
        (path.name, name.name)
        for path in Path(str(kgitops.__file__)).parent.glob("**/*.py")
        if "AlterConfigsRequest" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafka")
        for name in node.names
        if name.name.endswith("AlterConfigsRequest")
    }
    assert {name for _, name in found} == {"IncrementalAlterConfigsRequest"}
