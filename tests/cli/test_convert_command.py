"""``kgitops convert``: what it writes, what it refuses, and what it never copies."""

import json
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, document
from manifests.loading import write

from kgitops.model.requests import CreateTopicRequest
from kgitops.model.resources.topics import RequestedTopicState

TOPIC = """\
# Every order, as it is placed.
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata:
  name: orders
  labels: {strimzi.io/cluster: main, team: shop}
spec:
  partitions: 6
  replicas: 3
  config:
    retention.ms: 604800000   # a week
"""
CONNECTOR = """\
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {name: sink}
spec: {class: org.example.Sink}
"""
USER = """\
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: billing, labels: {strimzi.io/cluster: main}}
spec:
  authentication: {type: scram-sha-512, password: {valueFrom: {secretKeyRef: {name: s, key: k}}}}
  authorization:
    type: simple
    acls:
      - {resource: {type: topic, name: orders}, operations: [Read, Describe]}
      - {resource: {type: group, name: billing, patternType: prefix}, operations: [Read]}
"""


def test_a_folder_becomes_a_project(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path / "topics", {"shop/orders.yaml": TOPIC})
    ran = kgitops("convert", tmp_path / "topics", "-o", tmp_path / "kafka")
    assert ran.code == 0, ran.err
    written = tmp_path / "kafka"
    assert sorted(str(path.relative_to(written)) for path in written.rglob("*.*")) == [
        "CONVERTED.md",
        "kgitops.yaml",
        "manifests/shop/orders.yaml",
    ]
    assert (written / "manifests/shop/orders.yaml").read_text() == (
        "---\n"
        "# Every order, as it is placed.\n"
        "# a week\n"
        "apiVersion: kgitops/v1\n"
        "kind: Topic\n"
        "metadata: {name: orders, labels: {team: shop}}\n"
        "spec: {partitions: 6, replicationFactor: 3, configs: {retention.ms: 604800000}}\n"
    )
    assert 'url: "kafka://main-kafka-bootstrap:9092"' in (written / "kgitops.yaml").read_text()
    assert kgitops("validate", written).code == 0


def test_losses_stop_it_and_nothing_is_written(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path, {"topics.yaml": TOPIC + CONNECTOR})
    ran = kgitops("convert", tmp_path / "topics.yaml", "-o", tmp_path / "kafka")
    assert ran.code == 1
    assert "topics.yaml:13:1: KafkaConnector sink: kgitops has no such kind" in ran.err
    assert not (tmp_path / "kafka").exists()


def test_allowed_losses_stand_where_they_were(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path, {"topics.yaml": TOPIC + CONNECTOR + USER})
    out = tmp_path / "kafka"
    ran = kgitops("convert", tmp_path / "topics.yaml", "-o", out, "--allow-losses")
    assert ran.code == 0, ran.err
    manifest = (out / "manifests/topics.yaml").read_text()
    assert "# NOT CONVERTED (topics.yaml:13): KafkaConnector sink: kgitops has no such" in manifest
    assert "password: {env: BILLING_PASSWORD}" in manifest
    assert "- `BILLING_PASSWORD`" in (out / "CONVERTED.md").read_text()
    assert ran.out.count("BILLING_PASSWORD") == 1
    assert "KafkaConnector sink" in (out / "CONVERTED.md").read_text()
    assert manifest.index("name: orders") < manifest.index("sink") < manifest.index("User:billing")


def test_a_second_run_into_the_folder_is_refused(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path, {"topics.yaml": TOPIC})
    out = tmp_path / "kafka"
    assert kgitops("convert", tmp_path / "topics.yaml", "-o", out).code == 0
    before = (out / "kgitops.yaml").read_bytes()
    again = kgitops("convert", tmp_path / "topics.yaml", "-o", out)
    assert again.code == 64
    assert "kafka is not empty; name a new folder, nothing is overwritten" in again.err
    assert (out / "kgitops.yaml").read_bytes() == before


