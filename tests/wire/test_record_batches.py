"""Record batches, against those of kafka-python."""

import pytest

from kgitops.wire.batch_records import batch_records, with_records
from kgitops.wire.batches import end_marker, is_commit, is_intact, place, read_header, stamp


def built(compression: int = 0) -> bytes:
    """Two records as kafka-python writes them."""
    from kafka.record.memory_records import MemoryRecordsBuilder

    builder = MemoryRecordsBuilder(2, compression, 10_000)
    builder.append(timestamp=1_000, key=b"a", value=b"1", headers=[("h", b"x")])
    builder.append(timestamp=1_005, key=None, value=None, headers=[])
    builder.close()
    return bytes(builder.buffer())


def read(data: bytes):
    """The batches as kafka-python reads them."""
    from kafka.record.memory_records import MemoryRecords

    records = MemoryRecords(data)
    while (batch := records.next_batch()) is not None:
        yield batch


@pytest.mark.parametrize("compression", [0, 1], ids=["none", "gzip"])
def test_theirs_are_read(compression: int) -> None:
    """The header, the checksum and the records."""
    data = built(compression)
    header = read_header(data)
    assert is_intact(data)
    assert not is_intact(data[:-1] + b"\1")
    assert (header.records, header.last_offset, header.size) == (2, 1, len(data))
    assert [
        (one.offset, one.timestamp_ms, one.key, one.value)
        for one in batch_records(place(data, 7, 0))
    ] == [(7, 1_000, b"a", b"1"), (8, 1_005, None, None)]


@pytest.mark.parametrize("compression", [0, 1], ids=["none", "gzip"])
def test_ours_are_read(compression: int) -> None:
    """What a broker changes leaves a batch that others read: offset, time, fewer records."""
    placed = place(stamp(built(compression), 9_000), 7, 0)
    first, _ = batch_records(placed)
    (batch,) = read(with_records(placed, [first]))
    assert batch.validate_crc()
    assert [(one.offset, one.timestamp, one.key) for one in batch] == [(7, 9_000, b"a")]


@pytest.mark.parametrize("commit", [True, False])
def test_markers(commit: bool) -> None:
    """The ends of transactions."""
    marker = place(end_marker(5, 3, 1_000, commit=commit), 4, 0)
    assert is_commit(marker) is commit
    (batch,) = read(marker)
    assert batch.validate_crc()
    assert (batch.is_control_batch, batch.is_transactional, batch.producer_id) == (True, True, 5)
    (record,) = batch
    assert record.offset == 4
    assert record.commit is commit
