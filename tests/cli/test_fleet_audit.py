"""``kgitops fleet audit``: what breaks a policy on many clusters, whoever declared it."""

import json
import shutil
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from fleet import fleet_commands

PROJECT = """\
apiVersion: kgitops/v1
kind: Project
metadata: {name: fleet, uid: 5b7a2a8e-0c1d-4f6e-9a57-2f8f6f1f9d15}
spec:
  manifests: [manifests]
  policies: [policies.yaml]
  clusters:
    north: {url: "embedded:north.db"}
    south: {url: "embedded:south.db"}
"""
TOPIC = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: %s, clusters: [%s]}
spec: {partitions: 3, replicationFactor: 1}
---
"""
POLICY = """\
apiVersion: kgitops/v1
kind: Policy
metadata: {name: named}
spec:
  level: hard
  match: {requests: [CreateTopic]}
  validations:
    - expression: 'requested.name.startsWith("shop.")'
      message: the name does not begin with shop.
"""
on_shared_spark = fleet_commands.on_shared_spark


@pytest.fixture
def fleet(tmp_path: Path, kgitops: Kgitops) -> Path:
    """A project on two clusters, whose states are saved; on one, a topic has a wrong name."""
    folder = tmp_path / "fleet"
    (folder / "manifests").mkdir(parents=True)
    (folder / "kgitops.yaml").write_text(PROJECT.replace("  policies: [policies.yaml]\n", ""))
    topics = TOPIC % ("shop.orders", "north, south") + TOPIC % ("wrong", "south")
    (folder / "manifests/topics.yaml").write_text(topics)
    for cluster in ("north", "south"):
        assert kgitops("apply", folder, "-c", cluster, "--auto-approve").code == 0
        (tmp_path / "states").mkdir(exist_ok=True)
        file = tmp_path / "states" / f"{cluster}.json"
        assert kgitops("snapshot", folder, "-c", cluster, "-o", file).code == 0
    (folder / "kgitops.yaml").write_text(PROJECT)
    (folder / "policies.yaml").write_text(POLICY)
    return folder


@pytest.mark.spark
def test_each_cluster_is_judged_by_the_policies_of_its_projects(
    fleet: Path, kgitops: Kgitops, on_shared_spark: None
) -> None:
    states = fleet.parent / "states"
    ran = kgitops("fleet", "audit", "--desired", fleet, "--state", states)
    assert ran.code == 3, ran.said
    assert "north: none of 1 object breaks a policy" in ran.out
    assert "south: 1 of 2 objects breaks 1 policy" in ran.out
    assert "! topic wrong" in ran.out
    assert "Audit of 2 units: 1 object breaks a policy." in ran.out
    ran = kgitops("fleet", "audit", "--desired", fleet, "--state", states, "--format", "json")
    north, south = json.loads(ran.out)["units"]
    assert (north["cluster"], north["objects"]) == ("north", [])
    assert [item["address"] for item in south["objects"]] == ["topic/wrong"]
    assert south["objects"][0]["source"]["file"].endswith("manifests/topics.yaml")


@pytest.mark.spark
def test_rows_and_states_in_parquet_are_audited_alike(
    fleet: Path, kgitops: Kgitops, on_shared_spark: None
) -> None:
    parent = fleet.parent
    assert kgitops("fleet", "snapshot", fleet, "--out", parent / "parquet").code == 0
    assert kgitops("fleet", "compile", fleet, "-o", parent / "rows").code == 0
    ran = kgitops(
        "fleet", "audit", "--desired", parent / "rows", "--state", parent / "parquet",
        "--policies", fleet / "policies.yaml",
    )  # fmt: skip
    assert ran.code == 3, ran.said
    assert "south: 1 of 2 objects breaks 1 policy" in ran.out


@pytest.mark.spark
def test_a_unit_that_can_t_be_audited_stops_no_other(
    fleet: Path, kgitops: Kgitops, on_shared_spark: None
) -> None:
    states = fleet.parent / "states"
    (states / "north.json").write_text("{}")
    ran = kgitops("fleet", "audit", "--desired", fleet, "--state", states)
    assert ran.code == 1, ran.said
    assert "south: 1 of 2 objects breaks 1 policy" in ran.out
    assert "1 could not be audited" in ran.out


@pytest.mark.spark
def test_nothing_to_audit_is_an_error(fleet: Path, kgitops: Kgitops, on_shared_spark: None) -> None:
    shutil.rmtree(fleet.parent / "states")
    (fleet.parent / "states").mkdir()
    ran = kgitops("fleet", "audit", "--desired", fleet, "--state", fleet.parent / "states")
    assert ran.code == 1
    assert "holds no state of a cluster" in ran.err
