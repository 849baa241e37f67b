"""A served cluster of three brokers for the tests of a module."""

from collections.abc import Iterator

import pytest
from serve.raw_client import RawClient, raw_client
from serve.served import cluster_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.background import serving
from kgitops.serve.server import KafkaServer


@pytest.fixture
def embedded() -> Iterator[EmbeddedCluster]:
    """A cluster in memory."""
    cluster = cluster_of()
    yield cluster
    cluster.close()


@pytest.fixture
def server(embedded: EmbeddedCluster) -> Iterator[KafkaServer]:
    """The cluster behind listeners, in this process."""
    with serving(embedded) as started:
        yield started


@pytest.fixture
def client(server: KafkaServer) -> Iterator[RawClient]:
    """A connection to the first broker."""
    with raw_client(server.endpoints[0]) as connected:
        yield connected
