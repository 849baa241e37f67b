"""Drift, snapshots and exports: the cluster looked at in three ways, and back."""

import json
import shutil
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.exit_cases import creation, with_retention
from cli.projects import EXAMPLES, Project, acl, quota, topic

from kgitops.cli.running.options import Format
from kgitops.model.registry import Json
from kgitops.model.requests import DeleteTopicRequest
from kgitops.plan.reading import read_plan

APPLIED = (
    topic(configs={"retention.ms": 1000}, deletionPolicy="Delete"),
    topic("audit", assignments={0: [1, 2], 1: [3, 1]}, configsPolicy="Exact"),
    acl(),
    acl("writer", operations=["Write", "Describe"], deletionPolicy="Orphan"),
    quota(),
)


@pytest.fixture
def applied(project: Project, kgitops: Kgitops) -> Project:
    project.write(*APPLIED)
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    return project


# Drift.


def test_drift_shows_what_somebody_else_changed_and_plans_it_back(
    applied: Project, kgitops: Kgitops
) -> None:
    applied.change_behind(with_retention(applied, "2000"))
    ran = kgitops("drift", "payments", "--detailed-exitcode")
    assert ran.code == 2
    assert "DRIFT (1 difference, 1 object) ~ topic orders ~ retention.ms" in ran.said
    assert "retention.ms 1000 (1 s) -> 2000 (2 s) by User:other, 20" in ran.said


def test_drift_shows_a_topic_that_somebody_else_deleted(applied: Project, kgitops: Kgitops) -> None:
    with_id = with_retention(applied, "1")
    applied.change_behind(DeleteTopicRequest(topic="orders", topic_id=with_id.topic_id))
    ran = kgitops("drift", "payments", "--format", "json")
    (row,) = [row for row in json.loads(ran.out)["drift"] if row["rule"] == "missing"]
    assert row["address"] == "topic/orders"
    assert row["by"] == "User:other"
    Path("drift.json").write_text(ran.out)
    shown = kgitops("show", "drift.json")
    assert (
        "topic orders deleted outside of kgitops; this plan re-creates it, by User:" in shown.said
    )


def test_drift_does_not_read_the_manifests(applied: Project, kgitops: Kgitops) -> None:
    (applied.folder / "manifests" / "all.yaml").write_text("{ this is not YAML")
    ran = kgitops("drift", "payments", "--detailed-exitcode")
    assert (ran.code, ran.err) == (0, "")


def test_what_others_made_beside_is_no_drift(applied: Project, kgitops: Kgitops) -> None:
    applied.change_behind(creation("wild"))
    assert kgitops("drift", "payments", "--detailed-exitcode").code == 0


# Snapshots.


def without_what_may_differ(text: str) -> Json:
    """A plan without its envelope, its digest and the labels of who checked a request.

    A snapshot may be another cluster's, so only an online plan offers to pin the cluster.
    """
    plan = json.loads(text)
    plan["target"].pop("unpinned", None)
    for change in plan["changes"]:
        for request in change["requests"]:
            del request["validated"]
    return {key: value for key, value in plan.items() if key not in ("envelope", "plan_digest")}


@pytest.mark.parametrize("changed", [True, False])
def test_an_offline_plan_is_the_online_plan(
    changed: bool, applied: Project, kgitops: Kgitops
) -> None:
    if changed:
        applied.change_behind(with_retention(applied, "2000"), creation("wild"))
        applied.write(topic(), topic("wild"), acl("new"), *APPLIED[1:3])
    assert kgitops("snapshot", "payments", "-o", "state.json").code == 0
    online = kgitops("plan", "payments", "--format", "json")
    offline = kgitops("plan", "payments", "--snapshot", "state.json", "--format", "json")
    assert offline.code == online.code
    assert without_what_may_differ(offline.out) == without_what_may_differ(online.out)
    assert bool(json.loads(online.out)["changes"]) == changed


def test_an_offline_plan_touches_no_cluster(applied: Project, kgitops: Kgitops) -> None:
    kgitops("snapshot", "payments", "-o", "state.json")
    shutil.rmtree(applied.store.parent)
    ran = kgitops("plan", "payments", "--snapshot", "state.json", "--detailed-exitcode")
    assert ran.code == 0
    assert not applied.store.exists()


def test_an_offline_plan_can_be_applied_while_what_it_read_holds(
    applied: Project, kgitops: Kgitops
) -> None:
    kgitops("snapshot", "payments", "-o", "state.json")
    applied.write(*APPLIED, topic("new"))
    kgitops("plan", "payments", "--snapshot", "state.json", "-o", "plan.json")
    assert kgitops("apply", "plan.json").code == 0


