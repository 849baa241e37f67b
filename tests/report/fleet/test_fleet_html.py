"""What the fleet's page says, and that it is closed in itself."""

import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from other_processes import told_by_processes
from report.fleet.fleets import (
    FLEETS,
    a_failed_unit,
    a_history,
    a_run,
    a_unit,
    any_history,
    large,
    violations,
)
from report.html.document import Document
from report.safety import assert_page
from tiers import examples

from kgitops.fleet.summary import History
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.fleet.charts import cluster_chart, line_charts, violation_bars
from kgitops.report.fleet.fleet_html import render_fleet_html
from kgitops.report.fleet.highlights import (
    destructive_plans,
    failures,
    headline,
    violations_by_policy,
)
from kgitops.report.fleet.history import RunTotals, totals_by_run

_ATTRIBUTES = re.compile(
    r"class|id|lang|charset|content|http-equiv|name|open|tabindex|role|href|scope|colspan"
    r"|aria-[a-z]+|focusable|width|height|x|y|x1|y1|x2|y2|rx|cx|cy|r|d|patternunits"
)


@pytest.mark.parametrize("name", FLEETS)
def test_the_page_says_what_the_text_says(name: str) -> None:
    history = FLEETS[name]()
    run = history.latest
    page = render_fleet_html(history)
    assert_page(page)
    document = Document(page)
    assert not document.open_tags
    assert headline(run) in document.text
    told = [*((each.unit, each.text) for each in failures(run))]
    told += ((each.unit, each.text) for each in destructive_plans(run))
    for unit, words in told:
        assert f"{unit.name} {words}" in document.text
    for rule in violations_by_policy(run):
        assert rule.text in document.text
    for unit in run.units:
        assert unit.name in document.text


@pytest.mark.parametrize("name", FLEETS)
def test_the_page_needs_nothing_and_runs_nothing(name: str) -> None:
    page = render_fleet_html(FLEETS[name]())
    document = Document(page)
    for tag, attributes in document.elements:
        assert tag not in {"script", "link", "img", "iframe", "form", "base", "object"}
        for attribute, value in attributes.items():
            assert _ATTRIBUTES.fullmatch(attribute), (tag, attribute)
            if attribute == "href":
                assert value.startswith("#")
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src &#39;sha256-{digest}&#39;" in page
    assert "default-src &#39;none&#39;" in page
    assert "script-src" not in page
    assert "http:" not in page
    assert "https:" not in page


def test_nothing_is_said_of_plans_that_are_not_there() -> None:
    """That nothing changes, drifts or is denied would be taken for good news."""
    failed = Document(render_fleet_html(FLEETS["all failed"]())).text
    assert "There is no plan that a policy could judge." in failed
    assert "no drift" not in failed
    assert "Changes none" not in failed
    some = a_history(a_run(a_unit(), a_failed_unit()))
    assert (
        "No policy says anything against the plans that could be made."
        in Document(render_fleet_html(some)).text
    )


def large_page() -> str:
    return render_fleet_html(large())


@pytest.mark.slow
def test_the_same_history_gives_the_same_bytes_in_every_process() -> None:
    assert told_by_processes(large_page) == {large_page()}


def test_five_hundred_clusters_over_three_months_are_a_small_file() -> None:
    assert len(render_fleet_html(large(500, runs=20)).encode()) < 200_000


@given(any_history)
@settings(max_examples=examples(30))
def test_any_history_has_a_page(history: History) -> None:
    assert_page(render_fleet_html(history))


def test_bars_are_as_long_as_their_numbers() -> None:
    chart = cluster_chart(a_run(a_unit("a", updates=100), a_unit("b", updates=25), a_unit("c")))
    assert chart
    assert [bar.name for bar in chart.bars] == ["a", "b"]
    long, short = (
        sum(float(part.width) for part in bar.segments) for bar in (chart.bars[0], chart.bars[1])
    )
    assert long == pytest.approx(100)
    assert short == pytest.approx(25, abs=0.1)
    assert chart.bars[0].text == "67 topics, 33 quotas"
    for left, right in pairwise(chart.bars[0].segments):
        assert float(left.x) + float(left.width) == pytest.approx(float(right.x), abs=0.02)


