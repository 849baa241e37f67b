"""A fleet as text, JSON and a comment: the answer first, what hurts always, never too much."""

import json

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from report.fleet.fleets import (
    FLEETS,
    a_failed_unit,
    a_history,
    a_run,
    a_unit,
    all_failed,
    any_history,
    large,
)
from report.safety import assert_coloured, assert_comment, assert_harmless, assert_json
from tiers import examples

from kgitops.fleet.summary import History
from kgitops.fleet.summary_json import read_run
from kgitops.report.fleet.fleet_json import render_fleet_json
from kgitops.report.fleet.fleet_markdown import render_fleet_markdown
from kgitops.report.fleet.fleet_text import render_fleet_text
from kgitops.report.fleet.highlights import destructive_plans, headline, violations_by_policy
from kgitops.report.fleet.outliers import outliers
from kgitops.report.markdown.plan import GITHUB_BUDGET


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize("width", [40, 80, 100, 160])
def test_the_answer_comes_first_and_no_line_is_too_long(name: str, width: int) -> None:
    history = FLEETS[name]()
    lines = render_fleet_text(history, width=width).splitlines()
    answer = headline(history.latest)
    assert lines[0].startswith("kgitops fleet  ")
    assert " ".join(lines[1:4]).startswith(answer)
    assert max(map(len, lines)) <= max(width, 80)


@pytest.mark.parametrize("name", FLEETS)
def test_five_hundred_clusters_are_not_five_hundred_lines(name: str) -> None:
    assert len(render_fleet_text(FLEETS[name]()).splitlines()) < 120


def test_what_hurts_comes_before_what_is_far_out() -> None:
    text = render_fleet_text(large())
    titles = ["NO PLAN", "DELETIONS AND LOSSES", "FINDINGS", "VIOLATIONS", "OUTLIERS", "SINCE"]
    places = [text.index(f"\n{title}") for title in titles]
    assert places == sorted(places)


def test_ten_are_shown_and_the_others_counted_until_all_are_asked_for() -> None:
    history = all_failed()
    brief, full = render_fleet_text(history), render_fleet_text(history, full=True)
    assert brief.count("/payments") == 10
    assert "and 490 more   all: --full" in brief
    assert full.count("/payments") == 500
    assert "--full" not in full


def test_a_row_goes_on_below_its_words_and_ends() -> None:
    failed = a_failed_unit("emea-7", sentence="it " * 3_000)
    lines = render_fleet_text(a_history(a_run(failed)), width=80).splitlines()
    at = next(n for n, line in enumerate(lines) if "emea-7/payments" in line)
    assert lines[at].startswith("  ! emea-7/payments  exit 8: it it")
    below = lines[at + 1 : lines.index("", at)]
    assert 2 <= len(below) <= 8
    assert all(line.startswith(" " * 21) and line[21] != " " for line in below)


def test_a_long_name_leaves_room_for_its_words() -> None:
    failed = a_failed_unit("n" * 46, "p", sentence="it " * 60)
    lines = render_fleet_text(a_history(a_run(failed)), width=80).splitlines()
    at = next(n for n, line in enumerate(lines) if "nnn" in line)
    assert lines[at + 1].startswith("        it it")


def test_with_full_every_unit_that_is_told_of_has_its_row() -> None:
    run = large().latest
    text = render_fleet_text(large(), full=True)
    for unit in run.units:
        if not unit.planned or unit.change_count:
            assert unit.name in text


@pytest.mark.parametrize("name", FLEETS)
def test_colour_changes_nothing_else(name: str) -> None:
    history = FLEETS[name]()
    plain, coloured = (render_fleet_text(history, colour=colour) for colour in (False, True))
    assert_harmless(plain)
    assert_coloured(coloured)
    assert plain.count("\n") == coloured.count("\n")
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain


def test_a_single_run_is_compared_with_nothing() -> None:
    text = render_fleet_text(FLEETS["lone"]())
    assert "SINCE" not in text
    assert "RUNS" not in text


