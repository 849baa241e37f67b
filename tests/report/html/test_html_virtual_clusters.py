"""Virtual clusters in the HTML report: the table, the picture, and what Kafka does not keep."""

from collections.abc import Callable
from pathlib import Path

from report.html.browser import Browser
from report.plans import twelve_changes
from report.tenant_plans import farewell_plan, golden_plan

from kgitops.plan.document.plan import Plan
from kgitops.report.html.render import render_html
from kgitops.report.virtual_clusters.graph import graph_of_plan
from kgitops.report.virtual_clusters.svg import render_page

Save = Callable[[Plan], Path]


def test_the_summary_the_picture_and_the_lowering_are_seen(browser: Browser, saved: Save) -> None:
    """VC-412: read in a browser, without errors, and without scrolling the page sideways."""
    for width in (1400, 390):
        browser.open(saved(golden_plan()), width=width)
        assert browser.logged() == []
        assert browser.overflow() == 0
    browser.open(saved(golden_plan()), width=1400)
    table = browser.text("section[aria-labelledby=tenants] table")
    assert "analytics 8 to create user analytics/User:ana-reader nothing 2 CLIENT" in table
    assert "emea.sales 17 to create user emea.sales/User:sales-app nothing" in table
    lowering = browser.text("section[aria-labelledby=lowering]")
    assert "What this Kafka does not keep exactly: 1 NONE, 4 CLIENT." in lowering
    assert "L-TRANSPARENCY (CLIENT, 2)" in lowering
    picture = "document.querySelector('svg.tenants')"
    assert browser.run(f"return {picture}.getBoundingClientRect().height") > 100  # type: ignore[operator]
    drawn = str(browser.run(f"return {picture}.textContent"))
    assert "+ analytics" in drawn
    assert "seen by 2" in drawn
    fill = f"return getComputedStyle({picture}.querySelector('.topic.shared')).stroke"
    assert browser.run(fill) == "rgb(138, 92, 196)"
    browser.open(saved(golden_plan()), width=1400, scheme="dark")
    assert browser.run(fill) == "rgb(157, 120, 214)"


def test_a_row_tells_where_it_leads_and_what_kafka_gets(browser: Browser, saved: Save) -> None:
    """VC-008, VC-407, VC-411: links, what a change is derived from, and its physical operations."""
    browser.open(saved(golden_plan()), width=1400)
    rows = str(browser.run("return document.querySelector('.changes').textContent"))
    assert "-> <uuid:new>.Orders (known after apply), no data movement" in rows
    assert "because it is declared; derived from user emea.sales/User:sales-app" in rows
    assert "1 operation on Kafka" in rows
    assert "CreateAcls User:sales-app Allow Read topic Orders" in rows
    folded = "return document.querySelector('.requests details').open"
    assert browser.run(folded) is False


def test_what_is_lost_stands_beside_its_virtual_cluster() -> None:
    """VC-412."""
    page = render_html(farewell_plan())
    assert "<td>group analytics/rpt, topic analytics/Reports</td>" in page


def test_a_page_without_virtual_clusters_has_none_of_it() -> None:
    """VC-004: neither style nor section."""
    page = render_html(twelve_changes())
    assert "tenants" not in page
    assert "owering" not in page


def test_the_graph_is_a_page_for_narrow_screens_and_for_the_dark(
    browser: Browser, tmp_path: Path
) -> None:
    graph = graph_of_plan(golden_plan())
    assert graph
    file = tmp_path / "graph.html"
    file.write_text(render_page(graph), encoding="utf-8")
    ground = "return getComputedStyle(document.body).backgroundColor"
    for width in (390, 1400):
        for scheme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(15, 19, 24)")):
            browser.open(file, width=width, scheme=scheme)
            assert browser.logged() == []
            assert browser.overflow() == 0
            assert browser.run(ground) == colour
    browser.open(file, width=390)
    scrolls = "const e = document.querySelector('.scroll'); return e.scrollWidth > e.clientWidth"
    assert browser.run(scrolls) is True
    size = "return getComputedStyle(document.querySelector('svg text')).fontSize"
    assert browser.run(size) == "12px"
