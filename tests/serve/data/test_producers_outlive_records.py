"""Producers are known after a restart, even where their records were deleted or compacted away."""

from pathlib import Path

import pytest
from serve.data.batches import batch, fetch, produce
from serve.data.test_records import recent
from serve.data.test_transactions import add, end, init, write
from serve.raw_client import RawClient
from serve.served import client_of
from serve.topic_requests import create, new_topic

from kgitops.model.results import ErrorCode
from kgitops.wire import messages
from kgitops.wire.batches import read_header


def make_topic(client: RawClient, policy: str = "delete") -> None:
    topic = new_topic("orders", 1, 1, configs={"cleanup.policy": policy})
    assert not create(client, topic)[0].error_code


def delete_records(client: RawClient, before: int) -> None:
    """Delete the first records; -1 is for all."""
    request = messages.DeleteRecordsRequest
    row = request.DeleteRecordsPartition(partition_index=0, offset=before)
    asked = request(
        topics=[request.DeleteRecordsTopic(name="orders", partitions=[row])], timeout_ms=1000
    )
    answer = client.ask("DeleteRecords", 2, asked)
    assert not answer.topics[0].partitions[0].error_code


def described(client: RawClient) -> list[object]:
    """The producers of the partition."""
    request = messages.DescribeProducersRequest
    asked = request(topics=[request.TopicRequest(name="orders", partition_indexes=[0])])
    return list(client.ask("DescribeProducers", 0, asked).topics[0].partitions[0].active_producers)


def test_a_batch_sent_again_after_deleted_records_and_a_restart(tmp_path: Path) -> None:
    """It is not written twice; nor are records kept that were deleted."""
    path, value = tmp_path / "local.db", b"a value that no checksum looks like"
    with client_of(store=path, brokers=1) as client:
        make_topic(client)
        producer = init(client, None)
        for sequence in range(3):
            row = write(client, producer, sequence, value=value, transactional=False)
            assert row.base_offset == sequence
        delete_records(client, -1)
    for _ in range(2):
        with client_of(store=path, brokers=1) as client:
            row = write(client, producer, 2, value=value, transactional=False)
            assert (row.error_code, row.base_offset, row.log_start_offset) == (0, 2, 3)
            row = fetch(client, 3)
            assert (row.high_watermark, row.log_start_offset, row.records) == (3, 3, b"")
            assert fetch(client, 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            delete_records(client, -1)
    with client_of(store=path, brokers=1) as client:
        row = write(client, producer, 4, transactional=False)
        assert row.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert write(client, producer, 3, transactional=False).base_offset == 3
        assert read_header(fetch(client, 3).records).base_offset == 3
    assert value not in b"".join(stored(path))


@pytest.mark.parametrize("before", [1, -1])
def test_a_producer_of_deleted_transactions_goes_on(tmp_path: Path, before: int) -> None:
    """Whether the marker of the last one's end is left or not."""
    path = tmp_path / "local.db"
    with client_of(store=path, brokers=1) as client:
        make_topic(client)
        producer = init(client)
        assert add(client, producer) == 0
        assert write(client, producer, 0).base_offset == 0
        assert end(client, producer, committed=True) == 0
        delete_records(client, before)
        known = described(client)
    with client_of(store=path, brokers=1) as client:
        assert described(client) == known
        assert add(client, producer) == 0
        assert write(client, producer, 1).base_offset == 2
        assert end(client, producer, committed=True) == 0


def test_a_producer_of_compacted_transactions_goes_on(tmp_path: Path) -> None:
    """Another one has written newer values for all of its keys."""
    path = tmp_path / "local.db"
    with client_of(store=path, brokers=1) as client:
        make_topic(client, "compact")
        producer = init(client)
        assert add(client, producer) == 0
        assert write(client, producer, 0).base_offset == 0
        assert end(client, producer, committed=True) == 0
        assert produce(client, batch(b"newer", first_ms=recent())).base_offset == 2
    with client_of(store=path, brokers=1) as client:
        assert read_header(fetch(client).records).records == 0
        assert add(client, producer) == 0
        assert write(client, producer, 1).base_offset == 3
        assert end(client, producer, committed=True) == 0


def test_an_open_transaction_is_ended_without_its_first_records(tmp_path: Path) -> None:
    """What follows waits for its end."""
    path = tmp_path / "local.db"
    with client_of(store=path, brokers=1) as client:
        make_topic(client)
        producer = init(client)
        assert add(client, producer) == 0
        assert write(client, producer, 0).base_offset == 0
        delete_records(client, -1)
        assert produce(client, batch(b"other", first_ms=recent())).base_offset == 1
        before = fetch(client, 1, committed=True)
    with client_of(store=path, brokers=1) as client:
        row = fetch(client, 1, committed=True)
        assert (row.last_stable_offset, row.high_watermark) == (1, 2)
        assert row == before
        assert end(client, producer, committed=False) == 0
        assert fetch(client, 1, committed=True).last_stable_offset == 3


def stored(path: Path) -> list[bytes]:
    """The batches in the store."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as store:
        return [data for (data,) in store.execute("SELECT data FROM batch ORDER BY base_offset")]
