"""What reports say of virtual clusters: where links lead, who switches, what is lost."""

from msgspec.structs import replace
from report.plans import make_plan, twelve_changes
from report.tenant_plans import (
    ANALYTICS,
    SALES,
    created,
    farewell_plan,
    golden_plan,
    made_topic,
    member,
)

from kgitops.model.lowered import Grade, LoweringLine
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.plan.document import risks
from kgitops.report.ci.github import render_github
from kgitops.report.content.lowering import lowering_counts, lowering_rows
from kgitops.report.content.virtual_clusters import virtual_cluster_summaries
from kgitops.report.markdown.plan import render_markdown
from kgitops.report.text.plan import render_text

NEW = "<uuid:new>.Orders (known after apply)"


def test_a_link_says_where_it_leads_and_that_nothing_moves() -> None:
    """VC-008: linking never copies data, and each report that names the link says so."""
    for text in (render_text(golden_plan()), render_markdown(golden_plan())):
        assert f"-> {NEW}, no data movement" in text
        assert "-> emea.eu.sales.SalesStream, no data movement" in text
    assert "unlinks 0b1f3c52-6d0e-4a7b-9c39-6f0d5a1d2e33.Orders, no data movement" in render_text(
        farewell_plan()
    )


def test_a_link_that_leads_elsewhere_says_where_it_led() -> None:
    """VC-028: its clients switch data."""
    change = member(
        SALES, EntityType.TOPIC, "o", topic="new", replaces="old", risk=risks.LINK_RETARGET
    )
    text = render_text(make_plan(change))
    assert "-> new, led to old before, no data movement" in text
    assert "clients of the virtual cluster switch to another topic's data" in text


def test_physical_names_are_told() -> None:
    """VC-057, VC-111, VC-114: of topics, groups and what groups take over."""
    text = render_text(golden_plan(), width=160)
    assert f"physical name {NEW}" in text
    assert (
        "physical id emea.sales:sales-etl, takes over the group sales-etl, "
        "copies the offsets that sales-etl has committed" in text
    )


def test_every_virtual_cluster_has_its_summary() -> None:
    """VC-091, VC-412: counts by action, whose clients switch, what is lost, what is lowered."""
    analytics, sales, default = virtual_cluster_summaries(golden_plan())
    assert (default.name, default.counts) == ("all others", "their cap: 1 to create")
    assert "VIRTUAL CLUSTERS (2)" in render_text(golden_plan())
    assert (analytics.name, analytics.counts) == (ANALYTICS, "8 to create")
    assert (sales.name, sales.counts) == (SALES, "17 to create")
    assert analytics.cut_over == "user analytics/User:ana-reader"
    assert sales.lowering == "1 NONE, 2 CLIENT"
    assert "clients to configure: user analytics/User:ana-reader" in render_text(golden_plan())
    assert not sales.lost
    (gone,) = virtual_cluster_summaries(farewell_plan())
    assert gone.counts == "6 to delete"
    assert gone.lost == "group analytics/rpt, topic analytics/Reports"
    for render in (render_text, render_markdown):
        said = render(farewell_plan())
        assert "DATA LOSS: group analytics/rpt, topic analytics/Reports" in said
        assert "namespace cut-over: user analytics/User:ana-reader" in said


def test_a_move_counts_for_both_virtual_clusters() -> None:
    """VC-086, VC-412: also for the one that gives the user up."""
    change = member(SALES, EntityType.USER, "User:jane", moved_from=ANALYTICS)
    found = virtual_cluster_summaries(make_plan(change))
    assert [each.name for each in found] == [ANALYTICS, SALES]
    assert "moves from analytics" in render_text(make_plan(change))


def test_what_is_derived_says_from_what() -> None:
    """VC-407: copied ACLs name the member they are copied for."""
    text = render_text(golden_plan())
    assert "(derived from user emea.sales/User:sales-app)" in text
    many = tuple(f"vc/v/user/User:{n}" for n in range(9))
    change = replace(created(SALES), derived_from=many)
    assert "and 4 others)" in render_text(make_plan(change))


def test_physical_operations_are_told_in_full() -> None:
    """VC-411: nested below the logical request; without --full the plan is the logical one."""
    assert "on Kafka: CreateTopics <uuid:new>.Orders" in render_text(golden_plan(), full=True)
    assert "CreateTopics" not in render_text(golden_plan())