def test_all_projects_of_a_cluster_are_one_bar_and_the_21st_cluster_has_none() -> None:
    units = [a_unit(f"c{n:02}", project, updates=30 - n) for n in range(25) for project in "ab"]
    chart = cluster_chart(a_run(*units))
    assert chart
    assert len(chart.bars) == 20
    assert chart.bars[0].total == 60
    assert chart.rest
    assert (chart.rest.name, chart.rest.segments) == ("5 other clusters", ())
    assert chart.rest.total == sum(2 * (30 - n) for n in range(20, 25))
    assert cluster_chart(a_run(a_unit(), a_failed_unit())) is None


def test_every_part_can_be_seen_and_no_bar_is_longer_than_its_track() -> None:
    tiny = replace(a_unit(), changes={"Topic": 10**6, "Acl": 1, "Broker": 1, "TopicLink": 1})
    chart = cluster_chart(a_run(tiny))
    assert chart
    (bar,) = chart.bars
    assert all(float(part.width) >= 0.3 for part in bar.segments), bar.segments
    last = bar.segments[-1]
    assert float(last.x) + float(last.width) <= 100.01


def test_what_denies_is_drawn_first_and_only_so_much_is() -> None:
    many = {(f"policy-{n}", "advisory", "denied"): n + 1 for n in range(40)}
    many["cap", "hard", "denied"] = 1
    run = a_run(replace(a_unit(denied=1), violations=violations(many)))
    bars = violation_bars(violations_by_policy(run))
    assert len(bars) == 12
    assert bars[0].name == "cap (hard)"
    assert bars[0].segments[0].tone == PolicyStatus.DENIED
    assert float(bars[1].segments[0].width) == 100


def _nights(*drift: int) -> tuple[RunTotals, ...]:
    return totals_by_run(
        a_history(
            *(
                a_run(a_unit(drift=count), created=f"2026-11-{day:02}T03:00:00Z")
                for day, count in enumerate(drift, start=1)
            )
        )
    )


def test_a_line_stands_in_time_and_begins_at_nothing() -> None:
    chart = line_charts(_nights(0, 5, 10))[0]
    assert chart.title == "Drift over time"
    assert [float(point.x) for point in chart.points] == [2, 50, 98]
    top, middle, bottom = (float(y) for y in chart.lines)
    assert chart.ticks == ("10", "5", "0")
    assert [float(point.y) for point in chart.points] == [bottom, middle, top]
    assert chart.summary == "10 in the latest of 3 runs, 0 in the first, between 0 and 10."


@pytest.mark.parametrize("most", [0, 1, 2, 3, 7, 9, 10, 11, 99, 100, 101, 4_954, 10**9])
def test_the_scale_holds_the_largest_and_its_half_is_whole(most: int) -> None:
    chart = line_charts(_nights(0, most))[0]
    top, half, bottom = (int(tick.replace(",", "")) for tick in chart.ticks)
    assert (bottom, 2 * half) == (0, top)
    assert top >= most
    assert top <= max(2, 1.5 * most)
    assert all(0 <= float(point.y) <= chart.height for point in chart.points)


def test_one_run_has_no_line_and_runs_of_one_moment_fall_together() -> None:
    assert line_charts(_nights(4)) == ()
    same = tuple(replace(night, created="2026-11-01T03:00:00Z") for night in _nights(1, 2))
    assert [point.x for point in line_charts(same)[0].points] == ["50.00", "50.00"]


def test_a_run_in_which_plans_are_missing_is_a_ring() -> None:
    history = a_history(
        a_run(a_unit(drift=4), created="2026-11-01T03:00:00Z"),
        a_run(a_failed_unit(), created="2026-11-02T03:00:00Z"),
    )
    chart = line_charts(totals_by_run(history))[0]
    assert [point.whole for point in chart.points] == [True, False]
    assert chart.points[1].text == "2026-11-02 03:00: 0, without 1 plan"
    document = Document(render_fleet_html(history))
    assert len(document.of_class("hole")) == 3
    assert "A ring is a run" in document.text
