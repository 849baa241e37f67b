"""The worked scenario (§24) through the commands, where brokers know virtual clusters or not."""

import json
import re
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.golden import G1, G2, G3, OFFSETS, STREAM, Golden

from kgitops.model.registry import Json
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType

PLANS = {
    1: """
        vc/analytics
        vc/emea.sales
        vc/analytics/topic/Reports
        vc/emea.sales/topic/Orders
        vc/analytics/link/sales.orders
        vc/emea.sales/link/SalesStream
        vc/emea.sales/link/emea.eu.sales.SalesStream
        vc/emea.sales/group/sales-etl
        vc/analytics/acl/User:ana-reader/Allow/Read/group/prefixed/rpt-@*
        vc/analytics/acl/User:ana-reader/Allow/Write/topic/literal/Reports@*
        vc/analytics/acl/User:ana-reader/Allow/Read/topic/literal/sales.orders@*
        acl/User:sales-admin/Allow/AlterVirtualCluster/cluster/literal/emea.sales@*
        vc/emea.sales/acl/User:sales-app/Allow/Read/group/literal/sales-etl@*
        vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/Orders@*
        vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/Orders@*
        vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/SalesStream@*
        vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/SalesStream@*
        vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/emea.eu.sales.SalesStream@*
        vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/emea.eu.sales.SalesStream@*
        vc/emea.sales/acl/User:sales-app/Allow/Write/transactionalId/prefixed/sales-@*
        quota/virtual-cluster=<default>
        quota/virtual-cluster=emea.sales
        vc/analytics/quota/user=<default>
        vc/emea.sales/quota/user=sales-app
        vc/analytics/user/User:ana-reader
        vc/emea.sales/user/User:sales-app
    """,
    2: """
        acl/User:sales-app/Allow/Read/group/literal/sales-etl@*
        acl/User:sales-app/Allow/Read/topic/prefixed/emea.eu.sales.@*
        acl/User:sales-app/Allow/Write/topic/prefixed/emea.eu.sales.@*
    """,
    3: """
        vc/emea.sales/acl/User:sales-app/Allow/Read/topic/literal/emea.eu.sales.SalesStream@*
        vc/emea.sales/acl/User:sales-app/Allow/Write/topic/literal/emea.eu.sales.SalesStream@*
        vc/emea.sales/link/emea.eu.sales.SalesStream
    """,
    4: """
        vc/analytics/user/User:ana-reader
        vc/analytics/acl/User:ana-reader/Allow/Read/group/prefixed/rpt-@*
        vc/analytics/acl/User:ana-reader/Allow/Write/topic/literal/Reports@*
        vc/analytics/acl/User:ana-reader/Allow/Read/topic/literal/sales.orders@*
        vc/analytics/quota/user=<default>
        vc/analytics/link/Reports
        vc/analytics/link/sales.orders
        vc/analytics/topic/Reports
        vc/analytics
    """,
}
LONG = f"vc/emea.sales/link/{STREAM}"


