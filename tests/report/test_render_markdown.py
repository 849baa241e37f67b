"""The comment: within GitHub's limit, balanced, and no deletion is ever hidden (goal G13)."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace
from report.plans import (
    ALL_PLANS,
    acl_change,
    any_plan,
    binding,
    create_topic,
    delete_topic,
    forget_topic,
    make_plan,
    quota_change,
    refused_plan,
    sealed,
    shrink_topic,
    thousand_changes,
    twelve_changes,
    update_topic,
)
from syrupy.assertion import SnapshotAssertion
from tiers import examples

from kgitops.model.resources.addresses import object_name
from kgitops.model.source import Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document import risks
from kgitops.plan.document.documents import summary
from kgitops.plan.document.plan import AccessLoss, Action, Change, Drift, Kept, Plan
from kgitops.report.content.sections import never_folded
from kgitops.report.markdown.plan import GITHUB_BUDGET, render_markdown, render_markdown_comments


@pytest.mark.parametrize("name", ALL_PLANS)
def test_the_comment(name: str, snapshot: SnapshotAssertion) -> None:
    plan = ALL_PLANS[name]()
    assert render_markdown(plan, sealed=sealed(plan)) == snapshot


def _change(kind: int, n: int, name: str) -> Change:
    match kind:
        case 0:
            return delete_topic(f"{name}.{n}", topic_id=f"id{n}")
        case 1:
            return shrink_topic(f"{name}.{n}")
        case 2:
            return acl_change(binding(f"User:{name}.{n}", "t"), Action.DELETE)
        case 3:
            return update_topic(f"{name}.{n}")
        case 4:
            return forget_topic(f"{name}.{n}")
        case 5:
            return replace(
                quota_change(),
                address=f"quota/user={name}.{n}",
                actions=(Action.DELETE,),
                risks=(risks.QUOTA_REMOVE,),
            )
        case 6:
            return replace(create_topic(f"{name}.{n}"), source=Source(f"{name}/" * 5, n, 1))
        case _:
            return create_topic(f"{name}.{n}")


@st.composite
def large_plans(draw: st.DrawFn) -> Plan:
    """1 to 3,000 changes of any mix, more of some kinds than of others."""
    name = draw(st.sampled_from(["t", "a.very.long.prefix-" * 6, "`" * 40, "ü" * 30]))
    weights = draw(st.lists(st.integers(0, 7), min_size=1, max_size=9))
    count = draw(st.sampled_from([1, 2, 3, 19, 20, 21, 60, 250, 600, 1500, 3000]))
    few = draw(st.integers(0, 300))
    return make_plan(
        *(_change(weights[n % len(weights)], n, name) for n in range(count)),
        kept=tuple(Kept(address=f"topic/k{n}", rule="foreign") for n in range(few)),
        drift=tuple(
            Drift(address=f"topic/d{n}", path="p", last_applied="1", found="2", rule="undeclared")
            for n in range(few)
        ),
        access_losses=tuple(
            AccessLoss(principal=f"User:p{n}", operation="Read", resource="topic t")
            for n in range(few)
        ),
        refusals=tuple(
            Reason(exit=ExitCode.REFUSED, sentence=f"reason {n}.") for n in range(few % 40)
        ),
    )


def assert_balanced(comment: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).parse(comment)
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>")
    assert comment.startswith("<!-- kgitops:payments:prod%2Deu:")
    last = tokens[-2]
    # Had a fence stayed open, the end of the comment would be inside it.
    assert "sha256:" in last.content
    assert last.type == "inline"


@given(large_plans())
@settings(max_examples=examples(40))
def test_every_comment_fits_and_nothing_that_hurts_is_hidden(plan: Plan) -> None:
    comments = render_markdown_comments(plan)
    text = "\n".join(comments)
    for comment in comments:
        assert len(comment.encode()) <= GITHUB_BUDGET
        assert_balanced(comment)
    words = set(text.replace(",", " ").split())
    for change in plan.changes:
        if never_folded(change):
            assert object_name(change.address).name.split()[0] in words
        if Action.DELETE in change.actions and change.kind == "Topic":
            topic_id = change.preconditions[0].topic_id
            assert topic_id in words
    for loss in plan.access_losses:
        assert f"! {loss.principal} can no longer Read topic t" in text
    for reason in plan.refusals:
        assert f"exit 5: {reason.sentence}" in text
    assert_adds_up(plan, text)


def assert_adds_up(plan: Plan, text: str) -> None:
    """What is shown and what is elided are all changes, and the counts are those of the JSON."""
    counts = summary(plan)
    for count, words in (("delete", "to delete"), ("kept", "kept"), ("drift", "drifted")):
        assert (f"{counts[count]:,} {words}" in text) == bool(counts[count])
    titles = "Data loss|Access loss|Disruptive|Delete|Update|Adopt|Forget|Create"
    headings = set(re.findall(rf"(?:#### |<summary>)({titles}) \(([\d,]+)\)", text))
    assert sum(int(count.replace(",", "")) for _, count in headings) == len(plan.changes)
    told = re.search(
        r"Shown: ([\d,]+) of ([\d,]+) changes by name(?:; elided ([\d,]+): (.*)\. All)?", text
    )
    if told is None:
        return
    shown, total, elided = (int((part or "0").replace(",", "")) for part in told.groups()[:3])
    assert shown + elided == total == len(plan.changes)
    by_kind = re.findall(r"([\d,]+) [a-z]", told[4] or "")
    assert sum(int(count.replace(",", "")) for count in by_kind) == elided


@given(any_plan)
@settings(max_examples=examples(40))
def test_any_plan_has_a_comment_with_its_exit_code(plan: Plan) -> None:
    text = render_markdown(plan)
    assert (f"stops with exit {int(plan.verdict.exit)}" in text) == plan.verdict.stops


def test_safe_changes_are_shortened_before_disruptive_ones() -> None:
    names = [f"topic-with-a-rather-long-name-to-fill-the-comment.{n}" for n in range(330)]
    quotas = (
        replace(quota_change(), address=f"quota/user=u{n}", because=f"reason {n}")
        for n in range(100)
    )
    text = render_markdown(make_plan(*quotas, *map(create_topic, names)), budget=30_000)
    assert "reason 99" in text
    assert "elided 330: 330 create topic" in text


def test_what_was_shortened_is_restored_where_the_room_suffices() -> None:
    """The creations alone are too many: the updates keep their details."""
    plan = make_plan(
        *(replace(update_topic(f"u{n}"), because=f"reason {n}") for n in range(50)),
        *(create_topic(f"c{n}" * 20) for n in range(3000)),
    )
    text = render_markdown(plan)
    assert "reason 49" in text
    assert "elided 3,000: 3,000 create topic" in text


def test_too_many_deletions_make_several_numbered_comments() -> None:
    plan = make_plan(*(delete_topic(f"orders.{n}") for n in range(2000)))
    comments = render_markdown_comments(plan, sealed=sealed(plan))
    assert len(comments) > 1
    for number, comment in enumerate(comments, start=1):
        assert comment.split("\n")[0].endswith(f" {number}/{len(comments)} -->")
        assert len(comment.encode()) <= GITHUB_BUDGET
        assert "Data loss (2,000)" in comment
    assert render_markdown(plan, sealed=sealed(plan)) == "\n".join(comments)


def test_the_marker_tells_the_target_and_the_plan() -> None:
    plan = twelve_changes()
    digest = sealed(plan).plan_digest.removeprefix("sha256:")
    first = render_markdown(plan).split("\n")[0]
    assert first == f"<!-- kgitops:payments:prod%2Deu:{digest[:12]} -->"


def test_the_next_command_binds_the_apply_to_what_was_reviewed() -> None:
    plan = twelve_changes()
    digest = sealed(plan).plan_digest
    assert f"`kgitops apply PLAN --expect-digest {digest}`" in render_markdown(plan)
    assert "kgitops apply" not in render_markdown(refused_plan())


def test_a_thousand_changes_fit_one_comment() -> None:
    assert len(render_markdown_comments(thousand_changes())) == 1


def test_nothing_is_folded_up_to_twenty_changes() -> None:
    few, many = (make_plan(*(create_topic(f"t{n}") for n in range(count))) for count in (20, 21))
    assert "<details>" not in render_markdown(few)
    assert "<details><summary>Create (21)</summary>" in render_markdown(many)


def test_one_line_says_what_an_approval_lets_kgitops_do() -> None:
    """Not where the plan stops, because nothing can be approved then."""
    line = "Approve to let `kgitops apply` send the 1 request of this plan and no others to"
    assert line in render_markdown(make_plan(create_topic("a")))
    assert "Approve to let" not in render_markdown(refused_plan())
    assert "Approve to let" not in render_markdown(make_plan())
