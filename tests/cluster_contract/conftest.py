"""The clusters that the contract is held against: one of each kind, fresh for each test."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.cluster.port import Cluster
from kgitops.serve.background import serving

URLS = {
    "memory": "embedded:?brokers=3",
    "file": "embedded:local.db?brokers=3",
    "kraft": "embedded:?brokers=3&compat=kraft",
    "lowered": "embedded:?brokers=3&virtual.clusters=lowered",
}


@pytest.fixture(
    params=[
        *URLS,
        "served",
        pytest.param("kafka", marks=pytest.mark.kafka),
    ]
)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of three brokers without topics, ACLs, quotas or a registry."""
    if request.param == "kafka":
        yield LoweredCluster(request.getfixturevalue("kafka_cluster"))
        return
    if request.param == "served":
        with closing(connect(URLS["kraft"], base=tmp_path)) as embedded:
            assert isinstance(embedded, EmbeddedCluster)
            with (
                serving(embedded) as server,
                closing(connect(server.url, base=tmp_path)) as connected,
            ):
                yield connected
        return
    with closing(connect(URLS[request.param], base=tmp_path)) as connected:
        yield connected