def test_two_files_that_disagree_stop_it_whatever_is_allowed(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    other = TOPIC.replace("partitions: 6", "partitions: 9")
    write(tmp_path / "in", {"a.yaml": TOPIC, "b.yaml": other})
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "kafka", "--allow-losses")
    assert ran.code == 1
    assert "KafkaTopic orders is declared differently at" in ran.err
    assert "keep one of the two, or convert their folders one by one" in ran.err
    assert not (tmp_path / "kafka").exists()


def test_templates_are_told_and_not_guessed(kgitops: Kgitops, tmp_path: Path) -> None:
    helm = TOPIC.replace("partitions: 6", "partitions: {{ .Values.partitions }}")
    flux = "---\n" + TOPIC.replace("name: orders", "name: ${TOPIC}", 1)
    write(tmp_path, {"helm.yaml": helm + flux})
    ran = kgitops("convert", "--from", "strimzi", tmp_path / "helm.yaml", "-o", tmp_path / "kafka")
    assert ran.code == 1
    assert "the document is a template, and what it stands for is not known here" in ran.err
    assert "has the template '${TOPIC}', whose value is not known here" in ran.err


def test_secrets_are_never_copied(kgitops: Kgitops, tmp_path: Path) -> None:
    secret = "Xy7-open-sesame"  # noqa: S105 (what must not be found)
    jikkou = f"""\
# password: {secret}
apiVersion: kafka.jikkou.io/v1
kind: KafkaUser
metadata: {{name: bob}}
spec: {{authentications: [{{type: scram-sha-512, password: {secret}}}]}}
---
# token={secret}
# the password is {secret}
# see https://bob:{secret}@example.org/
apiVersion: kafka.jikkou.io/v1
kind: KafkaTopic
metadata: {{name: orders, labels: {{api-key: {secret}}}}}
spec: {{partitions: 1, replicas: 1, configs: {{confluent.client.password: {secret}}}}}
"""
    write(tmp_path, {"users.yaml": jikkou})
    out = tmp_path / "kafka"
    ran = kgitops("convert", tmp_path / "users.yaml", "-o", out, "--allow-losses")
    assert ran.code == 0, ran.err
    texts = [ran.out, ran.err, *(path.read_text() for path in out.rglob("*.*"))]
    assert "KafkaUser bob: its password is a secret that was not copied" in ran.err
    assert "password: {env: BOB_PASSWORD}" in (out / "manifests/users.yaml").read_text()
    assert not any(secret in text for text in texts)


def test_names_that_kafka_refuses_are_told_at_their_line(kgitops: Kgitops, tmp_path: Path) -> None:
    wrong = TOPIC.replace("name: orders", "name: a/b", 1)
    write(tmp_path, {"topics.yaml": wrong})
    ran = kgitops("convert", tmp_path / "topics.yaml", "-o", tmp_path / "kafka")
    assert ran.code == 1
    assert "topics.yaml:2:1: KafkaTopic a/b:" in ran.err
    assert "Kafka refuses it; rename it there" in ran.err


def test_links_out_of_the_folder_are_not_followed(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path, {"outside.yaml": TOPIC, "in/topics.yaml": TOPIC.replace("orders", "others")})
    (tmp_path / "in/linked.yaml").symlink_to(tmp_path / "outside.yaml")
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "kafka")
    assert ran.code == 1
    assert "linked.yaml:1:1: the link leads out of the folder; convert it itself" in ran.err


def test_a_folder_named_like_a_file_becomes_one_that_can_be_loaded(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    write(tmp_path / "in", {"topics.yaml/orders\n.yaml": TOPIC})
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "kafka")
    assert ran.code == 0, ran.err
    assert (tmp_path / "kafka/manifests/topics/orders-.yaml").is_file()
    assert kgitops("validate", tmp_path / "kafka").code == 0


def test_an_empty_folder_stays_the_folder_that_it_is(
    kgitops: Kgitops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "in", {"topics.yaml": TOPIC})
    (tmp_path / "kafka").mkdir()
    monkeypatch.chdir(tmp_path / "kafka")
    assert kgitops("convert", "../in", "-o", ".").code == 0
    assert sorted(path.name for path in Path().iterdir()) == [
        "CONVERTED.md",
        "kgitops.yaml",
        "manifests",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "kafka"]


