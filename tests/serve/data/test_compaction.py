"""Compaction, of values and of a store that is served again."""

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

from serve.data.batches import batch, fetch, produce
from serve.data.test_records import make_topic, recent
from serve.served import client_of, cluster_of

from kgitops.serve.data.compaction import ChangedBatch, compact
from kgitops.serve.data.partition_log import AbortedTransaction
from kgitops.wire.batch_records import batch_records
from kgitops.wire.batches import HEADER_BYTES, end_marker, place, read_header, seal


def log(*batches: bytes) -> list[bytes]:
    """The batches at their offsets."""
    placed, offset = [], 0
    for data in batches:
        placed.append(place(data, offset, 0))
        offset = read_header(placed[-1]).last_offset + 1
    return placed


def left(changed: list[ChangedBatch], before: list[bytes]) -> list[tuple[int, bytes | None]]:
    """The offsets and values that are left."""
    after = {one.base_offset: one.data for one in changed}
    batches = [after.get(read_header(data).base_offset, data) for data in before]
    data = [one for one in batches if one is not None]
    rows = [one for one in data if not read_header(one).control]
    return [(record.offset, record.value) for one in rows for record in batch_records(one)]


def gzipped(data: bytes) -> bytes:
    """The batch, compressed."""
    packed = bytearray(data[:HEADER_BYTES]) + gzip.compress(data[HEADER_BYTES:])
    struct.pack_into(">h", packed, 21, 1)
    return bytes(seal(packed))


def test_the_last_of_each_key_is_left() -> None:
    """With its offset; a tombstone too."""
    before = log(
        batch(b"1", b"2", keys=(b"a", b"b")),
        gzipped(batch(b"3", b"4", keys=(b"a", b"c"))),
        batch(None, keys=(b"c",)),
    )
    compacted = list(compact(before, ()))
    assert left(compacted, before) == [(1, b"2"), (2, b"3"), (4, None)]
    assert [one.base_offset for one in compacted] == [0, 2]


def test_a_log_without_old_records_is_left_alone() -> None:
    """Also one of which nothing can be read."""
    unknown = bytearray(batch(b"1"))
    struct.pack_into(">h", unknown, 21, 7)
    before = log(batch(b"1", b"2", keys=(b"a", b"b")), bytes(seal(unknown)))
    assert list(compact(before, ())) == []


def test_aborted_records_go_and_sequence_numbers_stay() -> None:
    """An aborted record is no key's last one; a producer's last batch stays without records."""
    transaction = {"producer": (7, 0), "transactional": True}
    before = log(
        batch(b"1", sequence=0, **transaction),
        end_marker(7, 0, 5, commit=True),
        batch(b"2", sequence=1, **transaction),
        end_marker(7, 0, 5, commit=False),
        batch(b"3", producer=(8, 0), sequence=0, keys=(b"z",)),
        batch(b"4", keys=(b"z",)),
    )
    compacted = list(compact(before, [AbortedTransaction(7, 2, 3)]))
    assert left(compacted, before) == [(0, b"1"), (5, b"4")]
    assert [one.base_offset for one in compacted] == [2, 4]
    aborted, newer = [read_header(one.data) for one in compacted if one.data is not None]
    assert (aborted.base_sequence, aborted.records) == (1, 0)
    assert (newer.base_sequence, newer.records) == (0, 0)


def test_what_was_compressed_stays_small() -> None:
    """Else a megabyte of zeros in a store would become many when one of its records goes."""
    zeros = bytes(100_000)
    before = log(gzipped(batch(zeros, zeros, keys=(b"a", b"b"))), batch(b"new", keys=(b"b",)))
    (changed,) = compact(before, ())
    assert left([changed], before) == [(0, zeros), (2, b"new")]
    assert len(changed.data or b"") < 1000


def test_many_keys_are_compacted_in_several_goes() -> None:
    """As Kafka's cleaner, whose buffer has room for so many keys."""
    before = log(*(batch(b"1", b"2", keys=(key, key)) for key in (b"a", b"b", b"c")))
    first = list(compact(before, (), most_keys=2))
    assert left(first, before) == [(1, b"2"), (3, b"2"), (4, b"1"), (5, b"2")]


def test_one_batch_is_in_memory_at_a_time() -> None:
    """Each may be a hundred times as large as what was stored of it."""
    alive = read = 0

    class Batch(bytes):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    class Stored:
        def __iter__(self) -> Iterator[bytes]:
            nonlocal alive, read
            for offset in range(3):
                assert alive <= 1
                alive, read = alive + 1, read + 1
                yield Batch(place(batch(b"1"), offset, 0))

    assert [one.base_offset for one in compact(Stored(), ())] == [0, 1]
    assert (alive, read) == (0, 6)


def test_a_store_that_is_served_again(tmp_path: Path) -> None:
    """Its compacted topics are, its others are not."""
    path = tmp_path / "local.db"
    cluster = cluster_of(path)
    make_topic(cluster, cleanup_policy="compact")
    make_topic(cluster, "other")
    with client_of(cluster) as client:
        for value in (b"1", b"2"):
            for topic in ("orders", "other"):
                assert not produce(client, batch(value, first_ms=recent()), topic=topic).error_code
    cluster = cluster_of(path)
    size = cluster.read_usage(frozenset({"orders"})).topics["orders"].size_bytes[0]
    with client_of(cluster) as client:
        row = fetch(client)
        assert [(one.offset, one.value) for one in batch_records(row.records)] == [(1, b"2")]
        assert (row.high_watermark, row.log_start_offset) == (2, 0)
        other = fetch(client, topic="other").records
        assert read_header(other).base_offset == 0
        after = cluster.read_usage(frozenset({"orders"})).topics["orders"].size_bytes[0]
        assert after * 2 == size
        assert produce(client, batch(b"3", first_ms=recent())).base_offset == 2
