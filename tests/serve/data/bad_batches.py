"""Batches as no ordinary client makes them, and what Kafka answers to each."""

import gzip
import hashlib
import json
import random
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from patience import eventually
from serve.data.batches import part, produce, varint
from serve.raw_client import RawClient
from serve.topic_requests import create, new_topic

from kgitops.model.results import ErrorCode
from kgitops.wire.batches import HEADER_BYTES, seal

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
HOUR_MS = 3_600_000
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 8, 16, 32
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "appended": {"message.timestamp.type": "LogAppendTime"},
    "compacted-appended": {
        "cleanup.policy": "compact,delete",
        "message.timestamp.type": "LogAppendTime",
    },
    "timely": {
        "message.timestamp.before.max.ms": str(HOUR_MS),
        "message.timestamp.after.max.ms": "60000",
    },
    "small": {"max.message.bytes": "200"},
}


def now() -> int:
    return int(time.time() * 1000)


def rec(
    offset: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    timestamp: int = 0,
    attributes: int = 0,
    headers: bytes = b"\0",
    size: int = 0,
    after: bytes = b"",
) -> bytes:
    """A record; ``size`` is added to its true length."""
    body = bytes([attributes]) + varint(timestamp) + varint(offset) + part(key) + part(value)
    body += headers + after
    return varint(len(body) + size) + body


def raw(
    *records: bytes,
    count: int | None = None,
    last: int | None = None,
    attributes: int = 0,
    base: int = 0,
    epoch: int = -1,
    magic: int = 2,
    first: int | None = None,
    newest: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    body: bytes | None = None,
) -> bytes:
    """A batch with any header; the checksum is right."""
    count = len(records) if count is None else count
    first = now() - 1000 if first is None else first
    last = count - 1 if last is None else last
    newest = first if newest is None else newest
    head = struct.pack(
        ">qiibIhiqqqhii",
        *(base, 0, epoch, magic, 0, attributes, last, first, newest, *producer, count),
    )
    data = b"".join(records) if body is None else body
    return bytes(seal(bytearray(head + data)))


def seal_short(size: int) -> bytes:
    """The first bytes of a batch, with their length and checksum."""
    return bytes(seal(bytearray(raw(rec())[:size])))


def pack(codec: int, data: bytes) -> bytes:
    """Compressed as Kafka's clients do it."""
    if codec == 1:
        return gzip.compress(data)
    if codec == 2:
        block = snappy(data)
        return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block
    if codec == 3:
        import lz4.frame

        return lz4.frame.compress(data, block_linked=False)
    if codec == 4:
        import zstandard

        return zstandard.compress(data)
    return data


def snappy(data: bytes) -> bytes:
    """One literal, which is how snappy keeps what can't be made smaller."""
    assert len(data) <= 60
    return bytes([len(data), len(data) - 1 << 2]) + data if data else b"\0"


class Case(Struct, frozen=True):
    """A batch for a topic; ``make`` is called at the last moment, because the time counts."""

    make: Callable[[], bytes]
    topic: str = "plain"
    transactional_id: str | None = None
    version: int = 9


def case(
    *records: bytes,
    topic: str = "plain",
    transactional_id: str | None = None,
    version: int = 9,
    from_now: int | None = None,
    **header: Any,  # noqa: ANN401 (of ``raw``)
) -> Case:
    """A batch with these records and this header; ``from_now`` is its first timestamp."""

    def make() -> bytes:
        first = {} if from_now is None else {"first": now() + from_now}
        return raw(*records, **header, **first)

    return Case(make, topic, transactional_id, version)