@pytest.fixture(params=[False, True], ids=["native", "lowered"])
def lowered(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def golden(here: Path, kgitops: Kgitops, lowered: bool) -> Golden:
    """The cluster as it is before the first commit."""
    scenario = Golden(here / "golden", lowered=lowered)
    scenario.check_out(0)
    assert kgitops("apply", scenario.folder, "--auto-approve").code == 0
    scenario.have_history()
    return scenario


@pytest.fixture
def migrated(golden: Golden, kgitops: Kgitops) -> Golden:
    """The cluster after the first commit."""
    golden.check_out(1)
    assert kgitops("apply", golden.folder, "--auto-approve").code == 0
    return golden


def planned(kgitops: Kgitops, golden: Golden) -> Json:
    ran = kgitops("plan", golden.folder, "--format", "json")
    return json.loads(ran.out)


def test_each_commit_plans_what_is_to_be_done_in_its_order_and_then_nothing(
    golden: Golden, kgitops: Kgitops
) -> None:
    """VC-034, VC-090, VC-191, VC-195, VC-197, VC-400, VC-404: 26, 3, 3 and 9 changes."""
    for commit, expected in PLANS.items():
        golden.check_out(commit)
        saved = golden.folder / f"plan-{commit}.json"
        ran = kgitops("plan", golden.folder, "-o", saved, "--detailed-exitcode")
        assert ran.code == 2, ran.said
        changes = json.loads(saved.read_text())["changes"]
        assert [change["address"] for change in changes] == expected.split()
        action = "create" if commit == 1 else "delete"
        assert {tuple(change["actions"]) for change in changes} == {(action,)}
        applied = kgitops("apply", saved)
        assert applied.code == 0, applied.said
        again = kgitops("plan", golden.folder, "--detailed-exitcode")
        assert (again.code, "No changes" in again.out) == (0, True), again.out
        drift = kgitops("drift", golden.folder, "--detailed-exitcode")
        assert drift.code == 0, drift.said


def test_the_cluster_holds_what_was_declared(migrated: Golden) -> None:
    """§24.4; VC-022, VC-025, VC-056, VC-114: shared topics, names, and offsets that were kept."""
    state = migrated.state()
    assert sorted(state.virtual_clusters) == ["analytics", "emea.sales"]
    analytics, sales = (state.virtual_clusters[name] for name in sorted(state.virtual_clusters))
    orders = sales.links["Orders"].topic
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.Orders", orders)
    assert {link.name: link.topic for link in sales.links.values()} == {
        "Orders": orders,
        "SalesStream": STREAM,
        STREAM: STREAM,
    }
    assert (sales.users, dict(sales.groups)) == (
        frozenset({"User:sales-app"}),
        {"sales-etl": "sales-etl"},
    )
    assert analytics.links["sales.orders"].topic == orders
    assert analytics.users == frozenset({"User:ana-reader"})
    assert state.topics[orders].num_partitions == 6
    assert {G1, G2, G3} <= state.acls
    assert len([binding for binding in state.acls if binding.scoped]) == 11
    assert migrated.offsets("emea.sales:sales-etl") == OFFSETS


def test_what_is_left_in_the_end_is_what_was_not_removed(
    migrated: Golden, kgitops: Kgitops
) -> None:
    """§24.8; VC-032: the shared topic stays with the link that is left; no VC is left behind."""
    orders = migrated.state().virtual_clusters["emea.sales"].links["Orders"].topic
    for commit in (2, 3, 4):
        migrated.check_out(commit)
        assert kgitops("apply", migrated.folder, "--auto-approve").code == 0
    state = migrated.state()
    assert sorted(state.virtual_clusters) == ["emea.sales"]
    assert sorted(state.virtual_clusters["emea.sales"].links) == ["Orders", "SalesStream"]
    assert {STREAM, orders} <= set(state.topics)
    assert not [name for name in state.topics if name.endswith(".Reports")]
    assert not state.acls & {G1, G2, G3}
    assert not [it for it in state.acls if it.principal == "User:ana-reader"]


def test_both_kinds_of_brokers_are_planned_in_the_same_words(here: Path, kgitops: Kgitops) -> None:
    """VC-411, VC-322: but for what stands for it on Kafka, and for what brokers check ahead."""
    texts = []
    for lowered in (False, True):
        scenario = Golden(here / f"lowered-{lowered}", lowered=lowered)
        scenario.check_out(0)
        kgitops("apply", scenario.folder, "--auto-approve")
        scenario.have_history()
        scenario.check_out(1)
        plan = planned(kgitops, scenario)
        for change in plan["changes"]:
            for request in change["requests"]:
                del request["validated"]
                request.pop("physical", None)
            change["source"]["file"] = Path(change["source"]["file"]).name
        texts.append(json.dumps(plan["changes"], indent=1))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "{kind: VirtualClusterBinding, metadata: {name: x, virtualCluster: emea.sales},"
            " spec: {user: ana-reader}}",
            "User:ana-reader",
        ),
        (
            "{kind: TopicLink, metadata: {name: sales.orders, virtualCluster: analytics},"
            f" spec: {{target: {{physicalTopic: {STREAM}}}}}}}",
            "sales.orders",
        ),
        (
            "{kind: ClientQuota, metadata: {name: x}, spec: {entity: {virtualCluster:"
            " kafka-cluster}, quotas: {producer_byte_rate: 1}}}",
            "kafka-cluster",
        ),
        (
            "{kind: TopicLink, metadata: {name: x, virtualCluster: analytics},"
            " spec: {target: {physicalTopic: __consumer_offsets}}}",
            "__consumer_offsets",
        ),
    ],
    ids=["b-user-twice", "c-link-twice", "d-quota-of-the-cluster", "e-internal-topic"],
)
def test_a_document_that_breaks_a_rule_stops_everything(
    more: str, said: str, migrated: Golden, kgitops: Kgitops
) -> None:
    """§24.9 b to e; VC-021, VC-037, VC-080, VC-205: exit 1, each names its line."""
    before = migrated.state()
    migrated.add("apiVersion: kgitops/v1\n" + _block(more))
    for command in (("validate",), ("plan",), ("apply", "--auto-approve")):
        ran = kgitops(command[0], migrated.folder, *command[1:])
        assert ran.code == 1, ran.said
        assert said in ran.said
        assert re.search(r"manifests/more\.yaml:\d+:\d+: ", ran.err), ran.err
    assert migrated.state().virtual_clusters == before.virtual_clusters