@pytest.mark.parametrize(
    ("fleet", "step"),
    [("empty", "declare something"), ("all failed", "correct the problems"), ("calm", "--cluster")],
)
def test_the_last_line_is_the_next_step(fleet: str, step: str) -> None:
    last = render_fleet_text(FLEETS[fleet]()).splitlines()[-1]
    assert last.startswith("Next: ")
    assert step in last


def test_earlier_runs_are_counted() -> None:
    history = replace(large(40, runs=20), left_out=300)
    assert "RUNS (320)" in render_fleet_text(history)
    assert "and 306 earlier" in render_fleet_text(history)
    assert "and 300 earlier" in render_fleet_text(history, full=True)


@pytest.mark.parametrize("name", FLEETS)
def test_json_holds_the_run_whole_and_the_same_counts(name: str) -> None:
    history = FLEETS[name]()
    text = render_fleet_json(history)
    assert_json(text)
    document = json.loads(text)
    run = history.latest
    assert read_run(json.dumps(document["run"]), "x") == run
    assert document["sentence"] == headline(run)
    assert document["totals"]["changes"] == run.total("changes")
    assert sum(each["count"] for each in document["violations"]) == sum(
        rule.count for rule in violations_by_policy(run)
    )
    assert len(document["outliers"]) == len(outliers(run.units))
    assert [each["created"] for each in document["runs"]] == [r.created for r in history.runs]
    assert document["runs"][-1]["exit"] == document["verdict"]["exit"]
    assert (document["since"] is None) == (len(history.runs) == 1)


@pytest.mark.parametrize("name", FLEETS)
def test_a_comment_fits_and_begins_with_the_answer(name: str) -> None:
    history = FLEETS[name]()
    comment = render_fleet_markdown(history)
    assert_comment(comment)
    assert len(comment.encode()) <= GITHUB_BUDGET
    marker, heading, _, answer = comment.splitlines()[:4]
    assert marker.startswith("<!-- kgitops:fleet:")
    assert heading.startswith("### ")
    assert answer == f"**{headline(history.latest)}**"
    assert ("Since the run before" in comment) == (len(history.runs) > 1)


def test_a_comment_says_how_much_it_leaves_out() -> None:
    comment = render_fleet_markdown(all_failed())
    assert "#### No plan (500)" in comment
    assert comment.count("/payments") == 50
    assert "# 450 more: kgitops fleet summary DIR --full" in comment


@pytest.mark.parametrize("budget", [GITHUB_BUDGET, 20_000, 8_000, 4_096])
def test_a_comment_keeps_to_any_budget(budget: int) -> None:
    """Names and reasons as long and as wide as they get; what is folded goes before what hurts."""
    long = "\U0001f600" * 5_000
    units = [
        *(a_failed_unit(f"{long}{n}", long, sentence=long) for n in range(60)),
        *(a_unit(f"c{n}{long}", deletes=3, denied=2, drift=90) for n in range(300)),
    ]
    history = a_history(a_run(created="2026-11-21T03:00:00Z"), a_run(*units))
    comment = render_fleet_markdown(history, budget=budget)
    assert len(comment.encode()) <= budget
    assert_comment(comment)
    for title in ("No plan (60)", "Deletions and losses (300)", "Violations (1)"):
        assert title in comment


def test_what_is_folded_is_shortened_before_what_hurts() -> None:
    history = large()
    whole = len(render_fleet_markdown(history).encode())
    comment = render_fleet_markdown(history, budget=whole - 1)
    for each in destructive_plans(history.latest):
        assert each.unit.name in comment


@pytest.mark.parametrize(
    ("fleet", "dot"), [("empty", "🟢"), ("calm", "🟢"), ("lone", "🟠"), ("large", "🔴")]
)
def test_the_dot_says_how_bad_it_is(fleet: str, dot: str) -> None:
    assert f"### {dot} " in render_fleet_markdown(FLEETS[fleet]())


@given(any_history)
@settings(max_examples=examples(40))
def test_any_history_can_be_shown(history: History) -> None:
    assert_harmless(render_fleet_text(history, full=True))
    assert_comment(render_fleet_markdown(history))
    assert_json(render_fleet_json(history))
