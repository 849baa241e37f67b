"""docs/reference/rights.md: the rights that it lists are enough, for a plan and for an apply."""

import re
import shlex
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from kafka_clusters import StartKafka

from kgitops.sandbox.sandbox import Sandbox

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "rights.md").read_text()
LINE = re.compile(r"^\$ kafka-acls\.sh (.*)$", re.MULTILINE)
ACLS = "org.apache.kafka.tools.AclCommand"
PROJECT = """
apiVersion: kgitops/v1
kind: Project
metadata: {{name: rights}}
spec:
  manifests: [all.yaml]
  defaultCluster: kafka
  clusters:
    kafka:
      url: "kafka://{servers}"
      configs: {configs}
"""
OBJECTS = """
apiVersion: kgitops/v1
kind: Topic
metadata: {{name: orders}}
spec:
  partitions: {partitions}
  replicationFactor: 1
  deletionPolicy: Delete
  configs: {{retention.ms: {retention}}}
---
apiVersion: kgitops/v1
kind: Acl
metadata: {{name: readers}}
spec:
  principal: User:{reader}
  permission: Allow
  operations: [Read]
  resource: {{type: topic, name: orders}}
---
apiVersion: kgitops/v1
kind: ClientQuota
metadata: {{name: reader}}
spec:
  entity: {{user: reader}}
  quotas: {{consumer_byte_rate: {rate}}}
---
apiVersion: kgitops/v1
kind: Topic
metadata: {{name: kept}}
spec: {{partitions: 1, replicationFactor: 1}}
"""


def give(sandbox: Sandbox, heading: str) -> None:
    """The rights below a heading of the page."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = LINE.findall(section)
    assert len(lines) == 4
    for line in lines:
        sandbox.tool(ACLS, *shlex.split(line.replace("User:kgitops", "User:alice")))


def test_the_rights_of_the_page_are_enough(
    own_kafka: StartKafka, kgitops: Kgitops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = own_kafka(sasl=True)
    configs = {**sandbox.configs, "sasl.username": "alice", "sasl.password": "${env:PASSWORD}"}
    monkeypatch.setenv("PASSWORD", "alice-secret")
    (tmp_path / "kgitops.yaml").write_text(
        PROJECT.format(servers=sandbox.servers, configs=dict(configs))
    )

    def declare(**values: object) -> None:
        (tmp_path / "all.yaml").write_text(OBJECTS.format(**values))

    declare(partitions=1, retention=1000, reader="app", rate=1000)
    nothing = kgitops("plan", tmp_path)
    lacks = (
        "grant it Read on __kgitops, Describe on the cluster, DescribeConfigs on the cluster, "
        "Describe on all topics and DescribeConfigs on all topics, as docs/reference/rights.md "
        "shows"
    )
    assert (nothing.code, "let User:alice read " in nothing.said) == (8, True), nothing.said
    assert lacks in " ".join(nothing.said.split())
    give(sandbox, "To plan")
    planned = kgitops("plan", tmp_path)
    assert (planned.code, "4 to create" in planned.said) == (0, True), planned.said
    refused = kgitops("apply", tmp_path, "--auto-approve")
    assert refused.code == 8, refused.said
    give(sandbox, "To apply")
    for values in (
        {"partitions": 1, "retention": 1000, "reader": "app", "rate": 1000},
        {"partitions": 3, "retention": 2000, "reader": "other", "rate": 2000},
    ):
        declare(**values)
        applied = kgitops("apply", tmp_path, "--auto-approve", "--allow-deletes", "Acl=1")
        assert applied.code == 0, applied.said
        again = kgitops("plan", tmp_path, "--detailed-exitcode")
        assert again.code == 0, again.said
    (tmp_path / "all.yaml").write_text(OBJECTS.format(**values).partition("---\n")[2])
    deleted = kgitops("apply", tmp_path, "--auto-approve", "--allow-deletes", "Topic=1")
    assert deleted.code == 0, deleted.said
    assert "1 to delete" in deleted.said
