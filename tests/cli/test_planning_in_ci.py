"""What workflows build on: annotations on stdout, and plans from a snapshot without secrets."""

from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, topic
from report.workflow_commands import commands


def test_findings_are_annotated_on_stdout_and_told_on_stderr(
    project: Project, kgitops: Kgitops
) -> None:
    project.write(topic("orders", partitons=1))
    ran = kgitops("plan", project.folder, "--format", "github")
    (found,) = commands(ran.out)
    assert (ran.code, found.name) == (1, "error")
    assert found.properties["file"] == "payments/manifests/all.yaml"
    assert "partitons is not a field of Topic" in found.message
    assert "payments/manifests/all.yaml:" in ran.err


@pytest.mark.parametrize("words", [("plan", "--nonsense", "--format=github"), ("plan", "nowhere")])
def test_words_that_cant_be_meant_are_annotated_too(
    words: tuple[str, ...], kgitops: Kgitops
) -> None:
    ran = kgitops(*words, "--format", "github")
    (found,) = commands(ran.out)
    assert (ran.code, found.properties["title"]) == (64, "kgitops exit 64")
    assert f"kgitops: {found.message}" == ran.err.strip()


def test_a_saved_plan_is_annotated_again(project: Project, kgitops: Kgitops) -> None:
    project.write(topic("orders", deletionPolicy="Delete"), topic("kept"))
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    project.write(topic("kept"))
    planned = kgitops("plan", project.folder, "-o", project.plan_file, "--format", "github")
    assert commands(planned.out)[0].properties["title"] == "KG107 empty-topic-delete"
    assert kgitops("show", project.plan_file, "--format", "github").out == planned.out


def test_a_plan_from_a_snapshot_needs_no_secret(
    project: Project, kgitops: Kgitops, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pull request from a fork gets none; only what the manifests ask for is still needed."""
    project.write(topic("orders"))
    assert kgitops("snapshot", project.folder, "-o", here / "state.json").code == 0
    secretive = {
        "url": "kafka://${env:KAFKA_HOST}:9093",
        "configs": {"sasl.password": "${env:KAFKA_PASSWORD}"},
        "variables": {"partitions": "${env:PARTITIONS}"},
    }
    for name in ("KAFKA_HOST", "KAFKA_PASSWORD", "PARTITIONS"):
        monkeypatch.delenv(name, raising=False)
    project.write_file(clusters={"prod": secretive})
    words = ("plan", project.folder, "--snapshot", here / "state.json", "--detailed-exitcode")
    asked = kgitops(*words)
    assert (asked.code, "PARTITIONS" in asked.err, "KAFKA" in asked.err) == (1, True, False)
    monkeypatch.setenv("PARTITIONS", "3")
    assert kgitops(*words).code == 2
    connecting = kgitops("plan", project.folder)
    assert (connecting.code, "${env:KAFKA_PASSWORD} has no value" in connecting.err) == (1, True)
