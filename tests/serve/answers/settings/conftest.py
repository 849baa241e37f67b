"""A served cluster as the seed KIPs have it, and one as Kafka 4.3 does."""

from collections.abc import Iterator

import pytest
from cluster.clusters import BOTH, a_new_topic, admin

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import Options


@pytest.fixture(params=BOTH, ids=str)
def embedded(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Three brokers, and a topic ``orders`` that sets ``retention.ms`` to 77."""
    options = Options(compat=request.param, static_configs={"log.retention.hours": "2"})
    cluster = boot(None, brokers=3, options=options)
    assert admin(cluster).create_topics([a_new_topic(retention_ms="77")])["orders"].ok
    yield cluster
    cluster.close()
