"""What policies say, in text and Markdown: each denial once, none hidden, counts conserved."""

import re
from datetime import date

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from msgspec.structs import replace
from report.plans import (
    CRASH,
    MIGRATION,
    POLICIES,
    any_plan,
    create_topic,
    delete_topic,
    denied,
    judged,
    judged_plan,
    make_plan,
    many_denials,
    no_changes,
    passed_plan,
    refused_plan,
    sealed,
    three_denials,
    update_topic,
    violation,
)
from tiers import examples

from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.broker_validation import BROKER_POLICY
from kgitops.plan.document.plan import Plan, WaiverUse
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    policy_status,
    status_totals,
    tally,
    violation_groups,
    waiver_sentence,
)
from kgitops.report.markdown.plan import GITHUB_BUDGET, render_markdown, render_markdown_comments
from kgitops.report.text.plan import render_text

TODAY = date(2026, 11, 21)
WORDS = "replication factor 2 is below 3"


def block(plan: Plan, **options: object) -> str:
    """The policies' part of the text."""
    text = render_text(plan, sealed=sealed(plan), width=120, **options)  # type: ignore[arg-type]
    found = re.search(r"^POLICY.*?\n(?:  .*\n)*", text, re.MULTILINE)
    return found[0] if found else ""


def piece(comment: str) -> str:
    """The policies' part of a comment, without its fence."""
    pieces = comment.split("#### Policy (")[1:]
    return "\n".join(rest.partition("```diff\n")[2].partition("\n```")[0] for rest in pieces)


def test_one_line_where_all_passed() -> None:
    assert block(passed_plan()) == "POLICY       5 passed\n"
    assert "Policy: 5 passed." in render_markdown(passed_plan())
    assert "#### Policy" not in render_markdown(passed_plan())


def test_no_policies_no_word_of_them() -> None:
    assert "POLICY" not in render_text(refused_plan())
    assert not re.search(r"^(#### )?Policy", render_markdown(refused_plan()), re.MULTILINE)


def test_policies_that_judged_nothing_say_so() -> None:
    plan = replace(no_changes(), policies_loaded=POLICIES)
    assert "5 policies loaded, none applies to a change" in block(plan)
    one = replace(plan, policies_loaded=POLICIES[:1])
    assert "Policy: 1 policy loaded, none applies" in render_markdown(one)


def test_denied_comes_first_then_waived_then_advice() -> None:
    for text in (block(judged_plan()), piece(render_markdown(judged_plan()))):
        heads = re.findall(r"^[!# ] ?([A-Z]+ (?:by|from) \S+ \([a-z]+\))$", text, re.MULTILINE)
        assert heads == [
            "DENIED by replication-factor-range (hard)",
            "DENIED by team-prefix (hard)",
            "DENIED by retention-cap (soft)",
            "WAIVED from retention-cap (soft)",
            "ADVISED by labels (advisory)",
            "NOTED by compression (info)",
        ]


def test_advice_stands_below_what_is_lost() -> None:
    plan = replace(judged_plan(), changes=(*judged_plan().changes, delete_topic("gone")))
    comment = render_markdown(plan)
    places = [comment.index(words) for words in ("DENIED by", "#### Data loss", "ADVISED by")]
    assert places == sorted(places)


def test_a_denial_says_where_why_and_what_to_do() -> None:
    text = block(judged_plan())
    assert f"! topic orders.v2  topics/orders.v2.yaml:7:24  {WORDS}\n" in text
    assert "what to do: set replicationFactor to 3; see kgitops policy explain repl" in text
    assert (
        "what to do: lower retention.ms to 7 d; see kgitops policy explain retention-cap, or"
        in text
    )
    assert f"! topic scratch  {CRASH}\n  DENIED by retention-cap" in text


def test_a_waiver_is_told_with_the_days_that_are_left() -> None:
    sentence = "until 2027-01-31, 71 days left, owner @data-platform, OPS-12: until the archive has"
    plan = judged_plan()
    tail = "1 waived (expires 2027-01-31, 71 days left, owner @data-platform), 1 advised, 1 noted"
    for text in (block(plan), piece(render_markdown(plan, sealed=sealed(plan)))):
        assert sentence in text
        assert text.count(f"0 passed, 3 denied in 2 changes, {tail}") == 1


