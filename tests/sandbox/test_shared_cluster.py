"""Properties of the shared cluster that every test on it relies on."""

from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    CreateAclsRequest,
    CreateTopicsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_wiping import BROKER, SET, wipe
from patience import eventually

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.port import Cluster
from kgitops.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.kafka

TOPICS = "org.apache.kafka.tools.TopicCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
CONFIGS = "kafka.admin.ConfigCommand"


def contents(kafka: Sandbox) -> dict[str, str]:
    """The output of Kafka's own tools, for each kind of object."""
    described = {
        kind: kafka.tool(CONFIGS, "--describe", "--entity-type", kind)
        for kind in ("users", "brokers")
    }
    topics = kafka.tool(TOPICS, "--list", "--exclude-internal")
    return {"topics": topics, "acls": kafka.tool(ACLS, "--list"), **described}


def litter() -> list[Any]:
    """Requests that create one object of each kind."""
    topic = CreateTopicsRequest.CreatableTopic
    acl = CreateAclsRequest.AclCreation
    quota = AlterClientQuotasRequest.EntryData
    return [
        CreateTopicsRequest(
            topics=[
                topic(
                    name="left", num_partitions=1, replication_factor=3, assignments=[], configs=[]
                )
            ],
            timeout_ms=30_000,
            validate_only=False,
        ),
        CreateAclsRequest(
            creations=[
                acl(
                    resource_type=2,
                    resource_name="left",
                    resource_pattern_type=3,
                    principal="User:a",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
            ]
        ),
        AlterClientQuotasRequest(
            entries=[
                quota(
                    entity=[quota.EntityData(entity_type="user", entity_name=None)],
                    ops=[quota.OpData(key="producer_byte_rate", value=1024.0, remove=False)],
                )
            ],
            validate_only=False,
        ),
        broker_configs("", {"log.retention.ms": "1000", "min.insync.replicas": "2"}),
        broker_configs("2", {"log.cleaner.threads": "2"}),
    ]


def broker_configs(broker: str, configs: dict[str, str]) -> Any:  # noqa: ANN401 (a message)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig
    changed = [config(name=k, config_operation=SET, value=v) for k, v in configs.items()]
    one = resource(resource_type=BROKER, resource_name=broker, configs=changed)
    return IncrementalAlterConfigsRequest(resources=[one], validate_only=False)


def test_nothing_of_one_test_is_seen_by_the_next(
    kafka: Sandbox, kafka_cluster: KafkaCluster
) -> None:
    empty = contents(kafka)
    assert all("left" not in shown and "_byte_rate" not in shown for shown in empty.values())
    for request in litter():
        kafka_cluster.wire.send(request, to=2)
    eventually(
        lambda: [kind for kind, shown in contents(kafka).items() if shown == empty[kind]],
        lambda unseen: not unseen,
        what="everything that was made is seen",
    )
    wipe(kafka)
    assert contents(kafka) == empty


def test_one_test_may_kill_a_broker(kafka: Sandbox, kafka_cluster: Cluster) -> None:
    kafka.kill(2)
    assert kafka.running == (1, 3)


def test_and_the_next_has_three_again(kafka: Sandbox, kafka_cluster: Cluster) -> None:
    assert kafka.running == (1, 2, 3)
