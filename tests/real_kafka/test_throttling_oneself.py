"""An apply that throttles itself comes to its end, and its plan says that it will."""

import json
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import acl, document, topic

from kgitops.cluster.port import Cluster
from kgitops.model.requests import AlterClientQuotaRequest

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka

SLOW = 999
TOPICS = [topic(f"orders.{number}") for number in range(20)]
ACLS = [acl(f"reader-{number}", principal=f"User:reader-{number}") for number in range(20)]


@pytest.mark.parametrize(
    "entity",
    [{"clientId": {"default": True}}, {"user": {"default": True}}, {"clientId": "kgitops"}],
)
def test_a_quota_that_throttles_kgitops_is_told_and_set_when_all_else_is_done(
    kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops, entity: dict[str, object]
) -> None:
    slow = document("ClientQuota", "slow", entity=entity, quotas={"producer_byte_rate": SLOW})
    project.write(slow, *TOPICS, *ACLS)
    try:
        ran = kgitops("plan", "payments", "-o", "plan.json", "--format", "json")
        assert ran.code == 0, ran
        plan = json.loads(ran.out)
        (said,) = [one for one in plan["warnings"] if "throttles kgitops itself" in str(one)]
        assert "User:ANONYMOUS with the client id kgitops, to producer_byte_rate 999" in str(said)
        assert plan["changes"][-1]["kind"] == "ClientQuota"

        ran = kgitops("apply", "plan.json", "--format", "json")
        assert ran.code == 0, ran
        events = [json.loads(line) for line in ran.out.splitlines()]
        started = [event["address"] for event in events if event["type"] == "step_started"]
        assert started[-1] == plan["changes"][-1]["address"]
    finally:
        for found in kafka_cluster.read_state().quotas.values():
            free = AlterClientQuotaRequest(entity=found.entity, quotas=dict.fromkeys(found.quotas))
            kafka_cluster.execute([free], validate_only=False, principal="User:ANONYMOUS")
