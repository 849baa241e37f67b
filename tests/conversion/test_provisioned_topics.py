"""Compose files, Helm values and the output of Kafka's tools."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import convert
from kgitops.conversion.objects import Conversion
from kgitops.model.registry import Json

COMPOSE = """\
services:
  kafka:
    environment:
      KAFKA_CREATE_TOPICS: "orders:3:1, customers:6:2:compact"
  other:
    environment:
    - KAFKA_CREATE_TOPICS_SEPARATOR=;
    - KAFKA_CREATE_TOPICS=a:1:1;b:2:1
"""
VALUES = """\
global: {x: 1}
kafka:
  provisioning:
    numPartitions: 6
    topics:
    - {name: orders, partitions: 9, config: {max.message.bytes: 10000000}}
    - {name: returns, replicationFactor: 3}
"""
HEADER = "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, "
LISTING = f"""\
$ kafka-topics.sh --describe
[2026-01-01 00:00:00,000] WARN slow
Topic: orders\tTopicId: aBc\tPartitionCount: 3\tReplicationFactor: 2\t\
Configs: cleanup.policy=compact,delete,retention.ms=1000
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \u0020
Topic: __consumer_offsets\tTopicId: aBc\tPartitionCount: 50\tReplicationFactor: 1\tConfigs: \u0020
Topic:old\tPartitionCount:1\tReplicationFactor:1\tConfigs:
{HEADER}patternType=PREFIXED)`: \u0020
 \t(principal=User:CN=app, OU=x, host=*, operation=READ, permissionType=ALLOW)
\t(principal=User:CN=app, OU=x, host=*, operation=DESCRIBE, permissionType=ALLOW) \u0020

Current ACLs for resource `Cluster:LITERAL:kafka-cluster`: \u0020
 \tUser:b has Deny permission for operations: Create from hosts: 10.0.0.1
"""


def converted(folder: Path, tool: str, name: str, text: str) -> Conversion:
    write(folder, {name: text})
    project = convert(folder, tool, "x", compacted=False)
    assert not project.findings
    return project.conversion


def specs(conversion: Conversion) -> dict[str, dict[str, Json]]:
    return {
        document.name: dict(document.spec)
        for item in conversion.objects
        for document in item.documents
    }


def problems(conversion: Conversion) -> list[str]:
    return [f"{loss.source.line}: {loss.problem}" for loss in conversion.losses]


def test_topics_of_a_compose_file(tmp_path: Path) -> None:
    found = converted(tmp_path, "auto", "compose.yml", COMPOSE)
    assert (found.tool, found.losses) == ("compose", ())
    assert specs(found) == {
        "orders": {"partitions": 3, "replicationFactor": 1},
        "customers": {
            "partitions": 6,
            "replicationFactor": 2,
            "configs": {"cleanup.policy": "compact"},
        },
        "a": {"partitions": 1, "replicationFactor": 1},
        "b": {"partitions": 2, "replicationFactor": 1},
    }


@pytest.mark.parametrize(
    ("topics", "problem"),
    [
        ("a:1", "topic 'a:1': the form is NAME:PARTITIONS:REPLICAS"),
        ("a:x:1", "topic 'a:x:1': the form is NAME:PARTITIONS:REPLICAS"),
        ("a:1:1:compact:x", "topic 'a:1:1:compact:x': the form is"),
        ("orders:1:1:comapct", "topic orders: cleanup.policy"),
        ("${TOPICS}", "topic ${TOPICS} has the template '${TOPICS}'"),
        ("a:0:1", "topic a leaves partitions to the broker"),
    ],
)
def test_a_topic_of_a_compose_file_that_can_not_be_read(
    topics: str, problem: str, tmp_path: Path
) -> None:
    text = COMPOSE.replace("orders:3:1", topics)
    found = converted(tmp_path, "compose", "compose.yml", text)
    (said,) = problems(found)
    assert said.startswith(f"4: {problem}")
    assert sorted(specs(found))[:3] == ["a", "b", "customers"]


def test_topics_of_helm_values(tmp_path: Path) -> None:
    found = converted(tmp_path, "auto", "values.yaml", VALUES)
    assert (found.tool, found.losses) == ("helm", ())
    assert specs(found) == {
        "orders": {
            "partitions": 9,
            "replicationFactor": 1,
            "configs": {"max.message.bytes": 10000000},
        },
        "returns": {"partitions": 6, "replicationFactor": 3},
    }


def test_helm_values_that_create_no_topic_are_reported(tmp_path: Path) -> None:
    text = VALUES.replace("numPartitions: 6", "enabled: false")
    found = converted(tmp_path, "helm", "values.yaml", text)
    assert problems(found) == [
        "3: provisioning: Helm creates its topics only where enabled is true"
    ]
    assert not specs(found)
    commands = VALUES.replace("numPartitions: 6", "extraProvisioningCommands: [kafka-acls.sh]")
    found = converted(tmp_path, "helm", "values.yaml", commands)
    assert problems(found) == [
        "4: provisioning: extraProvisioningCommands: convert runs no commands"
    ]


def test_the_output_of_the_tools_of_kafka(tmp_path: Path) -> None:
    found = converted(tmp_path, "auto", "cluster.txt", LISTING)
    assert (found.tool, found.losses) == ("kafka-tools", ())
    found_specs = specs(found)
    assert found_specs.pop("orders") == {
        "partitions": 3,
        "replicationFactor": 2,
        "configs": {"cleanup.policy": "compact,delete", "retention.ms": 1000},
    }
    assert found_specs.pop("old") == {"partitions": 1, "replicationFactor": 1}
    assert list(found_specs.values()) == [
        {
            "principal": "User:CN=app, OU=x",
            "permission": "Allow",
            "operations": ["Read", "Describe"],
            "resource": {"type": "topic", "name": "orders", "patternType": "prefixed"},
        },
        {
            "principal": "User:b",
            "host": "10.0.0.1",
            "permission": "Deny",
            "operations": ["Create"],
            "resource": {"type": "cluster", "name": "kafka-cluster"},
        },
    ]


def test_a_line_that_kafkas_tools_do_not_write_is_reported(tmp_path: Path) -> None:
    text = LISTING.replace("Topic:old", "Topc:old").replace("operation=READ", "operation=REED")
    found = converted(tmp_path, "kafka-tools", "cluster.txt", text)
    assert problems(found) == [
        "6: the line is none that kafka-topics --describe or kafka-acls --list writes",
        "7: acls of topic orders: Kafka has no operation 'REED'",
    ]


def test_a_topic_that_is_being_deleted_is_reported(tmp_path: Path) -> None:
    text = LISTING.replace("retention.ms=1000", "retention.ms=1000\tMarkedForDeletion: true")
    found = converted(tmp_path, "kafka-tools", "cluster.txt", text)
    assert problems(found) == ["3: topic orders: it is being deleted"]


def test_a_file_of_any_name_can_be_given(tmp_path: Path) -> None:
    write(tmp_path, {"topics": LISTING})
    assert convert(tmp_path / "topics", "auto", "x").conversion.tool == "kafka-tools"


def test_beside_files_of_a_tool_they_are_offered(tmp_path: Path) -> None:
    state = "topics: {orders: {partitions: 3, replication: 1}}\n"
    write(tmp_path, {"a.yml": COMPOSE, "b.yaml": VALUES, "c.txt": LISTING, "d.yaml": state})
    conversion = convert(tmp_path, "auto", "x").conversion
    assert conversion.tool == "kafka-gitops"
    assert [name.rpartition("/")[2] for name in conversion.offered] == [
        "a.yml:4 KAFKA_CREATE_TOPICS: convert with --from compose",
        "a.yml:8 KAFKA_CREATE_TOPICS: convert with --from compose",
        "b.yaml:3 provisioning.topics: convert with --from helm",
        "c.txt:1 output of Kafka's tools: convert with --from kafka-tools",
    ]