def test_lowering_is_grouped_and_the_worst_comes_first() -> None:
    """VC-412: each line says code, grade, virtual cluster, subject, reason and remedy."""
    rows = lowering_rows(golden_plan(), full=False)
    assert [row.group.head for row in rows] == [
        "L-ACL-CLUSTER (NONE)",
        "L-GROUP (CLIENT)",
        "L-GROUP (CLIENT)",
        "L-TRANSPARENCY (CLIENT, 2)",
        "L-NATIVE",
    ]
    assert rows[0].names == "emea.sales: User:sales-admin AlterVirtualCluster"
    assert rows[0].group.text.endswith("; keep Alter on the cluster from everyone else")
    assert rows[3].names == "analytics, emea.sales"
    text = render_text(golden_plan(), width=160)
    assert "LOWERING (6)  what this Kafka does not keep exactly: 1 NONE, 4 CLIENT" in text
    assert "::notice title=lowering::" in render_github(golden_plan())


def test_what_is_lowered_is_named_as_everywhere() -> None:
    """VC-412: an address reads as a name, and says its virtual cluster once."""
    subjects = {
        "vc/analytics/quota/user=<default>": "quota virtual-cluster=analytics, user=<default>",
        "quota/user=sales-app": "analytics: quota user=sales-app",
        "sales-etl": "analytics: sales-etl",
    }
    lines = tuple(
        LoweringLine(code="L-X", grade=Grade.NONE, virtual_cluster=ANALYTICS, subject=subject)
        for subject in subjects
    )
    (row,) = lowering_rows(make_plan(lowering=lines), full=False)
    assert row.subjects == tuple(subjects.values())


def test_ten_thousand_lines_are_not_all_shown() -> None:
    """VC-412: few of each code, with their number; all of them in full."""
    lines = tuple(
        LoweringLine(
            code=code,
            grade=Grade.CLIENT,
            virtual_cluster=f"v{number}",
            subject=f"{code}-{number}",
            reason=f"reason {number if code == 'L-GROUP' else ''}",
            remedy="remedy",
        )
        for code in ("L-GROUP", "L-TXN")
        for number in range(5_000)
    )
    plan = make_plan(created(SALES), lowering=lines)
    text = render_text(plan)
    assert len(text.splitlines()) < 40
    assert "and 4,997 more lines of L-GROUP" in text
    assert "v3: L-TXN-3, v4: L-TXN-4 and 4,995 more" in text
    assert lowering_counts(plan) == "10,000 CLIENT"
    assert len(render_markdown(plan)) < 4_000
    full = render_text(plan, full=True)
    assert "v4999: L-GROUP-4999" in full
    assert "v4999: L-TXN-4999" in full


def test_many_virtual_clusters_are_not_all_shown() -> None:
    """VC-412: the first few, and how many more there are."""
    plan = make_plan(*(created(f"v{number:03}") for number in range(60)))
    text = render_text(plan)
    assert "and 40 more   all: --full" in text
    assert "  v059" not in text.partition("VIRTUAL CLUSTERS")[2]
    assert "  v059" in render_text(plan, full=True).partition("VIRTUAL CLUSTERS")[2]


def test_members_of_several_sorts_are_counted_as_members() -> None:
    """VC-412: not each by the word for the first of them."""
    changes = [member(SALES, EntityType.USER, f"User:{n}") for n in range(25)]
    changes += [member(SALES, EntityType.CLIENT_ID, f"c{n}") for n in range(25)]
    text = render_text(make_plan(*changes))
    assert "30 members" in text


def test_a_plan_without_virtual_clusters_says_nothing_of_them() -> None:
    """VC-004: not a word."""
    for text in (render_text(twelve_changes(), full=True), render_markdown(twelve_changes())):
        assert "virtual" not in text.lower()
        assert "lowering" not in text.lower()


def test_topics_of_virtual_clusters_are_folded_like_others() -> None:
    """VC-412: the physical name is no reason to tell each apart."""
    plan = make_plan(*(made_topic(SALES, f"t{n}") for n in range(30)))
    text = render_text(plan)
    assert "30 topics, " in text or "30 topics " in text


def test_lowering_is_one_line_where_nothing_changes() -> None:
    """VC-412: whoever reads a plan of nothing has read the lines with the plan that made it so."""
    plan = make_plan(lowering=golden_plan().lowering)
    head = "LOWERING (6)  what this Kafka does not keep exactly: 1 NONE, 4 CLIENT"
    assert f"{head}   all: --full" in render_text(plan, width=160)
    assert "L-GROUP" not in render_text(plan)
    assert "L-GROUP" in render_text(plan, full=True)
