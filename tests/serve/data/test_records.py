"""Produce, Fetch, ListOffsets and DeleteRecords, message by message."""

import threading
import time

import pytest
from cluster.clusters import a_new_topic
from serve.data.batches import NOW_MS, batch, fetch, produce
from serve.plain_requests import ask
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.controls.topics import NewTopic
from kgitops.model.results import ErrorCode
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages
from kgitops.wire.batches import is_intact, read_header


def make_topic(cluster: EmbeddedCluster, name: str = "orders", **configs: str) -> None:
    """A topic of one partition on all brokers, led by the first."""
    topic = NewTopic(
        name=name,
        assignments=((0, (1, 2, 3)),),
        configs={key.replace("_", "."): value for key, value in configs.items()},
    )
    assert EmbeddedAdmin(cluster.controller).create_topics([topic])[name].ok


def list_offset(client: RawClient, timestamp: int, version: int = 9, isolation: int = 0):
    """The offset and the timestamp that are told for one."""
    partition = {"partition_index": 0, "timestamp": timestamp}
    topic = {"name": "orders", "partitions": partition}
    how = {"replica_id": -1, "isolation_level": isolation, "topics": topic}
    row = ask(client, "ListOffsets", version, **how).topics[0].partitions[0]
    return (row.offset, row.timestamp) if not row.error_code else ErrorCode(row.error_code)


def recent() -> int:
    """Records of the future are refused, so they begin a minute ago."""
    return int(time.time() * 1000) - 60_000


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_what_is_produced_is_fetched(embedded, client: RawClient, version: int) -> None:
    """The batch's own bytes but for the offset and the epoch."""
    make_topic(embedded)
    first, second = batch(b"a", b"b", first_ms=recent()), batch(b"c", first_ms=recent())
    assert produce(client, first, version=version).base_offset == 0
    assert produce(client, second, version=version, acks=1).base_offset == 2
    row = fetch(client, version=4)
    assert (row.error_code, row.high_watermark, row.last_stable_offset) == (0, 3, 3)
    assert row.records[16 : len(first)] == first[16:]
    header = read_header(row.records, len(first))
    assert (header.base_offset, header.leader_epoch) == (2, 0)
    assert fetch(client, 1).records == row.records
    assert fetch(client, 2).records == row.records[len(first) :]
    assert fetch(client, 3).records == b""
    assert fetch(client, 4).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(client, 0, max_bytes=1).records == row.records[: len(first)]


def test_the_wrong_broker_tells_the_right_one(embedded, server: KafkaServer) -> None:
    """KIP-951."""
    make_topic(embedded)
    with raw_client(server.endpoints[1]) as other:
        row = produce(other, batch(b"a", first_ms=recent()), version=12)
        assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert row.current_leader.leader_id == 1
        row = fetch(other)
        assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert row.current_leader.leader_id == 1


def test_nothing_is_no_batch(embedded, client: RawClient) -> None:
    make_topic(embedded)
    assert produce(client, None).error_code == ErrorCode.INVALID_RECORD
    assert fetch(client).high_watermark == 0


def test_too_few_replicas_are_in_sync(embedded, client: RawClient) -> None:
    """For who asked for all of them."""
    make_topic(embedded, min_insync_replicas="3")
    data = batch(b"a", first_ms=recent())
    assert produce(client, data).error_code == 0
    embedded.fence(3)
    assert produce(client, data).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce(client, data, acks=1).error_code == 0


def test_the_brokers_time(embedded, client: RawClient) -> None:
    """``message.timestamp.type=LogAppendTime``; the checksum is right again.

    As on brokers, no producer may send such a batch.
    """
    make_topic(embedded, message_timestamp_type="LogAppendTime")
    row = produce(client, batch(b"a", first_ms=5))
    assert row.log_append_time_ms > NOW_MS or row.log_append_time_ms > 5
    fetched = fetch(client).records
    assert read_header(fetched).max_timestamp == row.log_append_time_ms
    assert is_intact(fetched)
    assert produce(client, fetched).error_code == ErrorCode.INVALID_TIMESTAMP


