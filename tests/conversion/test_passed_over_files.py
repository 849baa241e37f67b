"""No file of the source is left out without a word."""

import os
from pathlib import Path

import pytest

from kgitops.conversion.converting import ConvertedProject, convert

JIKKOU = """apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaTopic
metadata: {{name: {name}}}
spec: {{partitions: 1, replicas: 1}}
"""
TERRAFORM = """resource "kafka_topic" "{name}" {{
  name               = "{name}"
  partitions         = 1
  replication_factor = 1
}}
"""
KGITOPS = """apiVersion: kgitops/v1
kind: Topic
metadata: {{name: {name}}}
spec: {{partitions: 1, replicationFactor: 1}}
"""


def losses(converted: ConvertedProject) -> list[str]:
    return [
        f"{Path(loss.source.file).name}: {loss.problem}" for loss in converted.conversion.losses
    ]


LOOKS = "the name looks like a source file's, but files with this ending are not read"


@pytest.mark.parametrize("name", ["b.YAML", "b.yaml.tmp", "b.yml.bak"])
def test_a_renamed_file_is_a_loss(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.yaml").write_text(JIKKOU.format(name="a"))
    (tmp_path / name).write_text(JIKKOU.format(name="b"))
    (tmp_path / "a.yaml~").write_text(JIKKOU.format(name="a"))
    (tmp_path / "README.md").write_text("a")
    assert losses(convert(tmp_path, "jikkou", "x")) == [f"{name}: {LOOKS}"]


def test_a_pipe_is_a_loss(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JIKKOU.format(name="a"))
    os.mkfifo(tmp_path / "b.YAML")
    assert losses(convert(tmp_path, "jikkou", "x")) == ["b.YAML: it is not a file"]


def test_a_link_out_of_the_folder_is_a_loss_unless_it_is_to_prose(tmp_path: Path) -> None:
    folder = tmp_path / "prod"
    folder.mkdir()
    (folder / "a.tf").write_text(TERRAFORM.format(name="a"))
    for name in ("env.tf", "README.md"):
        (tmp_path / name).write_text("")
        (folder / name).symlink_to(f"../{name}")
    lost = losses(convert(folder, "terraform", "x"))
    assert lost == ["env.tf: the link leads out of the folder"]


def test_a_renamed_file_of_terraform_is_a_loss(tmp_path: Path) -> None:
    """Its backups and other tools' templates are none of Terraform's files."""
    (tmp_path / "a.tf").write_text(TERRAFORM.format(name="a"))
    (tmp_path / "b.TF").write_text(TERRAFORM.format(name="b"))
    for other in ("terraform.tfstate.backup", "a.tf.bak", "values.yaml.tpl"):
        (tmp_path / other).write_text("{}")
    assert losses(convert(tmp_path, "terraform", "x")) == [f"b.TF: {LOOKS}"]


def test_own_manifests_in_json_are_converted(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(KGITOPS.format(name="a"))
    (tmp_path / "b.json").write_text(
        '{"apiVersion": "kgitops/v1", "kind": "Topic", "metadata": {"name": "b"},'
        ' "spec": {"partitions": 1, "replicationFactor": 1}}'
    )
    converted = convert(tmp_path, "kgitops", "x")
    assert losses(converted) == []
    assert sorted(converted.files) == ["kgitops.yaml", "manifests/a.yaml", "manifests/b.yaml"]


def test_a_file_of_an_own_project_that_is_not_copied_is_a_loss(tmp_path: Path) -> None:
    (tmp_path / "kgitops.yaml").write_text(
        "apiVersion: kgitops/v1\nkind: Project\nmetadata: {name: p}\n"
        'spec: {manifests: [manifests], clusters: {local: {url: "embedded:x.db"}}}\n'
    )
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "a.yaml").write_text(KGITOPS.format(name="a"))
    (tmp_path / "trust.jks").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.md").write_text("kept")
    converted = convert(tmp_path, "kgitops", "x")
    assert losses(converted) == [
        "trust.jks: it is not UTF-8, or can't be read, so it is not copied"
    ]
    assert converted.files["notes.md"] == "kept"
