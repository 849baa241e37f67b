"""Idempotent producers and transactions, message by message."""

from pathlib import Path

import pytest
from patience import eventually
from serve.data.batches import batch, fetch, produce
from serve.data.test_records import list_offset, make_topic, recent
from serve.plain_requests import Fields, ask
from serve.raw_client import RawClient, raw_client
from serve.served import client_of
from serve.topic_requests import codes, create, new_topic

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.model.results import ErrorCode
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages

Producer = tuple[int, int]
TXN = "tx"
"""A transactional id that the first of three brokers coordinates."""


def init(client: RawClient, name: str | None = TXN, timeout_ms: int = 60_000) -> Producer:
    """A new producer."""
    ids = {"transactional_id": name, "transaction_timeout_ms": timeout_ms}
    answer = ask(client, "InitProducerId", 4, **ids)
    assert not answer.error_code
    return answer.producer_id, answer.producer_epoch


def add(client: RawClient, producer: Producer, topic: str = "orders", version: int = 3) -> int:
    """The code of adding the topic's first partition to the transaction."""
    answer = ask(
        client,
        "AddPartitionsToTxn",
        version,
        v3_and_below_transactional_id=TXN,
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics={"name": topic, "partitions": [0]},
    )
    code: int = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
    return code


def end(client: RawClient, producer: Producer, *, committed: bool, version: int = 3) -> int:
    """The code of ending the transaction."""
    answer = ask(client, "EndTxn", version, committed=committed, **ids_of(producer))
    code: int = answer.error_code
    return code


def ids_of(producer: Producer) -> Fields:
    """The fields by which requests name the producer."""
    return {"transactional_id": TXN, "producer_id": producer[0], "producer_epoch": producer[1]}


def commit_offset(
    client: RawClient, producer: Producer, offset: int, metadata: str | None = None
) -> tuple[int, int]:
    """The codes of committing an offset of the group ``copies`` in the transaction."""
    ids = {"group_id": "copies", **ids_of(producer)}
    row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": metadata}
    topic = {"name": "orders", "partitions": row}
    added = ask(client, "AddOffsetsToTxn", 3, **ids)
    answer = ask(client, "TxnOffsetCommit", 3, topics=topic, **ids)
    return added.error_code, answer.topics[0].partitions[0].error_code


def write(
    client: RawClient,
    producer: Producer,
    sequence: int,
    *,
    value: bytes = b"x",
    transactional: bool = True,
):
    """The row of the answer to one record of the producer."""
    data = batch(
        value, producer=producer, sequence=sequence, transactional=transactional, first_ms=recent()
    )
    name = TXN if transactional else None
    return produce(client, data, transactional_id=name)


