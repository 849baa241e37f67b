"""States of fleets, by command and task: what is told apart, what is refused, what others wrote."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, quota, topic

from kgitops.fleet import snapshotting
from kgitops.fleet.snapshotting import (
    FleetSnapshotOptions,
    SnapshotResult,
    snapshot_specs,
    snapshot_task,
)
from kgitops.fleet.tables.hydrating import open_state
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.model.json.codec import decode
from kgitops.model.registry import Json
from kgitops.model.verdict import ExitCode

EAST = {"url": "embedded:east.db", "brokers": 3}
DEAD = {"url": "kafka://${env:KAFKA_HOST}:1"}


@pytest.fixture
def fleet(project: Project, kgitops: Kgitops) -> Project:
    project.write(topic(deletionPolicy="Delete"), topic("audit"), acl(), quota())
    project.write_file(clusters={"east": EAST})
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    return project


def snapshot_of(fleet: Project, folder: Path) -> SnapshotResult:
    (spec,) = snapshot_specs(FleetSnapshotOptions(projects=(fleet.folder,), out=folder))
    return decode(SnapshotResult, snapshot_task(spec), "the answer")


def plan_of(kgitops: Kgitops, fleet: Project, snapshot: Path | str) -> dict[str, Json]:
    ran = kgitops("plan", fleet.folder, "--snapshot", snapshot, "--format", "json")
    plan: dict[str, Json] = json.loads(ran.out)
    del plan["envelope"], plan["plan_digest"]
    return plan


# Which clusters are meant.


@pytest.mark.parametrize(
    "url", ["kafka://kafka:9092", "kafka://${env:KAFKA_HOST}:9092", "${env:KAFKA_URL}"]
)
def test_projects_that_share_a_cluster_read_it_once(url: str, here: Path) -> None:
    """The executor knows the environment, so that here it need not have a value."""
    folders = []
    for name in ("payments", "logistics"):
        project = Project(here / name, name=name, uid=name * 2).write(topic(name))
        project.write_file(clusters={"prod": {"url": url}})
        folders.append(project.folder)
    specs = snapshot_specs(FleetSnapshotOptions(projects=tuple(folders), out=here / "states"))
    assert [json.loads(spec)["cluster"] for spec in specs] == ["prod"]


def test_a_project_that_names_no_cluster_has_its_own(project: Project, here: Path) -> None:
    project.write(topic())
    (spec,) = snapshot_specs(FleetSnapshotOptions(projects=(project.folder,), out=here / "states"))
    assert json.loads(spec)["cluster"] == "local"


# One cluster's fault is not the others'.


def test_a_fault_of_kgitops_itself_is_one_clusters_and_says_no_secret(
    fleet: Project, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(state: ClusterState, path: Path) -> None:
        raise ValueError("s3cr3t")

    snapshot_of(fleet, here)
    monkeypatch.setattr(snapshotting, "write_state", fail)
    reason = snapshot_of(fleet, here).reason
    assert reason
    assert (reason.exit, "ValueError" in reason.sentence) == (ExitCode.ERROR, True)
    assert "s3cr3t" not in str(reason)
    with pytest.raises(UnreachableError, match=r"east could not be read at .*ValueError"):
        open_state([here / "cluster=east" / "state.parquet"], "east")


def test_a_variable_that_is_not_set_is_one_clusters_fault(
    fleet: Project, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_HOST", raising=False)
    fleet.write_file(clusters={"dead": DEAD})
    assert "KAFKA_HOST" in str(snapshot_of(fleet, here).reason)
    with pytest.raises(UnreachableError, match="KAFKA_HOST"):
        open_state([here / "cluster=dead" / "state.parquet"], "dead")


def test_a_place_that_can_not_be_written_keeps_what_was_there(
    fleet: Project, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No word that the cluster is at fault: its state could be read."""
    snapshot_of(fleet, here)
    file = here / "cluster=east" / "state.parquet"
    before = file.read_bytes()

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(KgitopsError, match=r"state\.parquet can't be written: no space left"):
            snapshot_of(fleet, here)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


# Planning from a partition.


def test_a_partition_is_planned_like_a_snapshot(
    fleet: Project, kgitops: Kgitops, here: Path
) -> None:
    snapshot_of(fleet, here)
    fleet.write(topic(partitions=5), topic("new"), acl("audit"))
    fleet.write_file(clusters={"east": EAST})
    assert kgitops("snapshot", fleet.folder, "-o", "state.json").code == 0
    planned = plan_of(kgitops, fleet, here / "cluster=east")
    assert planned == plan_of(kgitops, fleet, "state.json")
    assert {change["actions"][0] for change in planned["changes"]} >= {"create", "update"}


@pytest.mark.parametrize(
    ("made", "code", "said"),
    [
        ("nothing", 8, "cluster=east can't be read: it is empty; give one FILE.parquet"),
        ("notes", 8, "holds notes.txt next to .parquet files; move what is something else"),
        ("two", 64, "holds the states of 2 clusters; name the folder of one, such as"),
        ("half", 5, "can't be trusted: its header says"),
    ],
)
def test_a_folder_that_is_no_state_is_refused(
    made: str, code: int, said: str, fleet: Project, kgitops: Kgitops, here: Path
) -> None:
    snapshot_of(fleet, here / "states")
    folder = here / "states" / "cluster=east"
    file = folder / "state.parquet"
    match made:
        case "nothing":
            file.unlink()
        case "notes":
            (folder / "notes.txt").write_text("")
        case "two":
            (folder.parent / "cluster=west").mkdir()
            (folder.parent / "cluster=west" / "state.parquet").write_bytes(file.read_bytes())
            folder = folder.parent
        case _:
            pq.write_table(pq.read_table(file).slice(0, 3), file)
    ran = kgitops("plan", fleet.folder, "--snapshot", folder)
    assert (ran.code, said in ran.said, ran.out) == (code, True, "")
