"""Virtual clusters as a picture: who is in which, what each sees, and what is shared."""

from itertools import pairwise
from xml.etree import ElementTree

from report.plans import make_plan, twelve_changes
from report.safety import assert_mermaid, assert_svg
from report.tenant_plans import ANALYTICS, SALES, farewell_plan, golden_plan, member

from kgitops.model.resources.virtual_clusters import EntityType, VirtualCluster
from kgitops.plan.document import risks
from kgitops.policy.testing import virtual_cluster
from kgitops.report.virtual_clusters.graph import (
    MOST_LINKS,
    MOST_MEMBERS,
    MOST_TENANTS,
    Sign,
    VirtualClusterGraph,
    graph_of_clusters,
    graph_of_plan,
)
from kgitops.report.virtual_clusters.mermaid import render_mermaid
from kgitops.report.virtual_clusters.svg import render_svg, svg_element

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {
    "emea.sales": virtual_cluster(
        "emea.sales",
        users=["jane"],
        client_ids=["c"],
        groups=["g"],
        transactional_ids=["t"],
        links={"Orders": "u.Orders", "again": "u.Orders"},
    ),
    "analytics": virtual_cluster("analytics", links={"sales.orders": "u.Orders", "own": "u.own"}),
    "empty": virtual_cluster("empty"),
}


def sketch(graph: VirtualClusterGraph) -> dict[str, tuple[list[str], list[str]]]:
    """Members and links of each tenant, with their signs."""
    return {
        f"{tenant.sign}{tenant.name}": (
            [f"{member.sign}{member.text}" for member in tenant.members],
            [f"{link.sign}{link.name} -> {graph.topics[link.topic].name}" for link in tenant.links],
        )
        for tenant in graph.tenants
    }


def many(count: int) -> dict[str, VirtualCluster]:
    """So many virtual clusters, each with 30 members and 30 links; all see one topic."""
    return {
        name: virtual_cluster(
            name,
            users=[f"u{n:02}" for n in range(30)],
            links={"all": "all", **{f"t{n:02}": f"{name}.t{n:02}" for n in range(29)}},
        )
        for name in (f"v{number:04}" for number in range(count))
    }


def test_tenants_members_links_and_what_is_shared() -> None:
    """VC-020, VC-022: a topic that two see is one topic, and says how many see it."""
    graph = graph_of_clusters(KNOWN)
    assert sketch(graph) == {
        "analytics": ([], ["own -> u.own", "sales.orders -> u.Orders"]),
        "emea.sales": (
            ["user User:jane", "client id c", "group g", "transactional id t"],
            ["Orders -> u.Orders", "again -> u.Orders"],
        ),
        "empty": ([], []),
    }
    seen = {topic.name: topic.tenants for topic in graph.topics}
    assert seen == {"u.own": 1, "u.Orders": 2}
    assert [topic.name for topic in graph.topics if topic.shared] == ["u.Orders"]


def test_the_picture_of_a_plan_shows_what_comes_and_goes() -> None:
    """VC-412: as signs; a topic that is still to be made is told apart by its virtual cluster."""
    graph = graph_of_plan(golden_plan())
    assert graph
    stream = "emea.eu.sales.SalesStream"
    assert sketch(graph) == {
        f"+{ANALYTICS}": (
            ["+user User:ana-reader"],
            [
                "+Reports -> <uuid:new>.Reports of analytics",
                "+sales.orders -> <uuid:new>.Orders of emea.sales",
            ],
        ),
        f"+{SALES}": (
            ["+group sales-etl", "+user User:sales-app"],
            [
                "+Orders -> <uuid:new>.Orders of emea.sales",
                f"+SalesStream -> {stream}",
                f"+{stream} -> {stream}",
            ],
        ),
    }
    gone = graph_of_plan(farewell_plan())
    assert gone
    assert [tenant.sign for tenant in gone.tenants] == [Sign.REMOVED]
    assert {link.sign for link in gone.tenants[0].links} == {Sign.REMOVED}
    assert not any(topic.tenants for topic in gone.topics)


def test_moves_and_links_that_lead_elsewhere_show_both_ends() -> None:
    """VC-028, VC-086: what was, and what will be."""
    graph = graph_of_plan(
        make_plan(
            member(SALES, EntityType.USER, "User:jane", moved_from=ANALYTICS),
            member(
                SALES, EntityType.TOPIC, "o", topic="new", replaces="old", risk=risks.LINK_RETARGET
            ),
        )
    )
    assert graph
    assert sketch(graph) == {
        ANALYTICS: (["-user User:jane"], []),
        SALES: (["+user User:jane"], ["-o -> old", "+o -> new"]),
    }


