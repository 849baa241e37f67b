"""What loses nothing is not reported: false alarms teach people ``--allow-losses``."""

from pathlib import Path

import pytest
from manifests.loading import write

from kgitops.conversion.converting import convert
from kgitops.conversion.objects import SourceObject

TERRAFORM = """\
variable "retention" { default = null }
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 1
  replication_factor = 1
  config = {
    "retention.ms"   = var.retention
    "segment.ms"     = null
    "cleanup.policy" = "compact"
  }
}
"""
CUSTOM_ACL = """\
      read:
        {name: x, type: TOPIC, pattern: LITERAL, principal: "User:b", operation: READ}
"""
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: NAME, cluster: local}
spec: {kafkaUser: NAME-user}
---
"""
NS4KAFKA = """\
apiVersion: v1
kind: Topic
metadata: {name: shop.orders}
spec: {partitions: 1, replicationFactor: 1}
---
apiVersion: v1
kind: KafkaStream
metadata: {name: shop.app}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: limits}
spec: {user/producer_byte_rate: 1024}
"""


def objects(folder: Path, tool: str, text: str, name: str = "a.yaml") -> list[SourceObject]:
    write(folder, {name: text})
    return list(convert(folder, tool, "x", compacted=False).conversion.objects)


def problems(found: list[SourceObject]) -> list[str]:
    return [loss.problem for item in found for loss in item.losses]


def test_a_config_that_is_null_is_not_there_to_terraform(tmp_path: Path) -> None:
    found = objects(tmp_path, "terraform", TERRAFORM, "main.tf")
    assert problems(found) == []
    (topic,) = [document for item in found for document in item.documents]
    assert topic.spec["configs"] == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("owner", "section", "entry"),
    [
        ("services", "customServiceAcls", '{type: application, principal: "User:b"}'),
        ("users", "customUserAcls", '{principal: "User:b"}'),
    ],
)
def test_one_with_custom_acls_only_loses_nothing(
    owner: str, section: str, entry: str, tmp_path: Path
) -> None:
    text = f"{owner}:\n  b: {entry}\n"
    found = objects(tmp_path, "kafka-gitops", f"{text}{section}:\n    b:\n{CUSTOM_ACL}")
    assert problems(found) == []
    assert [len(item.documents) for item in found if item.kind == section] == [1]
    alone = objects(tmp_path, "kafka-gitops", text)
    assert problems(alone) == [f"{owner[:-1]} b grants nothing"]


def test_a_whitelist_loses_nothing(tmp_path: Path) -> None:
    text = "settings: {topics: {whitelist: {prefixed: [a.]}}}\n"
    found = objects(
        tmp_path, "kafka-gitops", f"{text}topics: {{a.b: {{partitions: 1, replication: 1}}}}"
    )
    assert problems(found) == []


def test_the_only_namespace_is_that_of_a_resource_without_one(tmp_path: Path) -> None:
    found = objects(tmp_path, "ns4kafka", NAMESPACE.replace("NAME", "shop") + NS4KAFKA)
    assert problems(found) == []
    users = [
        document.spec.get("principal") or document.spec["entity"]
        for item in found
        for document in item.documents
        if document.kind != "Topic"
    ]
    assert users == ["User:shop-user", {"user": "shop-user"}]


@pytest.mark.parametrize(
    ("names", "word"), [([], "no namespace"), (["a", "b"], "several namespaces")]
)
def test_a_resource_without_a_namespace_says_what_to_write(
    names: list[str], word: str, tmp_path: Path
) -> None:
    namespaces = "".join(NAMESPACE.replace("NAME", name) for name in names)
    found = objects(tmp_path, "ns4kafka", namespaces + NS4KAFKA)
    said = f"no namespace is written, and the files have {word}"
    assert problems(found) == [f"KafkaStream shop.app: {said}", f"ResourceQuota limits: {said}"]
