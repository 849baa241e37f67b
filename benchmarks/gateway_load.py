"""The load of ``gateway.py``: one task in a process of its own, whose cost does not count.

Records go by librdkafka, in batches of 64 KB; small requests by one socket, one after the other.
Words: the task (produce, consume, ask) and where, as JSON. Prints JSON.
"""

import json
import ssl
import statistics
import subprocess
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from msgspec import Struct, convert, to_builtins
from wire_client import NEWEST_WITH_NAMES, WireClient, small_batch

from kgitops.wire import messages

RECORD = 8192
BATCH = 65_536


class Place(Struct, frozen=True, kw_only=True):
    """Where the load goes: a topic of one partition, through a contestant."""

    servers: str
    direct: str
    """The broker itself."""
    protocol: str
    authority: str
    logins: tuple[tuple[str, str], tuple[str, str]]
    """Names and passwords: through the contestant, and at the broker."""
    topic: str
    physical: str
    """The broker's name of the topic."""
    count: int
    """Records to write or to read, or requests."""
    offset: int = 0
    """Where reading begins."""

    @property
    def configs(self) -> dict[str, object]:
        """Those of librdkafka."""
        user, word = self.logins[0]
        return {
            "bootstrap.servers": self.servers,
            "security.protocol": self.protocol,
            "ssl.ca.location": self.authority,
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": word,
        }


def run_load(task: str, place: Place, clients: int) -> dict[str, float]:
    """Run a task in so many processes at once; the median of what each tells."""
    words = [sys.executable, __file__, task, json.dumps(to_builtins(place))]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(clients)]
    texts = [process.communicate(timeout=600)[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit(f"{task} failed")
    found = [json.loads(text) for text in texts]
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def produce(place: Place) -> dict[str, float]:
    """Write records."""
    failed: list[object] = []
    producer = Producer(
        {
            **place.configs,
            "batch.size": BATCH,
            "linger.ms": 5,
            "acks": 1,
            "queue.buffering.max.kbytes": 65_536,
        }
    )
    value = bytes(RECORD - 70)
    for _ in range(place.count):
        while True:
            try:
                producer.produce(
                    place.topic,
                    value,
                    partition=0,
                    on_delivery=lambda error, _: failed.append(error) if error else None,
                )
            except BufferError:
                producer.poll(0.01)
            else:
                break
        producer.poll(0)
    left = producer.flush(120)
    assert not failed, failed[:1]
    assert not left
    return {}


def consume(place: Place) -> dict[str, float]:
    """Read records."""
    consumer = Consumer(
        {**place.configs, "group.id": f"{place.topic}-unused", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(place.topic, 0, place.offset)])
    left = place.count
    deadline = time.monotonic() + 120
    while left > 0:
        assert time.monotonic() < deadline, f"{left} records did not come"
        for message in consumer.consume(500, 1):
            assert not message.error(), message.error()
            left -= 1
    consumer.close()
    return {}


def ask(place: Place) -> dict[str, float]:
    """Write single records of 100 bytes; microseconds of requests to the broker and through it.

    They take turns, so that whatever else the machine does costs both of them the same.
    """
    through = _Asker(place, place.servers, place.logins[0], place.topic)
    direct = _Asker(place, place.direct, place.logins[1], place.physical)
    for _ in range(place.count):
        direct.ask()
        through.ask()
    (p50, p99), (direct_p50, direct_p99) = through.cuts(), direct.cuts()
    return {"p50": p50, "p99": p99, "direct_p50": direct_p50, "direct_p99": direct_p99}


class _Asker:
    """One connection, and the time of each request."""

    def __init__(self, place: Place, servers: str, login: tuple[str, str], name: str) -> None:
        secured = "SSL" in place.protocol
        tls = ssl.create_default_context(cafile=place.authority) if secured else None
        client = WireClient(servers.split(",", maxsplit=1)[0], tls, login)
        part = messages.ProduceRequest.PartitionProduceData(index=0, records=small_batch())
        topic = messages.ProduceRequest.TopicProduceData(name=name, partition_data=[part])
        message = messages.ProduceRequest(
            transactional_id=None, acks=1, timeout_ms=30_000, topic_data=[topic]
        )
        self._client, self._times = client, []
        self._request = client.frame("Produce", message, NEWEST_WITH_NAMES)
        ((row,),) = (one.partition_responses for one in client.decoded(self._request).responses)
        assert not row.error_code, row

    def ask(self) -> None:
        started = time.perf_counter()
        self._client.ask(self._request)
        self._times.append((time.perf_counter() - started) * 1e6)

    def cuts(self) -> tuple[float, float]:
        self._client.close()
        cuts = statistics.quantiles(self._times, n=100)
        return cuts[49], cuts[98]


if __name__ == "__main__":
    task = {"produce": produce, "consume": consume, "ask": ask}[sys.argv[1]]
    print(json.dumps(task(convert(json.loads(sys.argv[2]), Place))))
