"""Virtual clusters through the other commands: export, snapshot, targets, grades, a whole life."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.golden import Golden

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.lowering.topics import orphaned_topics


@pytest.fixture(params=[False, True], ids=["native", "lowered"])
def golden(request: pytest.FixtureRequest, here: Path, kgitops: Kgitops) -> Golden:
    """The cluster of the worked scenario after its first commit."""
    scenario = Golden(here / "golden", lowered=bool(request.param))
    for commit in (0, 1):
        scenario.check_out(commit)
        assert kgitops("apply", scenario.folder, "--auto-approve").code == 0
        if commit == 0:
            scenario.have_history()
    return scenario


def test_an_export_plans_to_nothing(golden: Golden, kgitops: Kgitops, here: Path) -> None:
    """VC-197, VC-322, VC-406: in the project that applied it, and for whoever adopts it all."""
    ran = kgitops("export", golden.folder, "-o", here / "exported")
    assert ran.code == 0, ran.said
    assert "nothing to change" in ran.out
    manifests = golden.folder / "manifests"
    shutil.rmtree(manifests)
    shutil.copytree(here / "exported", manifests)
    plan = json.loads(kgitops("plan", golden.folder, "--format", "json").out)
    assert plan["verdict"]["exit"] in (0, 2), plan["verdict"]
    assert [it for change in plan["changes"] for it in change["requests"]] == []


def test_a_snapshot_is_planned_against_offline(
    golden: Golden, kgitops: Kgitops, here: Path
) -> None:
    """VC-322: links, members, scoped ACLs and quotas are all in it."""
    saved = here / "state.json"
    assert kgitops("snapshot", golden.folder, "-o", saved).code == 0
    again = kgitops("plan", golden.folder, "--snapshot", saved, "--detailed-exitcode")
    assert again.code == 0, again.said
    golden.check_out(3)
    planned = kgitops("plan", golden.folder, "--snapshot", saved, "--format", "json")
    addresses = [change["address"] for change in json.loads(planned.out)["changes"]]
    assert "vc/emea.sales/link/emea.eu.sales.SalesStream" in addresses


def test_a_target_inside_a_virtual_cluster_is_planned_alone(
    golden: Golden, kgitops: Kgitops
) -> None:
    golden.add(
        "apiVersion: kgitops/v1\nkind: TopicLink\n"
        "metadata: {name: a, virtualCluster: analytics}\n"
        "spec: {target: {physicalTopic: emea.eu.sales.SalesStream}}\n---\n"
        "apiVersion: kgitops/v1\nkind: TopicLink\n"
        "metadata: {name: b, virtualCluster: analytics}\n"
        "spec: {target: {physicalTopic: emea.eu.sales.SalesStream}}\n"
    )
    target = ("--target", "vc/analytics/link/a")
    plan = json.loads(kgitops("plan", golden.folder, *target, "--format", "json").out)
    assert [change["address"] for change in plan["changes"]] == ["vc/analytics/link/a"]
    assert kgitops("apply", golden.folder, *target, "--auto-approve").code == 0
    links = golden.state().virtual_clusters["analytics"].links
    assert ("a" in links, "b" in links) == (True, False)
    wrong = kgitops("plan", golden.folder, "--target", "vc/analytics/link/aa")
    assert (wrong.code, "did you mean" in wrong.err) == (64, True)


def test_a_grade_denies_a_plan_where_kafka_keeps_less(golden: Golden, kgitops: Kgitops) -> None:
    """§24.9 f, VC-390, VC-392: exit 3 with the codes; nothing of it where brokers know it all."""
    with closing(golden.connect()) as cluster:
        native = isinstance(cluster, EmbeddedCluster)
    golden.check_out(2)
    ran = kgitops("plan", golden.folder, "--fail-on", "none")
    assert ran.code == (0 if native else 3), ran.said
    assert ("L-ACL-CLUSTER" in ran.out) is not native
    applied = kgitops("apply", golden.folder, "--auto-approve", "--fail-on", "NONE")
    assert applied.code == ran.code
    saved = golden.folder / "plan.json"
    assert kgitops("plan", golden.folder, "-o", saved).code == 0
    assert kgitops("apply", saved, "--fail-on", "NONE").code == 64
    assert kgitops("plan", golden.folder, "--fail-on", "EXACT").code == 64


def test_a_life_in_manifests_leaves_nothing_but_what_was_not_to_go(
    golden: Golden, kgitops: Kgitops
) -> None:
    """VC-378: from nothing to all to nothing again; orphans stay by their policy alone."""
    for commit in (2, 3, 4):
        golden.check_out(commit)
        assert kgitops("apply", golden.folder, "--auto-approve").code == 0
    policy = "  deletionPolicy: Delete\n"
    groups = "    groups:\n      - {name: sales-etl, adopt: sales-etl, copyOffsets: true}\n"
    golden.edit("sales.yaml", groups, f"{groups}{policy}")
    share = "  shareWith: [analytics]\n"
    golden.edit("sales.yaml", share, "  deletionPolicy: Orphan\n")
    assert kgitops("apply", golden.folder, "--auto-approve").code == 0
    orders = golden.state().virtual_clusters["emea.sales"].links["Orders"].topic
    golden.check_out(0)
    ran = kgitops("apply", golden.folder, "--auto-approve")
    assert ran.code == 0, ran.said
    state = golden.state()
    assert state.virtual_clusters == {}
    assert state.acls == frozenset()
    assert [entity for entity in state.quotas if state.quotas[entity].quotas] == [
        (("user", "sales-app"),)
    ]
    assert orphaned_topics(state) == (orders,)
    assert golden.offsets("emea.sales:sales-etl") == golden.offsets("sales-etl")
    assert kgitops("plan", golden.folder, "--detailed-exitcode").code == 0
