"""The same bytes to a real broker and to a served cluster: both take them, or neither does."""

from collections.abc import Iterator
from itertools import islice

import pytest
from kafka_clusters import StartKafka
from serve.data.bad_batches import ANSWERS, answer_to, cases, make_topics, mutations
from serve.raw_client import RawClient, raw_client

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import Compat, Options
from kgitops.serve.background import serving
from kgitops.serve.nodes import Endpoint

pytestmark = pytest.mark.kafka

MUTATIONS = 1500
BROKEN = {"INVALID_RECORD", "UNKNOWN_SERVER_ERROR"}
"""Kafka answers either to bytes that can't be decompressed, by how its libraries fail."""


@pytest.fixture(scope="module")
def broker(own_kafka: StartKafka) -> Iterator[RawClient]:
    """A connection to a real broker with ``TOPICS``."""
    host, port = own_kafka(brokers=1).servers.rsplit(":", 1)
    with raw_client(Endpoint(host=host, port=int(port))) as client:
        make_topics(client)
        yield client


def test_brokers_answer_as_recorded(broker: RawClient) -> None:
    """What tests/serve/data/test_bad_batches.py holds the served cluster to."""
    assert {name: answer_to(broker, case) for name, case in cases()} == ANSWERS


def test_mutated_batches(broker: RawClient) -> None:
    """Taken by both or by none; for the same reason but for broken compression."""
    cluster = boot(None, options=Options(compat=Compat.KRAFT), brokers=1)
    differ = []
    with serving(cluster) as server, raw_client(server.endpoints[0]) as served:
        make_topics(served)
        for case in islice(mutations(30), MUTATIONS):
            ours, theirs = answer_to(served, case), answer_to(broker, case)
            if ours != theirs and not {ours[0], theirs[0]} <= BROKEN:
                differ.append((case.topic, ours, theirs, case.make().hex()))
    cluster.close()
    assert differ == []
