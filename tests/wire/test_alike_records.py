"""Records of the same lengths in a row are read together, and as strictly as one by one."""

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgitops.wire import batch_records
from kgitops.wire.batch_records import record_fields
from kgitops.wire.errors import MalformedError


def varint(number: int) -> bytes:
    number = number << 1 ^ number >> 63
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def record(
    offset: int, timestamp: int = 0, key: bytes | None = b"k", value: bytes = b"", headers: int = 0
) -> bytes:
    sized = varint(-1) if key is None else varint(len(key)) + key
    body = b"\0" + varint(timestamp) + varint(offset) + sized + varint(len(value)) + value
    body += varint(headers) + b"\2h\1" * headers
    return varint(len(body)) + body


def read(data: bytes, count: int, *, sized: bool = True) -> object:
    try:
        return record_fields(data, count, sized=sized)
    except MalformedError as error:
        return str(error)


def one_by_one(data: bytes, count: int, *, sized: bool = True) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_records, "_alike", lambda *_: [])
        return read(data, count, sized=sized)


def test_many_small_records_cost_few_steps() -> None:
    """Of the interpreter: a batch of 9,000 took 20 lines for each."""
    count = 9_000
    data = b"".join(record(n, n // 50, b"key", bytes(100)) for n in range(count))
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal steps
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        fields = record_fields(data, count, sized=True)
    finally:
        sys.settrace(before)
    assert steps < 7 * count
    assert fields.timestamp_deltas == [n // 50 for n in range(count)]
    assert fields.in_order


@pytest.mark.parametrize("wide", [0, 100, 20_000, 3_000_000, -5], ids=str)
@pytest.mark.parametrize("key", [None, b"", b"key"], ids=["none", "empty", "key"])
def test_offsets_and_times_of_any_width(key: bytes | None, wide: int) -> None:
    """Up to offsets of three bytes."""
    count = 9_000
    data = b"".join(record(n, wide + n // 10, key, b"v" * 70) for n in range(count))
    fields = record_fields(data, count, sized=True)
    assert fields.timestamp_deltas == [wide + n // 10 for n in range(count)]
    assert fields.without_key == (list(range(count)) if key is None else [])
    assert fields.in_order
    assert fields == one_by_one(data, count)


RUNS = st.lists(
    st.tuples(
        st.integers(1, 150),
        st.sampled_from([0, 1, 63, 64, -64, -65, 8192, 1 << 40]),
        st.sampled_from([None, b"", b"k", b"k" * 70]),
        st.sampled_from([0, 5, 60, 63, 64, 200]),
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from([1, 1, 1, 1, 2]),
    ),
    min_size=1,
    max_size=4,
)


@given(RUNS, st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=2), st.booleans())
def test_damage_is_found_as_one_by_one(
    runs: list[tuple[int, int, bytes | None, int, int, int]],
    damage: list[tuple[int, int]],
    sized: bool,
) -> None:
    """In the middle of a row, too."""
    records: list[bytes] = []
    for number, timestamp, key, size, headers, step in runs:
        records += [
            record(step * len(records) + n, timestamp, key, bytes(size), headers)
            for n in range(number)
        ]
    data = bytearray(b"".join(records))
    for at, byte in damage:
        data[at % len(data)] = byte
    count = len(records)
    assert read(bytes(data), count, sized=sized) == one_by_one(bytes(data), count, sized=sized)
