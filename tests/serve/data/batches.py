"""Record batches as producers make them, and requests with them."""

import struct

from serve.plain_requests import ask
from serve.raw_client import RawClient

from kgitops.wire.batches import seal
from kgitops.wire.messages import Message

NOW_MS = 1_790_000_000_000


def varint(value: int) -> bytes:
    """A signed number as records have it."""
    value = value << 1 ^ value >> 63
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def part(data: bytes | None) -> bytes:
    """A key or a value."""
    return varint(-1) if data is None else varint(len(data)) + data


def record(offset: int, key: bytes | None, value: bytes | None, timestamp: int = 0) -> bytes:
    """One record, with offset and timestamp relative to its batch."""
    body = b"\0" + varint(timestamp) + varint(offset) + part(key) + part(value) + varint(0)
    return varint(len(body)) + body


def batch(
    *values: bytes | None,
    keys: tuple[bytes | None, ...] = (),
    producer: tuple[int, int] = (-1, -1),
    sequence: int = -1,
    transactional: bool = False,
    first_ms: int = NOW_MS,
) -> bytes:
    """A batch of these values, a millisecond apart."""
    keys = keys or (b"k",) * len(values)
    rows = b"".join(
        record(index, key, value, index)
        for index, (key, value) in enumerate(zip(keys, values, strict=True))
    )
    last = len(values) - 1
    head = struct.pack(
        ">qiibIhiqqqhii",
        0, 0, -1, 2, 0, 0x10 if transactional else 0, last, first_ms, first_ms + last,
        *producer, sequence, len(values),
    )  # fmt: skip
    return bytes(seal(bytearray(head + rows)))


def produce(
    client: RawClient,
    data: bytes | None,
    *,
    topic: str = "orders",
    partition: int = 0,
    acks: int = -1,
    version: int = 9,
    transactional_id: str | None = None,
) -> Message:
    """The row of the answer to one batch."""
    row = {"name": topic, "partition_data": {"index": partition, "records": data}}
    answer = ask(
        client,
        "Produce",
        version,
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1000,
        topic_data=row,
    )
    return answer.responses[0].partition_responses[0]


def fetch(
    client: RawClient,
    offset: int = 0,
    *,
    topic: str = "orders",
    partition: int = 0,
    committed: bool = False,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    min_bytes: int = 1,
    wait_ms: int = 0,
    version: int = 12,
) -> Message:
    """The row of the answer about one partition."""
    row = {
        "partition": partition,
        "fetch_offset": offset,
        "partition_max_bytes": partition_max_bytes,
    }
    answer = ask(
        client,
        "Fetch",
        version,
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=int(committed),
        topics={"topic": topic, "partitions": row},
    )
    return answer.responses[0].partitions[0]
