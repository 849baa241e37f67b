"""States in Parquet, by command: the same plans, and what can't be read never looks empty."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Kgitops, Ran
from cli.projects import Project, acl, quota, topic
from fleet.spark_archive import DRIVER, java_options
from fleet.spark_sessions import PATIENCE_S

from kgitops.fleet.planning import plan_of_unit
from kgitops.fleet.snapshotting import (
    FleetSnapshotOptions,
    SnapshotResult,
    snapshot_specs,
    snapshot_task,
)
from kgitops.fleet.units.unit import ManifestFiles, StateFiles, StateFormat, Unit
from kgitops.model.errors import FindingsError, UnreachableError, UsageError
from kgitops.model.json.codec import decode
from kgitops.model.registry import Json
from kgitops.model.verdict import ExitCode

CLUSTERS = {
    "east": {"url": "embedded:east.db", "brokers": 3},
    "west": {"url": "embedded:west.db", "brokers": 3},
    "dead": {"url": "kafka://127.0.0.1:1"},
}


@pytest.fixture
def fleet(project: Project, kgitops: Kgitops) -> Project:
    """Applied to two clusters; a third one can't be reached."""
    project.write(topic(deletionPolicy="Delete"), topic("audit"), acl(), quota())
    project.write_file(clusters=CLUSTERS)
    for cluster in ("east", "west"):
        assert kgitops("apply", project.folder, "-c", cluster, "--auto-approve").code == 0
    return project


def without_times(text: str) -> Json:
    plan = json.loads(text)
    del plan["envelope"]
    return plan


def test_a_snapshot_in_parquet_gives_the_plan_of_one_in_json(
    fleet: Project, kgitops: Kgitops, here: Path
) -> None:
    fleet.write(topic(partitions=5), topic("new"), acl("audit"))
    fleet.write_file(clusters=CLUSTERS)
    plans = []
    for file in ("east.json", "east.parquet"):
        assert kgitops("snapshot", fleet.folder, "-c", "east", "-o", file).code == 0
        ran = kgitops("plan", fleet.folder, "-c", "east", "--snapshot", file, "--format", "json")
        plans.append(without_times(ran.out))
    assert plans[0] == plans[1]
    assert len(plans[0]["changes"]) >= 3


def test_a_parquet_file_that_is_none_is_told(fleet: Project, kgitops: Kgitops, here: Path) -> None:
    (here / "east.parquet").write_text("{}")
    ran = kgitops("plan", fleet.folder, "-c", "east", "--snapshot", "east.parquet")
    assert ran.code == 8
    assert "east.parquet: it is not a whole Parquet file" in ran.said


def read_all(fleet: Project, out: Path) -> dict[str, SnapshotResult]:
    asked = FleetSnapshotOptions(projects=(fleet.folder,), out=out)
    answers = [snapshot_task(spec) for spec in snapshot_specs(asked)]
    results = [decode(SnapshotResult, answer, "the answer") for answer in answers]
    return {result.cluster: result for result in results}


def unit_of(fleet: Project, out: Path, cluster: str) -> Unit:
    files = (out / f"cluster={cluster}" / "state.parquet",)
    return Unit(
        cluster=cluster,
        project="payments",
        state=StateFiles(form=StateFormat.PARQUET, files=files),
        desired=ManifestFiles(paths=(fleet.folder,)),
    )


def test_one_that_can_not_be_read_says_so_to_whoever_plans_with_it(
    fleet: Project, here: Path
) -> None:
    answers = read_all(fleet, here / "states")
    assert answers["east"].topics == answers["west"].topics == 2
    assert answers["east"].reason is None
    assert answers["dead"].reason
    assert answers["dead"].reason.exit is ExitCode.UNREACHABLE
    for cluster in ("east", "west"):
        assert plan_of_unit(unit_of(fleet, here / "states", cluster), {}).plan.changes == ()
    with pytest.raises(UnreachableError, match=r"dead could not be read at 20\d\d-.*can't be reac"):
        plan_of_unit(unit_of(fleet, here / "states", "dead"), {})


def test_an_older_state_does_not_stand_for_one_that_could_not_be_read(
    fleet: Project, here: Path
) -> None:
    read_all(fleet, here / "states")
    (fleet.folder / "east.db").write_bytes(b"not a database at all" * 1000)
    assert read_all(fleet, here / "states")["east"].reason
    with pytest.raises(UnreachableError, match="east could not be read at"):
        plan_of_unit(unit_of(fleet, here / "states", "east"), {})


def test_what_a_cluster_is_called_with_is_not_written_down(
    fleet: Project, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in what a task is told nor in its answer, nor in the file."""
    secret = "s3cr3t-of-kafka"  # noqa: S105 (what must not be found)
    monkeypatch.setenv("KAFKA_PASSWORD", secret)
    configs = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "kgitops",
        "sasl.password": "${env:KAFKA_PASSWORD}",
    }
    fleet.write_file(clusters={"dead": {**CLUSTERS["dead"], "configs": configs}})
    asked = FleetSnapshotOptions(
        projects=(fleet.folder,), out=here / "states", environ={"KAFKA_PASSWORD": secret}
    )
    (spec,) = snapshot_specs(asked)
    assert secret not in spec
    assert secret not in snapshot_task(spec)
    assert secret.encode() not in (here / "states/cluster=dead/state.parquet").read_bytes()


def test_a_misspelt_cluster_is_told(fleet: Project, here: Path) -> None:
    asked = FleetSnapshotOptions(projects=(fleet.folder,), out=here / "states", clusters=("eastt",))
    with pytest.raises(UsageError, match="no project has a cluster 'eastt'; did you mean east"):
        snapshot_specs(asked)


def test_one_name_for_two_clusters_is_told(fleet: Project, here: Path) -> None:
    other = Project(here / "logistics", name="logistics", uid="b" * 8).write(topic("parcels"))
    other.write_file(clusters={"east": {"url": "kafka://elsewhere:9092"}})
    asked = FleetSnapshotOptions(projects=(fleet.folder, other.folder), out=here / "states")
    with pytest.raises(FindingsError, match="east is another cluster here than in"):
        snapshot_specs(asked)


def by_command(*words: object) -> Ran:
    """In a process of its own, as Spark is."""
    done = subprocess.run(
        [sys.executable, "-m", "kgitops", *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.spark
def test_fleets_are_read_compiled_and_planned_by_command(fleet: Project, here: Path) -> None:
    local = ("--master", "local[2]", "--conf", f"{DRIVER}={java_options()}")
    ran = by_command("fleet", "snapshot", fleet.folder, "-o", "states", *local)
    assert (ran.code, ran.out) == (8, "2 of 3 clusters read into states: 4 topics.\n")
    assert "dead: 127.0.0.1:1 can't be reached" in ran.said

    ran = by_command("fleet", "compile", fleet.folder, "-o", "desired", *local)
    assert (ran.code, ran.out) == (0, "3 of 3 compiled into desired.\n")

    ran = by_command(
        "fleet", "plan", "--desired", "desired", "--state", "states", "-o", "run", *local
    )
    assert ran.code == 8
    assert "1 of 3 plans could not be made (exit 8)" in ran.said
    summary = json.loads((here / "run" / "fleet.json").read_text())
    assert {unit["cluster"]: unit["planned"] for unit in summary["units"]} == {
        "dead": False,
        "east": True,
        "west": True,
    }
    assert all(unit["changes"] == {} for unit in summary["units"])