def test_nothing_is_left_of_a_run_that_is_interrupted(
    kgitops: Kgitops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "in", {"topics.yaml": TOPIC})
    written = Path.write_text

    def interrupted(path: Path, text: str, encoding: str) -> int:
        if path.name == "CONVERTED.md":
            raise KeyboardInterrupt
        return written(path, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", interrupted)
    assert kgitops("convert", tmp_path / "in", "-o", tmp_path / "kafka").code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_versions_that_are_not_known_are_told(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path, {"topics.yaml": TOPIC.replace("io/v1", "io/v7")})
    ran = kgitops("convert", tmp_path / "topics.yaml", "-o", tmp_path / "kafka")
    assert ran.code == 1
    assert "KafkaTopic orders: kgitops does not know kafka.strimzi.io/v7" in ran.err


def test_a_template_without_a_tool_is_named(kgitops: Kgitops, tmp_path: Path) -> None:
    write(tmp_path / "in", {"topics.yaml": "{{- range .Values.topics }}\n" + TOPIC})
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "kafka")
    assert ran.code == 64
    assert "topics.yaml:1:3: the document is a template" in ran.err


def test_files_of_several_tools_or_of_none_are_told(kgitops: Kgitops, tmp_path: Path) -> None:
    kdef = "apiVersion: v1\nkind: topic\nmetadata: {name: a}\nspec: {partitions: 1}\n"
    write(tmp_path, {"both/a.yaml": TOPIC, "both/b.yaml": kdef, "none/c.yaml": "a: 1\n"})
    both = kgitops("convert", tmp_path / "both", "-o", tmp_path / "kafka")
    assert both.code == 64
    assert "has files of several tools: kdef (1), strimzi (1); choose one with --from" in both.err
    none = kgitops("convert", tmp_path / "none", "-o", tmp_path / "kafka")
    assert none.code == 64
    assert "has no files of a tool that kgitops knows; say which with --from" in none.err
    (tmp_path / "empty").mkdir()
    nothing = kgitops(
        "convert", "--from", "terraform", tmp_path / "empty", "-o", tmp_path / "kafka"
    )
    assert nothing.code == 64
    assert "empty has nothing of terraform; name the folder or file with it" in nothing.err
    assert not (tmp_path / "kafka").exists()
    near = kgitops("convert", "--from", "strimsi", tmp_path, "-o", tmp_path / "kafka")
    assert near.code == 64
    assert "--from strimsi: there is no such tool; did you mean strimzi?" in near.err


TERRAFORM = """\
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 1
  replication_factor = 1
  config             = { "retention.ms" = "1000", "cleanup.policy" = "delete" }
  lifecycle {
    ignore_changes  = [config["retention.ms"]]
    prevent_destroy = true
  }
}
"""


def test_a_plan_changes_nothing_that_terraform_ignores(
    kgitops: Kgitops, project: Project, tmp_path: Path
) -> None:
    """The topic keeps its records for a week, which was set by hand."""
    project.write(document("Topic", "other", partitions=1, replicationFactor=1))
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    configs = {"retention.ms": "604800000"}
    state = RequestedTopicState(
        name="a", topic_id=None, assignment=((1,),), configs=configs, requested_configs=configs
    )
    project.change_behind(CreateTopicRequest(topic="a", requested_state=state))
    write(tmp_path, {"terraform/main.tf": TERRAFORM})
    ran = kgitops("convert", tmp_path / "terraform", "-o", tmp_path / "kafka")
    assert ran.code == 1
    assert "main.tf:7:24: kafka_topic a: Terraform ignores changes of retention.ms" in ran.err
    ran = kgitops("convert", tmp_path / "terraform", "-o", tmp_path / "kafka", "--allow-losses")
    assert ran.code == 0, ran.err
    assert "deletionPolicy: Protect" in (tmp_path / "kafka/manifests/main.yaml").read_text()
    ran = kgitops("plan", tmp_path / "kafka", "-c", f"embedded:{project.store}", "--format", "json")
    assert ran.code == 0, ran.err
    (change,) = json.loads(ran.out)["changes"]
    assert change["address"] == "topic/a"
    changed = [field["path"] for field in change["fields"]]
    assert not [path for path in changed if "retention" in path]