@pytest.mark.parametrize(
    ("expires", "told"),
    [
        ("2026-11-23", "until 2026-11-23, 2 days left, owner"),
        ("2026-11-22", "until 2026-11-22, 1 day left, owner"),
        ("2026-11-21", "until 2026-11-21, the last day, owner"),
        ("2026-11-20", "until 2026-11-20, owner"),
        ("soon", "until soon, owner"),
    ],
)
def test_days_left_are_counted_to_the_last_day(expires: str, told: str) -> None:
    """EXP: the waiver holds through that day, UTC."""
    use = replace(MIGRATION, expires=expires)
    assert waiver_sentence(use, TODAY).startswith(told)


def test_the_tally_names_the_waiver_that_ends_first() -> None:
    uses = [replace(MIGRATION, expires=f"2026-12-{day}", owner=f"@{day}") for day in (20, 10, 30)]
    plan = make_plan(*(_waived(f"t{n}", use) for n, use in enumerate(uses)))
    assert tally(plan, TODAY) == (
        "4 passed, 1 waived (3 waivers, the first expires 2026-12-10, 19 days left, owner @10)"
    )
    assert tally(plan, None).endswith("(3 waivers, the first expires 2026-12-10, owner @10)")


def test_one_waiver_of_several_changes_is_one() -> None:
    plan = make_plan(*(_waived(f"t{n}", MIGRATION) for n in range(3)))
    assert tally(plan, None) == "4 passed, 1 waived (expires 2027-01-31, owner @data-platform)"


def _waived(name: str, use: WaiverUse):  # type: ignore[no-untyped-def]
    change = update_topic(name)
    return judged(change, violation(change, "retention-cap", "too long", waiver=use))


def test_one_denial_is_told_once() -> None:
    plan = make_plan(denied(create_topic("a"), POLICIES[0].name, WORDS), policies_loaded=POLICIES)
    for text in (render_text(plan), render_markdown(plan)):
        assert text.count(WORDS) == 1
        assert "STOPS" not in text
        assert "#### Stops" not in text
        assert "Denied by policy: 1 reason, exit 3." in text


def test_the_same_words_are_said_once_for_all_objects() -> None:
    for text in (block(three_denials()), piece(render_markdown(three_denials()))):
        assert text.count(WORDS) == 1
        assert f"{WORDS}: 3 objects" in text
        for name in ("a", "b", "c"):
            row = rf"^[! ] +topic {name} +\(?topics/{name}\.yaml:7:24\)?$"
            assert re.search(row, text, re.MULTILINE)
            assert f"topic {name} does not begin with a team's name" in text


@pytest.mark.parametrize("full", [False, True])
def test_three_hundred_denials_are_each_marked_in_their_row(full: bool) -> None:
    """Among as many alike that nobody denies, and those may be folded."""
    text = render_text(many_denials(300), full=full)
    rows = re.findall(r"topic (\S+) .* DENIED by replication-factor-range$", text, re.MULTILINE)
    assert sorted(rows) == sorted(f"team-{n % 7}.events.{n}" for n in range(300))
    assert text.count(WORDS) == 1
    assert ("topic good.7 " in text) == full
    short = block(many_denials(300))
    assert short.count("\n") < 20
    assert "team-0.events.* (43)" in short
    assert "ADVISED by labels (advisory)\n    no team is named: 300 objects\n      other.*" in short


def test_full_shows_each_with_its_fingerprint() -> None:
    text = block(many_denials(300), full=True)
    assert text.count("topics/team-") == 300
    assert text.count("fingerprint ") == 600


def test_a_denied_change_is_not_put_together_with_others_alike() -> None:
    alike = [create_topic(f"t{n}") for n in range(30)]
    plan = make_plan(denied(alike[0], POLICIES[0].name, WORDS), *map(judged, alike[1:]))
    text = render_text(plan)
    assert "topic t0 " in text
    assert "topic t1 " not in text
    assert "+ 29 topics" in text


