"""Batches that no ordinary client sends: each gets the answer that Kafka gives.

tests/real_kafka/test_bad_batches_on_brokers.py holds the expected answers to a real broker.
"""

from collections.abc import Iterator

import pytest
from serve.data.bad_batches import ANSWERS, Case, answer_to, cases, make_topics, pack, raw, rec
from serve.data.batches import fetch
from serve.raw_client import RawClient
from serve.served import client_of

from kgitops.cluster.embedded.options import Compat
from kgitops.model.results import ErrorCode
from kgitops.wire import messages
from kgitops.wire.batch_records import MOST_RECORDS, batch_records
from kgitops.wire.batches import read_header

UNLIKE_KAFKA = {
    "none: a varint without end": "INVALID_RECORD",
    "a batch of 30 bytes": "CORRUPT_MESSAGE",
}
"""Kafka refuses these, too, but by an exception that it does not catch."""


@pytest.fixture(scope="module")
def client() -> Iterator[RawClient]:
    """A connection to a served cluster of one broker with ``TOPICS``."""
    with client_of(brokers=1, compat=Compat.KRAFT) as connected:
        make_topics(connected)
        yield connected


def test_every_batch_gets_kafkas_answer(client: RawClient) -> None:
    """In one go, because some of a producer's batches follow on each other.

    Nothing is written of one that is not taken.
    """
    found = {}
    for name, case in cases():
        before = fetch(client, topic=case.topic).high_watermark
        found[name] = answer_to(client, case)
        grown = fetch(client, topic=case.topic).high_watermark > before
        assert not grown or found[name] == ["NONE"], name
    expected = ANSWERS | {name: [code] for name, code in UNLIKE_KAFKA.items()}
    assert {name: answer for name, answer in found.items() if answer != expected[name]} == {}
    assert found.keys() == ANSWERS.keys()


@pytest.mark.parametrize("attributes", [0, 8], ids=["create time", "append time"])
def test_the_header_gets_the_times_of_the_records(client: RawClient, attributes: int) -> None:
    """Kafka does not believe the producer's, by which offsets of a time are found."""
    newest = 1_790_000_000_000
    data = raw(rec(), rec(1, timestamp=7), attributes=attributes, first=1000, newest=newest)
    case = Case(lambda: data, "plain")
    at = fetch(client, topic="plain", offset=0).high_watermark
    assert answer_to(client, case) == ["NONE"]
    written = fetch(client, at, topic="plain").records
    header = read_header(written)
    assert (header.log_append_time, header.max_timestamp) == (False, newest if attributes else 1007)
    assert len(list(batch_records(written))) == 2


def test_a_request_of_many_small_bombs(client: RawClient) -> None:
    """All of its batches together take as much work as one may."""
    body = pack(1, rec() * (MOST_RECORDS // 2))
    data = raw(count=MOST_RECORDS // 2, attributes=1, body=body)
    request = messages.ProduceRequest
    partition = request.PartitionProduceData(index=0, records=data)
    topics = [request.TopicProduceData(name="plain", partition_data=[partition]) for _ in range(20)]
    answer = client.ask("Produce", 9, request(acks=-1, timeout_ms=1000, topic_data=topics))
    codes = [topic.partition_responses[0].error_code for topic in answer.responses]
    assert codes[3:] == [ErrorCode.MESSAGE_TOO_LARGE] * 17
