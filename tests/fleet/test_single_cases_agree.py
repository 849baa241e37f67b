"""Plans that depend on what does not change: a fleet leaves that out, and says the same."""

from pathlib import Path

import cli
import pytest
from builders import a_binding
from cli.projects import Project, acl, document, topic
from fleet.both_ways import Given, check_a_fleet_agrees, snapshot_of
from laws.twin_clusters import embedded, workspace_of
from msgspec.structs import replace

from kgitops.cluster.snapshot import read_snapshot
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.requests import CreateAclRequest
from kgitops.model.resources.acls import AclBinding
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Plan

UPGRADED = Path(cli.__file__).with_name("upgraded_project")


def planned(folder: Path, who: str, state: ClusterState, **cluster: Json) -> Plan:
    """By a fleet as by a plan: a topic and an ACL for the cluster ``prod``."""
    project = Project(folder / "payments").write(topic("orders"), acl(who))
    project.write_file(clusters={"prod": {"url": "kafka://b:1", **cluster}})
    given = Given(project=project.folder, cluster="prod", state=state)
    plan = check_a_fleet_agrees(given, folder)
    assert plan is not None
    return plan


def state_with(folder: Path, existing: AclBinding, twins: str) -> ClusterState:
    """A cluster with an ACL that no project manages."""
    with embedded(folder, twins) as twin:
        twin.ask(CreateAclRequest(binding=existing))
        return snapshot_of(twin.cluster)


@pytest.mark.parametrize("policy", ["Delete", "Protect"])
def test_nothing_is_removed_while_a_folder_is_empty(tmp_path: Path, policy: str) -> None:
    """Compiled rows know the empty folders too."""
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


def test_a_producer_that_gave_create_is_explained_too(tmp_path: Path) -> None:
    """The document's other bindings do not change, and the warning stands at their role."""

    def declare(**more: Json) -> None:
        role: Json = {"principal": "User:shop", "role": "producer", "topics": ["orders"]}
        project.write(document("Acl", "shop", **role, **more))

    project = Project(tmp_path / "payments")
    declare(create=True)
    with embedded(tmp_path, "1") as twin:
        workspace = workspace_of(project.folder)
        twin.apply(twin.plan(workspace), workspace)
        state = snapshot_of(twin.cluster)
    declare()
    plan = check_a_fleet_agrees(
        Given(project=project.folder, cluster="local", state=state), tmp_path
    )
    assert plan is not None
    assert [change.actions for change in plan.changes] == [(Action.DELETE,)]
    assert [row.problem for row in plan.warnings if "Create" in row.problem] == [
        "the role producer gives no Create now, which it gave up to 0.1, so this document "
        "declares 1 binding less"
    ]


@pytest.mark.parametrize("others", [0, 30])
def test_an_edited_role_is_named_too(tmp_path: Path, others: int) -> None:
    """The document's other bindings do not change; ``others`` are edited principals beside it."""

    def declare(*topics: str) -> None:
        names = ("shop", *(f"shop{number}" for number in range(others)))
        project.write(
            *(
                document("Acl", name, principal=f"User:{name}", role="producer", topics=[*topics])
                for name in names
            )
        )

    project = Project(tmp_path / "payments")
    declare("orders", "returns")
    with embedded(tmp_path, "1") as twin:
        workspace = workspace_of(project.folder)
        twin.apply(twin.plan(workspace), workspace)
        state = snapshot_of(twin.cluster)
    declare("orders")
    given = Given(project=project.folder, cluster="local", state=state)
    plan = check_a_fleet_agrees(given, tmp_path, rows_at_once=(1_000_000, 2))
    assert plan is not None
    assert len(plan.changes) == 2 * (1 + others)
    assert all("does not declare it now" in change.because for change in plan.changes)


def test_a_project_is_upgraded_alike(tmp_path: Path) -> None:
    state = read_snapshot((UPGRADED / "snapshot.json").read_text(), "snapshot.json")
    given = Given(project=UPGRADED, cluster="prod", state=state)
    plan = check_a_fleet_agrees(given, tmp_path)
    assert plan is not None
    assert (plan.count(Action.UPDATE), plan.count(Action.DELETE), len(plan.warnings)) == (2, 5, 6)


def test_a_gateway_hides_objects_that_do_not_change_too(tmp_path: Path) -> None:
    """An ACL of nobody, with a host."""
    state = state_with(tmp_path, a_binding("User:other", host="10.0.0.1"), "lowered")
    gateway = {"bootstrapServers": "kafka.example.com:9092"}
    plan = planned(tmp_path, "billing", replace(state, backend="kafka"), gateway=gateway)
    assert [(line.code, line.subject) for line in plan.lowering] == [
        ("L-GATEWAY", "kafka.example.com:9092"),
        ("L-GATEWAY-HOST", "acl/User:other/Allow/Read/topic/literal/orders@10.0.0.1"),
    ]


@pytest.mark.parametrize(
    ("existing", "warned"),
    [
        ("User:\N{CYRILLIC SMALL LETTER A}pp", "'app' looks the same as '\\u0430pp'"),
        ("User:app\N{ZERO WIDTH SPACE}", "'app' looks the same as 'app\\u200b'"),
        ("User:Привет", None),
    ],
)
def test_a_twin_that_no_project_manages_is_warned_of(
    existing: str, warned: str | None, tmp_path: Path
) -> None:
    plan = planned(tmp_path, "app", state_with(tmp_path, a_binding(existing, name="payments"), "0"))
    said = [row.problem for row in plan.warnings if "looks the same" in row.problem]
    assert said == ([] if warned is None else [f"{warned}, which is on the cluster"])
