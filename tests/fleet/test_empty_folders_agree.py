"""A fleet refuses to remove objects while a folder is empty, as a plan of one cluster does."""

from pathlib import Path

import pytest
from cli.projects import Project, topic
from fleet.both_ways import Given, check_a_fleet_agrees, snapshot_of
from laws.twin_clusters import embedded, workspace_of
from msgspec.structs import replace

from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action


@pytest.mark.parametrize("policy", ["Delete", "Protect"])
def test_compiled_rows_know_the_empty_folders_too(tmp_path: Path, policy: str) -> None:
    project = Project(tmp_path / "payments")
    project.write(topic("kept"), topic("old", deletionPolicy=policy))
    with embedded(tmp_path, "1") as twin:
        workspace = workspace_of(project.folder)
        twin.apply(twin.plan(workspace), workspace)
        state = snapshot_of(twin.cluster)
    project.write(topic("kept"))
    (project.folder / "manifests" / "team").mkdir()
    given = Given(project=project.folder, cluster="local", state=state)
    plan = check_a_fleet_agrees(given, tmp_path)
    assert plan is not None
    assert plan.verdict.exit is ExitCode.REFUSED
    assert plan.count(Action.DELETE) == (policy == "Delete")
    assert "team is empty, so files may be missing" in plan.refusals[-1].sentence
    name = str(project.folder / "manifests" / "team")
    allowed = check_a_fleet_agrees(replace(given, allow_empty_folders=(name,)), tmp_path)
    assert allowed is not None
    assert allowed.allow_empty_folders == (name,)
    assert not any("is empty" in reason.sentence for reason in allowed.refusals)