def test_a_snapshot_goes_to_stdout_if_no_file_is_named(applied: Project, kgitops: Kgitops) -> None:
    kgitops("snapshot", "payments", "-o", "state.json")
    printed, saved = (
        json.loads(kgitops("snapshot", "payments").out),
        json.loads(Path("state.json").read_text()),
    )
    assert printed | {"captured_at": ""} == saved | {"captured_at": ""}


# Exports.


def test_an_export_of_what_a_project_manages_plans_to_nothing(
    applied: Project, kgitops: Kgitops
) -> None:
    shutil.rmtree(applied.folder / "manifests")
    assert kgitops("export", "payments", "-o", "payments/manifests").code == 0
    again = kgitops("plan", "payments", "--detailed-exitcode")
    assert (again.code, "No changes" in again.out) == (0, True)


def test_an_export_keeps_what_somebody_else_set_and_asks_for_no_request(
    applied: Project, kgitops: Kgitops
) -> None:
    applied.change_behind(with_retention(applied, "2000"))
    shutil.rmtree(applied.folder / "manifests")
    kgitops("export", "payments", "-o", "payments/manifests")
    plan = kgitops("plan", "payments", "--format", "json")
    assert plan.code == 0
    assert [change["requests"] for change in json.loads(plan.out)["changes"]] == [[]]
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    assert kgitops("drift", "payments", "--detailed-exitcode").code == 0


def test_an_export_of_what_nobody_manages_is_adopted_without_a_request(
    project: Project, here: Path, kgitops: Kgitops
) -> None:
    project.folder.mkdir()
    project.change_behind(creation("orders"), creation("audit"))
    before = project.records()
    cluster = f"embedded:{project.store}"
    assert kgitops("export", "-c", cluster, "-o", "exported").code == 0
    ran = kgitops("apply", "exported", "-c", cluster, "--auto-approve")
    assert (ran.code, "2 to adopt" in ran.out) == (0, True)
    assert project.records() == before
    assert kgitops("plan", "exported", "-c", cluster, "--detailed-exitcode").code == 0


def test_an_export_leaves_out_what_other_projects_manage_and_says_so(
    applied: Project, here: Path, kgitops: Kgitops
) -> None:
    applied.change_behind(creation("wild"))
    search = Project(here / "search", name="search", uid="search-1")
    search.write_file(cluster={"url": "embedded:../payments/.kgitops/local.db"})
    ran = kgitops("export", "search", "-o", "search/manifests")
    assert ran.out == (
        "Wrote 1 document in 1 file to search/manifests.\n"
        "Planned against this cluster: 1 to adopt, nothing to change.\n"
    )
    assert "6 objects left out, which the project 'payments' manages" in ran.err
    plan = kgitops("plan", "search")
    assert (plan.code, "1 to adopt" in plan.out) == (0, True)


def test_the_quickstart_exported_elsewhere_makes_the_same_cluster_again(
    here: Path, kgitops: Kgitops
) -> None:
    leave = shutil.ignore_patterns(".kgitops")
    shutil.copytree(EXAMPLES / "quickstart", here / "quickstart", ignore=leave)
    kgitops("apply", "quickstart", "--auto-approve")
    kgitops("export", "quickstart", "-o", "copy")
    assert kgitops("apply", "copy", "-c", "embedded:copy.db", "--auto-approve").code == 0
    kgitops("snapshot", "quickstart", "-o", "one.json")
    kgitops("snapshot", "-c", "embedded:copy.db", "-o", "two.json")
    one, two = (json.loads(Path(name).read_text()) for name in ("one.json", "two.json"))
    assert one["acls"] == two["acls"]
    assert one["quotas"] == two["quotas"]
    assert [t["configs"] for t in one["topics"]] == [t["configs"] for t in two["topics"]]


# A saved plan shown again.


def test_show_says_what_plan_said_in_each_format(applied: Project, kgitops: Kgitops) -> None:
    applied.write(*APPLIED[:3], topic("new"))
    for format_ in Format:
        planned = kgitops("plan", "payments", "--format", format_, "-o", "plan.json")
        shown = kgitops("show", "plan.json", "--format", format_)
        assert (planned.code, shown.code) == (0, 0)
        assert shown.out == planned.out
    assert json.loads(kgitops("show", "plan.json", "--format", "json").out) == json.loads(
        Path("plan.json").read_text()
    )


def test_the_plan_on_stdout_is_the_file_to_the_byte(applied: Project, kgitops: Kgitops) -> None:
    applied.write(*APPLIED, topic("new"))
    ran = kgitops("plan", "payments", "--format", "json", "-o", "plan.json")
    assert ran.out == Path("plan.json").read_text()
    assert read_plan(ran.out, "stdout").plan.changes
