"""What others changed between plan and apply stops a real apply before its first request."""

import json
import re
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import topic
from kafka_java_tools import CONFIGS, TOPICS

from kgitops.cluster.port import Cluster
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = [pytest.mark.kafka, pytest.mark.default_kafka]


def test_a_topic_deleted_and_created_again_survives_the_plan_that_deletes_it(
    kafka: Sandbox, kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops
) -> None:
    """A4-69b: a deletion is of a topic id, and a name is none."""
    project.write(topic("orders", deletionPolicy="Delete"), topic("kept"))
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    project.write(topic("kept"))
    assert kgitops("plan", "payments", "-o", "plan.json").code == 0
    old = _topic_id(kafka_cluster)

    kafka.tool(TOPICS, "--delete", "--topic", "orders")
    kafka.tool(TOPICS, "--create", "--topic", "orders", "--partitions", "1")
    new = _topic_id(kafka_cluster)
    assert new != old
    ran = kgitops("apply", "plan.json", "--auto-approve")
    assert ran.code == 4, ran
    assert "topic/orders" in ran.said
    assert _topic_id(kafka_cluster) == new
    assert _changes(kafka_cluster) == 0


def test_a_config_changed_by_kafka_configs_is_named_and_kept(
    kafka: Sandbox, kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops
) -> None:
    project.write(topic("orders", configs={"retention.ms": 60_000}))
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    project.write(topic("orders", configs={"retention.ms": 70_000}))
    assert kgitops("plan", "payments", "-o", "plan.json").code == 0

    kafka.tool(
        CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", "orders",
        "--add-config", "retention.ms=80000",
    )  # fmt: skip
    ran = kgitops("apply", "plan.json", "--auto-approve", "--format", "json")
    assert ran.code == 4, ran
    (reason,) = json.loads(ran.out.splitlines()[-1])["verdict"]["reasons"]
    assert "topic/orders" in reason["sentence"]
    assert "retention.ms" in reason["sentence"]
    assert kafka_cluster.read_state().topics["orders"].configs["retention.ms"] == "80000"
    assert _changes(kafka_cluster) == 0


def test_a_record_in_an_empty_topic_stops_the_plan_that_deletes_it(
    kafka: Sandbox, kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops
) -> None:
    """The plan was approved as one that loses nothing; the brokers decide whether it still is."""
    project.write(topic("orders", deletionPolicy="Delete"), topic("kept"))
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    project.write(topic("kept"))
    planned = kgitops("plan", "payments", "-o", "plan.json")
    assert (planned.code, "DATA LOSS" in planned.out) == (0, False), planned
    assert "1 empty topic is deleted" in planned.out

    old = _topic_id(kafka_cluster)
    _produce(kafka, "orders")
    ran = kgitops("apply", "plan.json", "--auto-approve")
    assert ran.code == 4, ran
    assert re.search("topic/orders: (records|bytes) was '0' and is '[1-9]", ran.said), ran
    assert (_topic_id(kafka_cluster), _changes(kafka_cluster)) == (old, 0)
    assert "DATA LOSS (1)" in kgitops("plan", "payments").out


def test_an_empty_topic_is_deleted(
    kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops
) -> None:
    project.write(topic("orders", deletionPolicy="Delete"), topic("kept"))
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    project.write(topic("kept"))
    assert kgitops("plan", "payments", "-o", "plan.json").code == 0
    ran = kgitops("apply", "plan.json", "--auto-approve")
    assert ran.code == 0, ran
    assert "orders" not in kafka_cluster.read_state().topics


def _produce(kafka: Sandbox, name: str) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.servers})
    producer.produce(name, b"1", partition=0)
    assert producer.flush(30) == 0


def _topic_id(cluster: Cluster) -> str | None:
    return cluster.read_state().topics["orders"].topic_id


def _changes(cluster: Cluster) -> int:
    """Wire batches that the journal tells of since the first apply, which needed one."""
    entries = cluster.registry.read() or ()
    begun = {entry.key for entry in entries if entry.value and entry.key.startswith("run/")}
    return sum("/plan/" not in key and key.count("/") == 2 for key in begun) - 1