@pytest.mark.parametrize("count", [1, 3, 300, 3000])
def test_no_denial_is_left_out_of_a_comment(count: int) -> None:
    """Goal G13: however many there are and however little room."""
    plan = many_denials(count)
    comments = render_markdown_comments(plan, budget=20_000 if count < 3000 else GITHUB_BUDGET)
    assert len(comments) == 1 or count >= 300
    text = "\n".join(comments)
    for n in range(count):
        name = f"team-{n % 7}.events.{n}"
        assert f"topic {name} (topics/{name}.yaml:7:24)" in text
    told = re.search(r"elided ([\d,]+)", text)
    shown = re.search(r"Shown: ([\d,]+) of ([\d,]+) changes by name", text)
    if told and shown:
        numbers = [int(match.replace(",", "")) for match in (told[1], *shown.groups())]
        assert numbers[0] + numbers[1] == numbers[2] == 3 * count
        assert numbers[1] >= count


def test_waivers_stay_and_advice_gives_way() -> None:
    changes = [_waived(f"w{n}", replace(MIGRATION, ticket=f"OPS-{n}")) for n in range(100)]
    changes += [denied(create_topic(f"a{n}"), "labels", f"no team, {n}") for n in range(500)]
    plan = make_plan(*changes, policies_loaded=POLICIES)
    (roomy,) = render_markdown_comments(plan)
    assert "#   no team, 0: a0\n" in roomy
    assert "#   and 480 more: kgitops show --full\n" in roomy
    (comment,) = render_markdown_comments(plan, budget=14_700)
    assert all(f"OPS-{n}: until" in comment for n in range(100))
    assert "# ADVISED by labels (advisory)\n#   500 objects\n" in comment


def test_a_denied_change_stays_folded_among_its_like_and_open_among_the_policies() -> None:
    """One denial does not unfold a thousand creations."""
    plan = make_plan(
        denied(create_topic("bad"), POLICIES[0].name, WORDS),
        *(judged(create_topic(f"good.{n}")) for n in range(999)),
        policies_loaded=POLICIES,
    )
    text = render_markdown(plan)
    assert "<details><summary>Create (1,000)</summary>" in text
    assert "topic bad (topics/bad.yaml:7:24)" in piece(text)


def test_other_reasons_are_still_told_where_they_were() -> None:
    plan = replace(
        judged_plan(), refusals=(Reason(exit=ExitCode.REFUSED, sentence="it's foreign"),)
    )
    assert "STOPS (1)\n  ! exit 5: it's foreign\n" in render_text(plan)
    assert "#### Stops (1)\n\n```diff\n! exit 5: it's foreign\n```" in render_markdown(plan)
    assert "Denied by policy: 4 reasons, exit 3." in render_text(plan)


@given(any_plan)
@settings(max_examples=examples(60))
def test_every_row_is_counted_once(plan: Plan) -> None:
    every = [result for change in plan.changes for result in change.policies]
    found = status_totals(plan)
    assert sum(found.values()) == len(every)
    assert found[PolicyStatus.DENIED] == sum(result.stops for result in every)
    told = [row for group in violation_groups(plan) for row in group.rows]
    assert len(told) == sum(result.outcome is not Outcome.PASSED for result in every)
    if every:
        words = tally(plan, None)
        others_than_passed = [each for each in PolicyStatus if each is not PolicyStatus.PASSED]
        policies = {
            each: {result.policy for result in every if policy_status(result) is each}
            for each in PolicyStatus
        }
        others = set().union(*(policies[each] for each in others_than_passed))
        assert words.startswith(f"{len(policies[PolicyStatus.PASSED] - others)} passed")
        for each in others_than_passed:
            assert f", {len(policies[each])} {each}" in words or not policies[each]


@given(any_plan)
@settings(max_examples=examples(40))
def test_any_comment_holds_its_policies_in_one_fence(plan: Plan) -> None:
    comment = render_markdown(plan)
    fences = [token for token in MarkdownIt("commonmark").parse(comment) if token.type == "fence"]
    assert ("#### Policy" in comment) == bool(violation_groups(plan))
    if violation_groups(plan):
        assert sum(" passed" in token.content for token in fences) >= 1


def test_what_a_brokers_own_policy_denies_is_not_explained_by_us() -> None:
    """Nothing is known of it but its words: `policy explain` would find no such policy."""
    change = denied(create_topic("orders"), POLICIES[0].name, "no")
    said = replace(change.policies[-1], policy=BROKER_POLICY.name, level=BROKER_POLICY.level)
    change = replace(change, policies=(said,))
    text = render_text(replace(make_plan(change), policies_loaded=(BROKER_POLICY,)))
    assert "what to do: Change the document so that the brokers' own policy accepts it\n" in text
    assert "explain" not in text
