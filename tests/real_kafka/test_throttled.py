"""A registry that can't be read because a quota throttles its reader is said to be so."""

import re

import pytest
from cluster.kafka.registry_logs import logs_on

from kgitops.cluster.port import Cluster, RegistryLog
from kgitops.model.errors import SafetyError
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka


def limit(cluster: Cluster, percentage: float | None) -> None:
    """How much of a thread's time all clients without a quota of their own may take."""
    everyone = (("client-id", None),)
    request = AlterClientQuotaRequest(entity=everyone, quotas={"request_percentage": percentage})
    (result,) = cluster.execute([request], validate_only=False, principal="User:ANONYMOUS")
    assert result.ok, result


def read_twenty_times(log: RegistryLog) -> None:
    """What a broker counts only begins with the next second."""
    for _ in range(20):
        log.read()


def test_a_reader_far_above_its_quota_is_told_why_it_gets_nothing(
    kafka: Sandbox, kafka_cluster: Cluster
) -> None:
    """Kafka answers such a Fetch without a word on any topic (KIP-219)."""
    kafka_cluster.registry.append([("project/1", {"name": "payments", "schema_version": 1})])
    with logs_on(kafka) as logs:
        reader = logs.open(timeout_s=2)
        assert reader.read()
        limit(kafka_cluster, 0.001)
        with pytest.raises(SafetyError, match=re.escape("a client quota throttles")):
            read_twenty_times(reader)
        limit(kafka_cluster, None)