def test_an_idempotent_producer(embedded: EmbeddedCluster, client: RawClient) -> None:
    """What it sends again is not written again, and what is missing is missed."""
    make_topic(embedded)
    producer = init(client, None)

    def send(sequence: int, epoch: int = 0):
        row = write(client, (producer[0], epoch), sequence, transactional=False)
        return row.error_code or row.base_offset

    assert [send(0), send(1), send(2)] == [0, 1, 2]
    assert [send(1), send(2)] == [1, 2]
    assert send(4) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(5, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(0, 1) == 3
    assert send(3, 0) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert fetch(client).high_watermark == 4


def test_a_transaction(embedded: EmbeddedCluster, client: RawClient) -> None:
    """Its records are read when it is committed, and those of an aborted one are told of."""
    make_topic(embedded)
    producer = init(client)
    assert write(client, producer, 0).error_code == ErrorCode.INVALID_TXN_STATE
    assert add(client, producer) == 0
    assert write(client, producer, 0).base_offset == 0
    row = fetch(client, committed=True)
    assert (row.records, row.high_watermark, row.last_stable_offset) == (b"", 1, 0)
    assert list_offset(client, -1, isolation=1) == (0, -1)
    assert end(client, producer, committed=False) == 0
    row = fetch(client, committed=True)
    assert (row.high_watermark, row.last_stable_offset) == (2, 2)
    assert [(one.producer_id, one.first_offset) for one in row.aborted_transactions] == [
        (producer[0], 0)
    ]
    assert fetch(client).aborted_transactions is None
    assert add(client, producer) == 0
    assert write(client, producer, 1).base_offset == 2
    assert end(client, producer, committed=True) == 0
    assert end(client, producer, committed=True) == 0
    assert end(client, producer, committed=False) == ErrorCode.INVALID_TXN_STATE
    row = fetch(client, 2, committed=True)
    assert (row.last_stable_offset, row.aborted_transactions) == (4, [])


def test_all_partitions_are_added_or_none(embedded: EmbeddedCluster, client: RawClient) -> None:
    """And nothing of it opens a transaction."""
    make_topic(embedded)
    producer = init(client)
    assert add(client, producer, "absent") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert end(client, producer, committed=True) == ErrorCode.INVALID_TXN_STATE
    newer = init(client)
    assert add(client, producer) == ErrorCode.PRODUCER_FENCED
    assert add(client, producer, version=1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert add(client, newer) == 0
    assert init(client) == (newer[0], newer[1] + 2)
    assert write(client, newer, 0).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_offsets_are_committed_with_it(embedded: EmbeddedCluster, server: KafkaServer) -> None:
    """Not before, and not if it is aborted; asked of the group's coordinator."""
    make_topic(embedded)
    coordinator = EmbeddedAdmin(embedded.controller).find_coordinator(["copies"])["copies"].node_id
    with raw_client(server.endpoints[coordinator - 1]) as client:
        _commit_offsets(embedded, client)


def _commit_offsets(embedded: EmbeddedCluster, client: RawClient) -> None:
    producer = init(client)
    admin = EmbeddedAdmin(embedded.controller)
    assert commit_offset(client, producer, 5) == (0, 0)
    assert not admin.offset_fetch("copies").offsets
    assert end(client, producer, committed=False) == 0
    assert not admin.offset_fetch("copies").offsets
    assert commit_offset(client, producer, 6, "here") == (0, 0)
    assert end(client, producer, committed=True) == 0
    fetched = admin.offset_fetch("copies")
    assert fetched.offsets == {("orders", 0): 6}
    assert fetched.details["orders", 0].metadata == "here"


def test_one_that_takes_too_long_is_aborted(embedded: EmbeddedCluster, client: RawClient) -> None:
    """And its producer is fenced."""
    make_topic(embedded)
    producer = init(client, timeout_ms=1)
    assert add(client, producer) == 0
    eventually(lambda: fetch(client).high_watermark, what="the marker of the end")
    assert end(client, producer, committed=True) == ErrorCode.PRODUCER_FENCED


def test_they_are_described(embedded: EmbeddedCluster, client: RawClient) -> None:
    """KIP-664: the transaction, and its producer in the partition."""
    make_topic(embedded)
    producer = init(client)
    add(client, producer)
    write(client, producer, 0)
    asked = messages.DescribeTransactionsRequest(transactional_ids=[TXN, "absent"])
    known, absent = client.ask("DescribeTransactions", 0, asked).transaction_states
    assert (known.transaction_state, known.producer_id) == ("Ongoing", producer[0])
    assert [(row.topic, row.partitions) for row in known.topics] == [("orders", [0])]
    assert absent.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    listed = client.ask(
        "ListTransactions", 2, messages.ListTransactionsRequest(state_filters=["Ongoing", "No"])
    )
    assert [row.transactional_id for row in listed.transaction_states] == [TXN]
    assert listed.unknown_state_filters == ["No"]
    request = messages.DescribeProducersRequest
    asked = request(topics=[request.TopicRequest(name="orders", partition_indexes=[0])])
    (row,) = client.ask("DescribeProducers", 0, asked).topics[0].partitions[0].active_producers
    assert (row.producer_id, row.last_sequence, row.current_txn_start_offset) == (producer[0], 0, 0)


def test_no_pattern_of_transactional_ids_takes_for_ever(client: RawClient) -> None:
    """A matcher that goes back would try 2^60 ways, and no other client would be answered."""
    name = "a" * 60 + "!"
    init(client, name)
    init(client, TXN)

    def listed(pattern: str) -> tuple[int, list[str]]:
        request = messages.ListTransactionsRequest(transactional_id_pattern=pattern)
        answer = client.ask("ListTransactions", 2, request)
        return answer.error_code, [row.transactional_id for row in answer.transaction_states]

    assert listed("(a+)+") == (0, [])
    assert listed("(a+)+!") == (0, [name])
    assert listed(f"{TXN}|x") == (0, [TXN])
    assert listed("") == (0, [name, TXN])
    assert listed("(") == (ErrorCode.INVALID_REGULAR_EXPRESSION, [])


@pytest.mark.parametrize("committed", [True, False])
def test_a_restart_forgets_nothing(tmp_path: Path, committed: bool) -> None:
    """Records, sequence numbers, and an open transaction, which can be ended afterwards."""
    path = tmp_path / "local.db"
    with client_of(store=path, brokers=1) as client:
        assert codes(create(client, new_topic("orders", 1, 1))) == {"orders": 0}
        producer = init(client)
        add(client, producer)
        assert write(client, producer, 0).base_offset == 0
        plain = init(client, None)
        assert write(client, plain, 0, transactional=False).base_offset == 1
    with client_of(store=path, brokers=1) as client:
        row = fetch(client, committed=True)
        assert (row.high_watermark, row.last_stable_offset) == (2, 0)
        assert write(client, plain, 0, transactional=False).base_offset == 1
        assert write(client, producer, 1).base_offset == 2
        assert end(client, producer, committed=committed) == 0
        row = fetch(client, committed=True)
        assert (row.high_watermark, row.last_stable_offset) == (4, 4)
        assert len(row.aborted_transactions) == (0 if committed else 1)
