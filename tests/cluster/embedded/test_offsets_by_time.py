"""Offsets by time: the embedded cluster finds the same as by Kafka's protocol."""

from contextlib import closing
from pathlib import Path

import pytest
from cluster_contract.contract import creation, done

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.background import serving


@pytest.mark.parametrize(
    ("timestamp_ms", "expected"),
    [
        (0, {("orders", 0): 0}),
        (1_001, {("orders", 0): 1}),
        (1_500, {("orders", 0): 3}),
        (2_002, {("orders", 0): 5}),
        (2_003, {}),
    ],
)
def test_both_find_the_first_record_of_a_time(
    tmp_path: Path, timestamp_ms: int, expected: dict[tuple[str, int], int]
) -> None:
    from confluent_kafka import Producer

    topics = frozenset({"orders", "empty", "gone"})
    with closing(connect("embedded:?compat=kraft", base=tmp_path)) as embedded:
        assert isinstance(embedded, EmbeddedCluster)
        for name in ("orders", "empty"):
            done(embedded, creation(name, ((1,),)), lambda state, name=name: name in state.topics)
        with (
            serving(embedded) as server,
            closing(connect(server.url, base=tmp_path)) as connected,
        ):
            producer = Producer({"bootstrap.servers": server.url.removeprefix("kafka://")})
            for at in (1_000, 2_000):
                for number in range(3):
                    producer.produce("orders", b"x", timestamp=at + number)
                assert producer.flush(30) == 0
            assert connected.read_offsets_since(topics, timestamp_ms) == expected
            assert embedded.read_offsets_since(topics, timestamp_ms) == expected
