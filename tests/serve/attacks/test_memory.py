"""Requests that are small on the wire and large behind it: memory is bounded, others go on."""

import asyncio
import gzip
import select
import struct
import zlib
from contextlib import suppress
from functools import partial
from unittest.mock import Mock

import lz4.frame
import pytest
import snappy
import zstandard
from serve.data.batches import batch, fetch, produce
from serve.data.test_records import make_topic, recent
from serve.groups.steps import GroupSteps
from serve.plain_requests import Fields, request_of
from serve.raw_client import RawClient, raw_client
from serve.served import client_of, cluster_of, served

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.records.partition_offsets import list_offsets, offset_for_leader_epoch
from kgitops.serve.answers.records.producers import describe_producers
from kgitops.serve.answers.table import WaitingAnswer
from kgitops.serve.call import make_call
from kgitops.serve.data.data_plane import Place
from kgitops.serve.groups import joining
from kgitops.serve.server import KafkaServer
from kgitops.wire.apis import apis, keys
from kgitops.wire.batch_records import MOST_RECORDS, batch_records
from kgitops.wire.batches import HEADER_BYTES, seal
from kgitops.wire.decompression import GZIP, LZ4, MOST_BYTES, SNAPPY, ZSTD, decompressed
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import read_request, request_frame
from kgitops.wire.reading import MOST_ELEMENTS

PACKERS = {
    GZIP: partial(gzip.compress, compresslevel=1),
    SNAPPY: snappy.compress,
    LZ4: lz4.frame.compress,
    ZSTD: zstandard.compress,
}


