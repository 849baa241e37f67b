"""``kgitops convert``: what it writes, what it refuses, and what it never copies."""

import json
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, document, topic
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


def test_a_folder_named_like_a_file_becomes_one_that_can_be_loaded(
    kgitops: Kgitops, tmp_path: Path
) -> None:
    write(tmp_path / "in", {"topics.yaml/orders\n.yaml": TOPIC})
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "kafka")
    assert ran.code == 0, ran.err
    assert (tmp_path / "kafka/manifests/topics/orders-.yaml").is_file()
    assert kgitops("validate", tmp_path / "kafka").code == 0


@pytest.mark.parametrize("folder", ["shop", "."])
def test_findings_name_the_files_that_were_given(folder: str, here: Path, kgitops: Kgitops) -> None:
    """Whatever is copied to be checked."""
    project = Project(here / folder).write(topic("orders"))
    project.write_file(policies=["policies"])
    (project.folder / "policies").mkdir()
    (project.folder / "policies/a.yaml").write_text("kind: Policy\n")
    below = "" if folder == "." else f"{folder}/"
    ran = kgitops("convert", folder, "-o", "out")
    assert ran.code == 1
    assert f"{below}policies/a.yaml:1:1: apiVersion is missing; write kgitops/v1" in ran.said
    project.write_file(policies=[{"class": "own:Policy"}])
    ran = kgitops("convert", folder, "-o", "out")
    assert f"there is no module own in {folder} or among the installed packages" in ran.said
    assert "kgitops-convert-" not in ran.said


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


VARIABLES = """\
variable "size" { type = number }
variable "name" { type = string }
resource "kafka_topic" "a" {
  name               = var.name
  partitions         = var.size
  replication_factor = 1
}
"""


def test_variables_take_values_from_the_command_and_the_environment(
    kgitops: Kgitops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"in/main.tf": VARIABLES, "a.tfvars": "size = 1\n", "b.tfvars": "size = 2\n"})
    monkeypatch.setenv("TF_VAR_name", "orders")
    monkeypatch.setenv("TF_VAR_size", "9")
    given = ("--var-file", tmp_path / "a.tfvars", "--var-file", tmp_path / "b.tfvars")
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "out", *given)
    assert ran.code == 0, ran.err
    written = (tmp_path / "out/manifests/main.yaml").read_text()
    assert "{name: orders}" in written
    assert "partitions: 2" in written
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "x", "--var-file", "none.tfvars")
    assert ran.code == 64
    assert "--var-file none.tfvars: there is no such file; correct the path" in ran.said


def test_topics_for_another_run_are_listed(kgitops: Kgitops, tmp_path: Path) -> None:
    compose = 'services: {kafka: {environment: {KAFKA_CREATE_TOPICS: "a:1:1"}}}\n'
    write(tmp_path / "in", {"topics.yaml": TOPIC, "compose.yml": compose})
    ran = kgitops("convert", tmp_path / "in", "-o", tmp_path / "out")
    assert ran.code == 0, ran.err
    line = "compose.yml:1 KAFKA_CREATE_TOPICS: convert with --from compose"
    assert line in ran.said
    assert line in (tmp_path / "out/CONVERTED.md").read_text()
