"""A served cluster as the seed KIPs have it, and one as Kafka 4.3 does."""

from collections.abc import Iterator

import pytest
from cluster.clusters import BOTH, a_new_topic, admin
from cluster.embedded.bound.tenancies import SALES, change, execute
from serve.raw_client import RawClient, raw_client
from serve.served import cluster_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.requests import CreateVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.serve.server import KafkaServer


@pytest.fixture(params=BOTH, ids=str)
def embedded(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Three brokers, and a topic ``orders`` that sets ``retention.ms`` to 77."""
    cluster = cluster_of(compat=request.param, static_configs={"log.retention.hours": "2"})
    assert admin(cluster).create_topics([a_new_topic(retention_ms="77")])["orders"].ok
    yield cluster
    cluster.close()


@pytest.fixture
def member(embedded: EmbeddedCluster, server: KafkaServer) -> Iterator[RawClient]:
    """A client in the virtual cluster ``sales``."""
    execute(embedded, CreateVirtualClusterRequest(virtual_cluster=SALES))
    change(embedded, SALES, EntityType.CLIENT_ID, "app")
    with raw_client(server.endpoints[0], "app") as connected:
        yield connected
