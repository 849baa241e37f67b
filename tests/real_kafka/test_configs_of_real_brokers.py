"""Dynamic configs of real brokers by the command line, and one that is down."""

from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, document, topic
from patience import eventually
from used import configs_of

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.model import requests as req
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka

KEY = "background.threads"


def brokers(name: str, **spec: object) -> Document:
    return document("BrokerConfig", name, configs={KEY: 11}, **spec)


def held(cluster: KafkaCluster, name: str) -> str | None:
    found = configs_of(cluster, ConfigResourceType.BROKER, frozenset({name}))
    return found.get(name, {}).get(KEY)


def test_they_are_set_restored_exported_and_removed(
    project: "KafkaProject", kafka_cluster: KafkaCluster, kgitops: Kgitops
) -> None:
    here, cluster = project.folder, ("-c", "kafka")
    project.write(
        brokers(ALL_BROKERS, deletionPolicy="Delete"), brokers("2"), topic(replicationFactor=1)
    )
    done = kgitops("apply", here, "--auto-approve", *cluster)
    assert done.code == 0, done.said
    assert kgitops("plan", here, "--detailed-exitcode", *cluster).code == 0
    request = req.AlterConfigResourceRequest(
        resource_type=ConfigResourceType.BROKER, resource_name="2", configs={KEY: "12"}
    )
    (answer,) = kafka_cluster.execute([request], validate_only=False, principal="User:other")
    assert answer.ok
    eventually(lambda: held(kafka_cluster, "2"), lambda it: it == "12", what="the other's value")
    drifted = kgitops("drift", here, *cluster)
    assert f"~ {KEY}  11 -> 12" in drifted.out
    exported = kgitops("export", here, "-o", "exported", *cluster)
    assert exported.code == 0, exported.said
    text = (here.parent / "exported" / "broker-configs.yaml").read_text()
    assert text.count(KEY) == 2
    assert "min.insync.replicas" not in text  # Kafka sets it itself (KIP-966)
    project.write(topic(replicationFactor=1))
    done = kgitops("apply", here, "--auto-approve", *cluster)
    assert done.code == 0, done.said
    for name in (ALL_BROKERS, "2"):
        eventually(lambda name=name: held(kafka_cluster, name), lambda it: it is None, what="gone")


def test_configs_of_a_broker_that_is_down_can_not_be_planned(
    project: "KafkaProject", kafka: Sandbox, kafka_cluster: KafkaCluster, kgitops: Kgitops
) -> None:
    project.write(brokers("3"), topic(replicationFactor=1))
    kafka.stop_broker(3)
    ran = eventually(
        lambda: kgitops("plan", project.folder, "-c", "kafka"),
        lambda ran: ran.code != 0,
        what="the brokers have noticed",
    )
    assert ran.code == 8, ran.said
    assert "broker 3" in ran.said
    ran = kgitops("plan", project.folder, "-c", "kafka", "--exclude", "broker-config/3")
    assert ran.code == 0, ran.said