def _block(flow: str) -> str:
    """A document in flow style without the braces around it, below its apiVersion."""
    import yaml

    return str(yaml.safe_dump(yaml.safe_load(flow)))


def test_a_topic_that_others_link_to_is_not_deleted(migrated: Golden, kgitops: Kgitops) -> None:
    """§24.9 a; VC-033: the plan names the link that is left."""
    share = "  shareWith: [analytics]\n"
    migrated.edit("sales.yaml", share, f"  deletionPolicy: Delete\n{share}")
    assert kgitops("apply", migrated.folder, "--auto-approve").code == 0
    sales = migrated.folder / "manifests/sales.yaml"
    documents = sales.read_text().split("---\n")
    about = ("name: Orders, virtualCluster", "name: sales-orders")
    left = [it for it in documents if not any(name in it for name in about)]
    sales.write_text("---\n".join(left))
    orders = migrated.state().virtual_clusters["emea.sales"].links["Orders"].topic
    target = "{virtualCluster: emea.sales, topic: Orders}"
    migrated.edit("analytics.yaml", target, f"{{physicalTopic: {orders}}}")
    ran = kgitops("plan", migrated.folder)
    assert ran.code == 1, ran.said
    assert "analytics/sales.orders" in ran.said
    assert kgitops("apply", migrated.folder, "--auto-approve").code == ran.code


def test_a_virtual_cluster_alone_is_not_removed(migrated: Golden, kgitops: Kgitops) -> None:
    """§24.8, VC-245: what documents still declare in it is named, and nothing is planned."""
    text = (migrated.folder / "manifests/analytics.yaml").read_text()
    rest = text.split("---\n")[2:]
    (migrated.folder / "manifests/analytics.yaml").write_text("---\n".join(["", *rest]))
    ran = kgitops("plan", migrated.folder)
    assert ran.code == 1
    assert "vc/analytics can't be deleted while it has" in ran.said
    assert "vc/analytics/link/Reports" in ran.said


def test_what_someone_else_put_into_it_keeps_a_virtual_cluster(
    migrated: Golden, kgitops: Kgitops
) -> None:
    """VC-409: nothing unmanaged is removed for the sake of a deletion."""
    migrated.change_behind(
        AlterVirtualClusterRequest(
            virtual_cluster="analytics", entity_type=EntityType.USER, entity_name="User:stranger"
        )
    )
    (migrated.folder / "manifests/analytics.yaml").unlink()
    migrated.edit("sales.yaml", "  shareWith: [analytics]\n", "")
    ran = kgitops("plan", migrated.folder)
    assert ran.code == 1, ran.said
    assert "User:stranger" in ran.said


def test_a_link_that_someone_removed_is_drift_and_comes_back(
    migrated: Golden, kgitops: Kgitops
) -> None:
    """VC-406, VC-327: what others undo is told and made good."""
    migrated.change_behind(
        AlterVirtualClusterRequest(
            virtual_cluster="emea.sales",
            change=ChangeType.REMOVE,
            entity_type=EntityType.TOPIC,
            entity_name="SalesStream",
        ),
        AlterVirtualClusterRequest(
            virtual_cluster="emea.sales",
            change=ChangeType.REMOVE,
            entity_type=EntityType.USER,
            entity_name="User:sales-app",
        ),
    )
    drift = kgitops("drift", migrated.folder, "--detailed-exitcode")
    assert drift.code == 2
    assert "SalesStream" in drift.out
    assert "WARNINGS" not in drift.out, "nothing is going to be applied"
    again = planned(kgitops, migrated)
    assert "vc/emea.sales/link/SalesStream" in [it["address"] for it in again["changes"]]
    assert kgitops("apply", migrated.folder, "--auto-approve").code == 0
    assert migrated.state().virtual_clusters["emea.sales"].links["SalesStream"].topic == STREAM