def bomb() -> bytes:
    """A gzip of a few hundred kilobytes that would be a third of a gigabyte."""
    packer, zeros = zlib.compressobj(9, wbits=31), bytes(1024 * 1024)
    first, again = (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * (MOST_BYTES // len(zeros) * 5) + packer.flush()


def with_codec(data: bytes, codec: int, records: bytes, number: int = 1) -> bytes:
    """The batch with other bytes for its records, and their number."""
    packed = bytearray(data[:HEADER_BYTES]) + records
    struct.pack_into(">h", packed, 21, codec)
    struct.pack_into(">i", packed, 23, number - 1)
    struct.pack_into(">i", packed, 57, number)
    return bytes(seal(packed))


def test_a_bomb_in_a_batch(embedded: EmbeddedCluster, client: RawClient) -> None:
    """Records have to be looked at: no more of them than a limit."""
    make_topic(embedded)
    packed = bomb()
    assert len(packed) < 1_000_000
    data = with_codec(batch(b"a", first_ms=recent()), GZIP, packed)
    assert produce(client, data).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(client, batch(b"a", first_ms=recent())).base_offset == 0


@pytest.mark.parametrize("codec", PACKERS)
def test_bombs_of_other_codecs(codec: int) -> None:
    pack = PACKERS[codec]
    assert decompressed(codec, pack(b"records")) == b"records"
    assert decompressed(codec, pack(bytes(MOST_BYTES))) == bytes(MOST_BYTES)
    with pytest.raises(MalformedError, match="more than"):
        decompressed(codec, pack(bytes(MOST_BYTES + 1)))


def test_a_block_of_snappy_that_lies_about_its_length() -> None:
    """It is not unpacked further than it says."""
    packed = snappy.compress(bytes(100_000))
    with pytest.raises(MalformedError, match="can't be decompressed"):
        decompressed(SNAPPY, b"\x01" + packed[3:])


def test_very_many_records_in_a_batch() -> None:
    """They take a moment each; so many are refused before the first is read."""
    data = with_codec(batch(b"a"), GZIP, gzip.compress(b""), MOST_RECORDS + 1)
    with pytest.raises(MalformedError, match=f"more than {MOST_RECORDS} records"):
        next(batch_records(data))


LIST_OFFSETS = {"name": "absent", "partitions": {"partition_index": 0, "timestamp": -1}}


@pytest.mark.parametrize(
    ("api", "topic", "repeated"),
    [
        ("ListOffsets", LIST_OFFSETS, "partitions"),
        ("DescribeProducers", {"name": "absent", "partition_indexes": [0]}, "partition_indexes"),
        ("DescribeProducers", {"name": "absent", "partition_indexes": []}, "topics"),
    ],
)
def test_more_elements_than_anybody_needs(
    server: KafkaServer, api: str, topic: Fields, repeated: str
) -> None:
    """A megabyte of them would take a hundred in memory: the connection ends, no other does."""
    asked = request_of(api, {"topics": topic})
    row = asked if repeated == "topics" else asked.topics[0]
    setattr(
        row, repeated, getattr(row, repeated) * MOST_ELEMENTS
    )  # one more than that with the topic
    if repeated == "topics":
        row.topics.append(row.topics[0])
    with raw_client(server.endpoints[0]) as good, raw_client(server.endpoints[0]) as bad:
        bad.send(api, apis()[keys()[api]].versions[-1], asked)
        with pytest.raises(ConnectionError):
            bad.receive_frame()
        assert good.ask("Metadata", 12).brokers


@pytest.mark.parametrize(
    ("answer", "topic"),
    [
        (
            list_offsets,
            {"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}] * 20_000},
        ),
        (
            offset_for_leader_epoch,
            {"topic": "orders", "partitions": [{"partition": 0, "leader_epoch": 0}] * 20_000},
        ),
        (describe_producers, {"name": "orders", "partition_indexes": list(range(20_000))}),
    ],
)
def test_a_large_request_gives_way(
    embedded: EmbeddedCluster,
    server: KafkaServer,
    answer: WaitingAnswer,
    topic: dict[str, object],
) -> None:
    """Others have a turn in the event loop after every five hundred of its partitions."""
    make_topic(embedded)
    api = "".join(word.title() for word in answer.__name__.split("_"))
    request = request_of(api, {"topics": topic})
    found = apis()[keys()[api]]
    newest = found.versions[-1]
    frame = read_request(request_frame(found, newest, 1, None, request_of(api, {}))[4:])
    node = server.cluster.nodes[1]

    async def turns_of_others() -> int:
        call = make_call(server.cluster, frame, node, Mock(), principal="User:a", host="h")
        await server.cluster.data.views([Place(call.image().topics.by_name["orders"], 0)])
        answering = asyncio.ensure_future(answer(call, request))
        turns = 0
        while not answering.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert server.run(turns_of_others()) >= 20_000 // 500


def test_an_answer_names_nothing_twice(embedded: EmbeddedCluster, client: RawClient) -> None:
    """Else a request of some kilobytes asks for gigabytes."""
    make_topic(embedded)
    names = [{"name": "orders"}] * 1000
    asked = request_of("Metadata", {"topics": names})
    assert len(client.ask("Metadata", 13, asked).topics) == 1
    resources = [{"resource_type": 2, "resource_name": "orders", "configuration_keys": None}] * 1000
    asked = request_of("DescribeConfigs", {"resources": resources})
    assert len(client.ask("DescribeConfigs", 4, asked).results) == 1
    for api, version, field in (
        ("DescribeGroups", 6, "groups"),
        ("ConsumerGroupDescribe", 1, "group_ids"),
    ):
        answer = client.ask(api, version, request_of(api, {field: ["g"] * 1000}))
        assert len(answer.groups) == 1
    producers = {"topics": [{"name": "orders", "partition_indexes": [0] * 1000}] * 10}
    answer = client.ask("DescribeProducers", 0, request_of("DescribeProducers", producers))
    assert [len(topic.partitions) for topic in answer.topics] == [1]
    groups = {"groups": [{"group_id": "g", "topics": None}] * 1000}
    answer = client.ask("OffsetFetch", 9, request_of("OffsetFetch", groups))
    assert len(answer.groups) == 1
    partition = {"partition": 0, "partition_max_bytes": 1 << 20}
    wanted = {
        "max_bytes": 1 << 20,
        "topics": {"topic": "orders", "partitions": [partition] * 1000},
    }
    answer = client.ask("Fetch", 12, request_of("Fetch", wanted))
    assert [len(topic.partitions) for topic in answer.responses] == [1]


def test_a_fetch_is_bounded_whatever_it_asks_for() -> None:
    """``fetch.max.bytes`` of a broker."""
    cluster = cluster_of(static_configs={"fetch.max.bytes": "1024"})
    make_topic(cluster)
    data = batch(bytes(500), first_ms=recent())
    with client_of(cluster) as client:
        for _ in range(5):
            assert not produce(client, data).error_code
        row = fetch(client, max_bytes=2**31 - 1, partition_max_bytes=2**31 - 1)
        assert len(row.records) == 1024 // len(data) * len(data)


def test_member_ids_are_not_given_out_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is kept until somebody joins with it, or for as long as the session may last."""
    monkeypatch.setattr(joining, "MOST_PENDING", 3)
    steps = GroupSteps()
    tickets = [steps.join(new_id=f"c{number}", must_know_its_id=True) for number in range(4)]
    found = [steps.joined(ticket).error for ticket in tickets]
    assert found == [*[ErrorCode.MEMBER_ID_REQUIRED] * 3, ErrorCode.GROUP_MAX_SIZE_REACHED]


def test_requests_that_are_being_answered_count() -> None:
    """A Fetch that waits keeps its request in memory, and room from others as long."""
    cluster = cluster_of(static_configs={"queued.max.request.bytes": "100000"})
    make_topic(cluster)
    partition = {"partition": 0, "partition_max_bytes": 1 << 20}
    topics = {"topic": "orders", "partitions": partition}
    waiting = {"max_wait_ms": 60_000, "min_bytes": 1, "max_bytes": 1000, "rack_id": "r" * 60_000}
    asked = request_of("Fetch", {**waiting, "topics": topics})
    with served(cluster) as brokers, brokers.client() as one, brokers.client() as other:
        for client in (one, other):
            client.send("Fetch", 12, asked)
        ((closed, *_), _, _) = select.select([one.socket, other.socket], [], [], 30)
        with suppress(ConnectionError):
            assert closed.recv(1) == b""
