"""No kind is forgotten on real brokers: an export of all of them plans to nothing."""

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.every_kind import DEFAULTS, WORD, stages
from cli.projects import as_yaml

from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = [pytest.mark.kafka, pytest.mark.arrow]


def test_an_export_declares_all_that_the_project_manages(
    kafka: Sandbox, project: "KafkaProject", kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WORD, "a password of some length")
    (project.folder / "word.txt").write_text("another password")
    file = project.folder / "kgitops.yaml"
    content = json.loads(file.read_text().removeprefix("---"))
    content["spec"]["defaults"] = DEFAULTS
    file.write_text(as_yaml([content]))
    for documents in stages():
        project.write(*documents)
        allowed = ("--allow-secret-commands", "--allow-plaintext-secrets")
        ran = kgitops("apply", project.folder, "--auto-approve", *allowed)
        assert ran.code == 0, ran.said
    ran = kgitops("export", project.folder, "-o", "exported")
    assert ran.code == 0, ran.said
    assert "0 to adopt, nothing to change." in ran.said
    shutil.rmtree(project.manifests)
    shutil.move("exported", project.manifests)
    planned = kgitops("plan", project.folder, "--format", "json")
    changes = json.loads(planned.out)["changes"]
    assert [change["address"] for change in changes if change["requests"]] == []
    assert {action for change in changes for action in change["actions"]} == {"update"}
    assert kgitops("drift", project.folder, "--detailed-exitcode").code == 0
