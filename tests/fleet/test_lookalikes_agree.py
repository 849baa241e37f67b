"""A fleet warns of a cluster's names that look like declared ones, as a plan of it does."""

from pathlib import Path

import pytest
from builders import a_binding
from cli.projects import UID, acl, as_yaml, topic
from fleet.both_ways import Given, check_a_fleet_agrees, snapshot_of
from laws.twin_clusters import embedded

from kgitops.model.requests import CreateAclRequest


@pytest.mark.parametrize(
    ("existing", "warned"),
    [
        ("User:\N{CYRILLIC SMALL LETTER A}pp", "'app' looks the same as '\\u0430pp'"),
        ("User:app\N{ZERO WIDTH SPACE}", "'app' looks the same as 'app\\u200b'"),
        ("User:Привет", None),
    ],
)
def test_a_twin_that_no_project_manages(existing: str, warned: str | None, tmp_path: Path) -> None:
    """A fleet leaves out what it need not look at."""
    project = tmp_path / "payments"
    (project / "manifests").mkdir(parents=True)
    (project / "manifests" / "all.yaml").write_text(as_yaml([topic("orders"), acl("app")]))
    content = {
        "apiVersion": "kgitops/v1",
        "kind": "Project",
        "metadata": {"name": "payments", "uid": UID},
        "spec": {"clusters": {"prod": {"url": "kafka://b:1"}}},
    }
    (project / "kgitops.yaml").write_text(as_yaml([content]))
    with embedded(tmp_path, "0") as twin:
        twin.ask(CreateAclRequest(binding=a_binding(existing, name="payments")))
        state = snapshot_of(twin.cluster)
    plan = check_a_fleet_agrees(Given(project=project, cluster="prod", state=state), tmp_path)
    assert plan is not None
    said = [row.problem for row in plan.warnings if "looks the same" in row.problem]
    assert said == ([] if warned is None else [f"{warned}, which is on the cluster"])