def test_a_fetch_waits_for_records(embedded, server: KafkaServer, client: RawClient) -> None:
    """It is answered as soon as there are enough, and otherwise when its time is up."""
    make_topic(embedded)
    began = time.monotonic()
    assert fetch(client, wait_ms=100).records == b""
    assert time.monotonic() - began >= 0.1
    found = []
    thread = threading.Thread(target=lambda: found.append(fetch(client, wait_ms=20_000)))
    thread.start()
    with raw_client(server.endpoints[0]) as another:
        assert produce(another, batch(b"a", first_ms=recent())).error_code == 0
    thread.join(10)
    assert found
    assert found[0].high_watermark == 1


def test_offsets_of_times(embedded, client: RawClient) -> None:
    """The ends, a time, and the newest record."""
    make_topic(embedded)
    began = recent()
    assert list_offset(client, began) == (-1, -1)
    produce(client, batch(b"a", b"b", b"c", first_ms=began))
    produce(client, batch(b"d", first_ms=began + 100))
    produce(client, batch(b"e", first_ms=began + 50))
    assert list_offset(client, -2) == (0, -1)
    assert list_offset(client, -1) == (5, -1)
    assert list_offset(client, began + 1) == (1, began + 1)
    assert list_offset(client, began + 3) == (3, began + 100)
    assert list_offset(client, began + 101) == (-1, -1)
    assert list_offset(client, -3) == (3, began + 100)
    assert list_offset(client, -3, version=6) is ErrorCode.UNSUPPORTED_VERSION


def test_deleted_records_are_gone(embedded, client: RawClient) -> None:
    """From the log, from usage, and from the store."""
    make_topic(embedded)
    for value in (b"a", b"b", b"c"):
        produce(client, batch(value, first_ms=recent()))
    usage = embedded.read_usage(frozenset({"orders"})).topics["orders"]
    assert (usage.log_start_offsets, usage.high_watermarks) == ((0,), (3,))
    request = messages.DeleteRecordsRequest
    partition = request.DeleteRecordsPartition(partition_index=0, offset=2)
    asked = request(topics=[request.DeleteRecordsTopic(name="orders", partitions=[partition])])
    row = client.ask("DeleteRecords", 2, asked).topics[0].partitions[0]
    assert (row.error_code, row.low_watermark) == (0, 2)
    assert fetch(client).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert read_header(fetch(client, 2).records).base_offset == 2
    after = embedded.read_usage(frozenset({"orders"})).topics["orders"]
    assert (after.log_start_offsets, after.high_watermarks) == ((2,), (3,))
    assert after.size_bytes[0] * 3 == usage.size_bytes[0]


def test_a_topic_that_is_made_again_is_empty(embedded, client: RawClient) -> None:
    """Its records went with the first one."""
    make_topic(embedded)
    produce(client, batch(b"a", first_ms=recent()))
    assert fetch(client).high_watermark == 1
    admin = EmbeddedAdmin(embedded.controller)
    assert admin.delete_topics(["orders"])["orders"].ok
    assert fetch(client).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    make_topic(embedded)
    assert fetch(client).high_watermark == 0
    assert produce(client, batch(b"b", first_ms=recent())).base_offset == 0


def test_simulated_records_are_counted(embedded, client: RawClient) -> None:
    """A topic that a test has filled has offsets before and after clients write."""
    assert EmbeddedAdmin(embedded.controller).create_topics([a_new_topic("other")])["other"].ok
    make_topic(embedded)
    embedded.produce("orders", 0, 7, 100)
    assert list_offset(client, -1) == (7, -1)
    assert produce(client, batch(b"a", first_ms=recent())).base_offset == 7
    embedded.produce("orders", 0, 2, 100)
    assert list_offset(client, -1) == (10, -1)
    assert read_header(fetch(client, 3).records).base_offset == 7