def cases() -> Iterator[tuple[str, Case]]:
    for codec, name in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        for what, made in cases_of_codec(codec):
            yield f"{name}: {what}", made

    rows = [rec(index, value=hashlib.sha512(b"%d" % index).digest()) for index in range(1000)]
    for codec in (1, 3, 4):
        body = pack(codec, b"".join(rows))
        yield f"many, codec {codec}", case(count=1000, attributes=codec, body=body)
        for cut, length in (("in half", len(body) // 2), ("at the end", len(body) - 1)):
            short = case(count=1000, attributes=codec, body=body[:length])
            yield f"many, codec {codec}, cut {cut}", short
    for codec in (1, 3, 4):
        body = pack(codec, rec()) + pack(codec, rec(1))
        yield f"two parts, codec {codec}", case(count=2, attributes=codec, body=body)
    yield "a batch of 30 bytes", Case(lambda: seal_short(30))
    yield "a batch of 60 bytes", Case(lambda: seal_short(60))
    for codec in (5, 6, 7):
        yield f"codec {codec}", case(rec(), attributes=codec)
    for bit in range(6, 16):
        yield f"attribute {bit}", case(rec(), attributes=1 << bit if bit < 15 else -(1 << 15))
    yield "log append time", case(rec(), attributes=LOG_APPEND_TIME)
    for topic in ("appended", "compacted-appended"):
        appended = case(rec(), attributes=LOG_APPEND_TIME, topic=topic)
        yield f"log append time on {topic}", appended
        yield f"an old time on {topic}", case(rec(), first=SMALLEST, topic=topic)
    control = rec(key=bytes(4))
    yield "control", case(control, attributes=CONTROL)
    yield "transactional control", case(control, attributes=CONTROL | TRANSACTIONAL)
    transactional = {"attributes": TRANSACTIONAL}
    yield "transactional without an id", case(rec(), **transactional, producer=(900, 0, 0))
    yield "transactional without a producer", case(rec(), **transactional)
    yield (
        "transactional without a producer, with an id",
        case(rec(), **transactional, transactional_id="nobody's"),
    )
    yield "not transactional, with an id", case(rec(), transactional_id="nobody's")

    for base in (1, -1, 1000, LARGEST, SMALLEST):
        yield f"base offset {base}", case(rec(), base=base)
    for epoch in (0, 5, -2, 2**31 - 1):
        yield f"leader epoch {epoch}", case(rec(), epoch=epoch)
    for magic in (-1, 0, 1, 3, 127):
        yield f"magic {magic}", case(rec(), magic=magic)
    for count, last in (
        *((-1, 0), (-1, -2), (0, 0), (0, -1), (1, 1), (1, -1), (2, 1), (1, 2**31 - 1)),
        *((2**31 - 1, 2**31 - 2), (-(2**31), -(2**31) - 1 + 2**32 - 2**32 + 2), (2, 0)),
    ):
        yield f"{count} records up to {last}", case(rec(), count=count, last=last)

    for producer in (
        *((-5, 0, 0), (-1, 0, 0), (-1, -1, 0), (-1, 5, 7), (902, -1, 0), (903, -2, 0)),
        *((904, 0, -1), (905, 0, -2), (906, 0, 0), (907, 0, 5), (908, 3, 2**31 - 1)),
        *((909, 0, 2**31 - 1), (LARGEST, 0, 0), (SMALLEST, 0, 0)),
        *((910, -(2**15), 0), (911, 2**15 - 1, 0)),
    ):
        yield f"producer {producer}", case(rec(), producer=producer)
    for producer in ((906, 0, 0), (906, 0, 1), (906, 0, 3), (906, 1, 5), (906, 1, 0), (906, 0, 2)):
        yield f"again producer {producer}", case(rec(), producer=producer)

    late = rec(1, timestamp=2 * HOUR_MS)
    for topic in ("plain", "compacted", "timely"):
        for first in (-1, -2, 0, 5, SMALLEST, LARGEST, -HOUR_MS, 1_000_000):
            yield f"timestamp {first} on {topic}", case(rec(), first=first, topic=topic)
        for first in (-2 * HOUR_MS, -30_000, 30_000, 30 * 60_000, 2 * HOUR_MS):
            near = case(rec(), from_now=first, topic=topic)
            yield f"timestamp {first} from now on {topic}", near
        for newest in (-1, 0, SMALLEST, LARGEST):
            yield f"newest timestamp {newest} on {topic}", case(rec(), newest=newest, topic=topic)
        yield f"some out of time on {topic}", case(rec(), late, rec(2), topic=topic)
        timeless = case(rec(timestamp=-1001), first=1000, topic=topic)
        yield f"no timestamp by the delta on {topic}", timeless
    for topic in ("plain", "compacted", "compacted-appended"):
        for codec in (0, 1, 3):
            body = pack(codec, rec() + rec(1, key=None) + rec(2, key=b"") + rec(3, key=None))
            keyless = case(count=4, attributes=codec, body=body, topic=topic)
            yield f"without a key, codec {codec}, on {topic}", keyless
    keyless = case(rec(key=None, timestamp=2 * HOUR_MS), late, topic="compacted")
    yield "without a key and out of time", keyless
    for size in (100, 130, 131, 132, 133, 134, 150, 1000):
        yield f"a value of {size} on small", case(rec(value=bytes(size)), topic="small")
    yield "too large and broken", Case(lambda: raw(rec(value=bytes(300)))[:-1] + b"\1", "small")
    body = zlib.compress(rec(value=bytes(5000)), wbits=31)
    yield "too large compressed", case(count=1, attributes=1, body=body, topic="small")
    yield "two batches", Case(lambda: raw(rec()) * 2)
    yield "cut in the header", Case(lambda: raw(rec())[:40])
    yield "cut", Case(lambda: raw(rec())[:-1])
    yield "bytes after", Case(lambda: raw(rec()) + b"1")
    yield "12 bytes after", Case(lambda: raw(rec()) + bytes(12))
    yield "20 bytes after", Case(lambda: raw(rec()) + bytes(20))
    yield "17 bytes", Case(lambda: bytes(17))
    yield "61 bytes", Case(lambda: bytes(61))
    yield "length 0", Case(lambda: raw(rec())[:8] + bytes(4) + raw(rec())[12:])
    yield "length 48", Case(lambda: raw(rec())[:8] + b"\0\0\0\x30" + raw(rec())[12:])
    yield "length 13", Case(lambda: raw(rec())[:8] + b"\0\0\0\x0d" + raw(rec())[12:])
    yield "negative length", Case(lambda: raw(rec())[:8] + b"\xff" * 4 + raw(rec())[12:])
    yield "one byte", Case(lambda: b"\0")
    yield "no byte", Case(lambda: b"")
    yield "checksum", Case(lambda: raw(rec())[:17] + bytes(4) + raw(rec())[21:])
    yield (
        "checksum and base offset",
        Case(lambda: raw(rec(), base=4)[:17] + bytes(4) + raw(rec())[21:]),
    )
    yield (
        "checksum and codec",
        Case(lambda: raw(rec(), attributes=7)[:17] + bytes(4) + raw(rec(), attributes=7)[21:]),
    )
    yield "zstd in version 6", case(count=1, attributes=4, body=pack(4, rec()), version=6)
    yield "codec 7 in version 6", case(rec(), attributes=7, version=6)


def cases_of_codec(codec: int) -> Iterator[tuple[str, Case]]:
    """Records that are wrong inside, compressed or not."""

    def of(body: bytes, count: int = 1) -> Case:
        return case(count=count, attributes=codec, body=body)

    def packed(*rows: bytes, count: int | None = None, tail: bytes = b"") -> Case:
        return of(pack(codec, b"".join(rows)) + tail, len(rows) if count is None else count)

    yield "right", packed(rec(), rec(1))
    yield "no bytes", of(b"")
    yield "garbage", of(b"\xff\x07nothing of the kind" * 2)
    yield "zeros", of(bytes(40))
    yield "cut", of(pack(codec, rec() + rec(1))[:-3], 2)
    yield "cut in the middle", of(pack(codec, rec(value=b"0123456789" * 3))[:20], 1)
    yield "bytes follow", packed(rec(), tail=b"more")
    yield "fewer records than told", packed(rec(), count=2)
    yield "more records than told", packed(rec(), rec(1), count=1)
    yield "no records and none told", packed()
    yield "a record too long", packed(rec(size=1))
    yield "a record too short", packed(rec(size=-1))
    yield "a record of a negative length", packed(varint(-5) + bytes(10))
    yield "a record of no length", packed(varint(0) + bytes(10))
    yield "a huge record", packed(varint(2**31 - 1) + bytes(10))
    yield "headers without end", packed(rec(headers=varint(1000)))
    yield "negative headers", packed(rec(headers=varint(-1)))
    yield "a header without a key", packed(rec(headers=varint(1) + varint(-1) * 2))
    yield "a header", packed(rec(headers=varint(1) + part(b"h") + part(None)))
    yield (
        "a header's value too long",
        packed(rec(headers=varint(1) + part(b"h") + varint(9))),
    )
    yield (
        "a header's key is no UTF-8",
        packed(rec(headers=varint(1) + part(b"\xff\xfe") + part(b"x"))),
    )
    yield "bytes after the headers", packed(rec(after=b"x"))
    yield (
        "a key longer than the record",
        packed(varint(8) + b"\0\0\0" + varint(100) + b"abcd"),
    )
    yield (
        "a key of length -2",
        packed(varint(7) + b"\0\0\0" + varint(-2) + varint(1) + b"a\0"),
    )
    yield "a varint without end", packed(b"\xff" * 20)
    yield "a varint of five bytes", packed(rec(headers=b"\x80\x80\x80\x80\x00"))
    yield "a varint of six bytes", packed(rec(headers=b"\x80\x80\x80\x80\x80\x00"))
    yield "attributes of a record", packed(rec(attributes=0xFF))
    yield "offsets backwards", packed(rec(1), rec(0))
    yield "the same offset twice", packed(rec(0), rec(0))
    yield "an offset far away", packed(rec(1000))
    yield "a negative offset", packed(rec(-7))
    yield "a timestamp delta before the bounds", packed(rec(timestamp=SMALLEST))
    yield "a timestamp delta after the bounds", packed(rec(timestamp=2 * HOUR_MS))
    yield "a timestamp delta far after", packed(rec(timestamp=LARGEST))


ANSWERS: dict[str, list[Any]] = json.loads(
    Path(__file__).with_name("answers_to_bad_batches.json").read_text()
)
"""Of Kafka 4.3 to each case: its error, and the records that it names."""


def make_topics(client: RawClient) -> None:
    """Make the ``TOPICS`` on the broker, and wait until it leads them."""
    topics = [new_topic(name, 1, 1, configs=configs) for name, configs in TOPICS.items()]
    assert not any(row.error_code for row in create(client, *topics, timeout_ms=20_000))
    for topic in TOPICS:
        case = Case(lambda: raw(rec()), topic)
        eventually(
            partial(answer_to, client, case),
            lambda answer: answer == ["NONE"],
            what=f"{topic} takes records",
        )


def answer_to(client: RawClient, case: Case) -> list[Any]:
    """As in ``ANSWERS``."""
    row = produce(
        client,
        case.make(),
        topic=case.topic,
        version=case.version,
        transactional_id=case.transactional_id,
    )
    named = [record.batch_index for record in row.record_errors]
    return [ErrorCode(row.error_code).name, *named]


def mutations(seed: int) -> Iterator[Case]:
    """Small right batches with some wrong bytes, each with a right checksum, without an end."""
    random_bytes = random.Random(seed)  # noqa: S311 (a repeatable test)
    pick, below = random_bytes.choice, random_bytes.randrange
    while True:
        codec, topic = pick((0, 0, 1, 2, 3, 4)), pick(("plain", "compacted", "appended", "timely"))
        header = varint(1) + part(b"h") + part(b"x")
        rows = [
            rec(
                index,
                pick((None, b"k", b"")),
                pick((None, b"", b"v" * below(9))),
                timestamp=below(100),
                headers=pick((b"\0", header)),
            )
            for index in range(below(1, 3))
        ]
        inner = bytearray(b"".join(rows))
        place = pick(("records", "more", "header", "packed", "cut"))
        if place == "records":
            inner[below(len(inner))] = pick((0, 1, 127, 128, 255, below(256)))
        elif place == "more":
            at = below(len(inner) + 1)
            inner[at:at] = random_bytes.randbytes(below(1, 4))
        data = bytearray(raw(count=len(rows), attributes=codec, body=pack(codec, bytes(inner))))
        if place == "header":
            data[pick(_HEADER_PLACES)] = pick((0, 1, 2, 3, 127, 128, 255, below(256)))
        elif place == "packed":
            data[below(HEADER_BYTES, len(data))] = below(256)
        elif place == "cut":
            del data[below(HEADER_BYTES, len(data) + 1) :]
        mutated = bytes(seal(data))
        yield Case(lambda mutated=mutated: mutated, topic)


_HEADER_PLACES = (0, 7, 16, 22, 23, 26, 27, 34, 35, 42, 43, 50, 51, 52, 53, 56, 57, 60)