def test_a_plan_without_virtual_clusters_has_no_picture() -> None:
    """VC-004."""
    assert graph_of_plan(twelve_changes()) is None


def test_much_is_cut_and_said() -> None:
    """VC-412: so many tenants, members and links and no more; what is shared counts all."""
    graph = graph_of_clusters(many(100))
    assert len(graph.tenants) == MOST_TENANTS
    assert graph.left_out == 100 - MOST_TENANTS
    assert graph.note == f"{100 - MOST_TENANTS} more virtual clusters are not drawn"
    for tenant in graph.tenants:
        assert (len(tenant.members), len(tenant.links)) == (MOST_MEMBERS, MOST_LINKS)
        assert tenant.more == "22 more members and 18 more links"
    assert max(topic.tenants for topic in graph.topics) == 100
    for text in (render_svg(graph), render_mermaid(graph)):
        assert graph.note in text
        assert "22 more members and 18 more links" in text
        assert "seen by 100" in text
        assert len(text) < 250_000


def test_nothing_is_said_to_be_left_out_where_all_is_there() -> None:
    graph = graph_of_clusters(KNOWN)
    assert graph.note == ""
    assert not any(tenant.more for tenant in graph.tenants)
    assert "more" not in render_mermaid(graph)


def test_the_same_graph_gives_the_same_text() -> None:
    """Whatever the order in which virtual clusters were read."""
    other = dict(reversed(KNOWN.items()))
    assert render_svg(graph_of_clusters(other)) == render_svg(graph_of_clusters(KNOWN))
    assert render_mermaid(graph_of_clusters(other)) == render_mermaid(graph_of_clusters(KNOWN))


def test_mermaid() -> None:
    text = render_mermaid(graph_of_clusters(KNOWN))
    assert_mermaid(text)
    assert text == (
        "flowchart LR\n"
        '  subgraph v0["analytics"]\n'
        '    v0m["no members"]\n'
        '    v0l0["own"]\n'
        '    v0l1["sales.orders"]\n'
        "  end\n"
        '  subgraph v1["emea.sales"]\n'
        '    v1m["user User:jane<br/>client id c<br/>group g<br/>transactional id t"]\n'
        '    v1l0["Orders"]\n'
        '    v1l1["again"]\n'
        "  end\n"
        '  subgraph v2["empty"]\n'
        '    v2m["no members"]\n'
        "  end\n"
        '  t0[("u.own")]\n'
        '  t1[("u.Orders #40;seen by 2#41;")]\n'
        "  v0l0 --> t0\n"
        "  v0l1 --> t1\n"
        "  v1l0 --> t1\n"
        "  v1l1 --> t1\n"
        "  classDef shared stroke-width:3px\n"
        "  class t1 shared\n"
    )
    assert "-.->" in render_mermaid(graph_of_plan(farewell_plan()) or graph_of_clusters({}))


def test_svg_draws_a_line_for_each_link_and_overlaps_nothing() -> None:
    for known in (KNOWN, many(30)):
        graph = graph_of_clusters(known)
        text = render_svg(graph)
        assert_svg(text)
        root = ElementTree.fromstring(text)  # noqa: S314 (our own)
        links = [path for path in root.iter(f"{SVG}path") if "link" in path.attrib["class"]]
        assert len(links) == sum(len(tenant.links) for tenant in graph.tenants)
        for class_ in ("tenant", "topic"):
            boxes = [
                (int(box.attrib.get("y", "0")), int(box.attrib["height"]))
                for box in root.iter(f"{SVG}rect")
                if box.attrib["class"].split()[0] == class_
            ]
            assert all(y + height < below for (y, height), (below, _) in pairwise(boxes))
            assert all(y + height <= int(root.attrib["height"]) for y, height in boxes)
        assert len(boxes) == len(graph.topics)


def test_a_cluster_without_virtual_clusters_is_a_picture_too() -> None:
    assert_svg(render_svg(graph_of_clusters({})))
    assert render_mermaid(graph_of_clusters({})) == "flowchart LR\n"


def test_the_picture_in_a_page_brings_no_style_of_its_own() -> None:
    """A page allows its own style only."""
    assert "<style>" not in svg_element(graph_of_clusters(KNOWN))
    assert "<style>" in render_svg(graph_of_clusters(KNOWN))
