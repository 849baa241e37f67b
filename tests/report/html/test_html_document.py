"""What the file says, and that it is closed in itself."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from report.html.document import Document
from report.html.large import large_plan
from report.payloads import MARK, PAYLOADS
from report.plans import (
    ALL_PLANS,
    any_plan,
    delete_topic,
    make_plan,
    many_denials,
    one_change,
    sealed,
    shrink_topic,
)
from report.poison import poisoned
from report.safety import assert_harmless
from tiers import examples

from kgitops.model.resources.addresses import object_name
from kgitops.plan.document.documents import summary
from kgitops.plan.document.plan import Plan
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.report.content.safe_text import terminal_text
from kgitops.report.content.sections import sections
from kgitops.report.content.statements import (
    drift_sentence,
    loss_sentence,
    reason_lines,
    reasons_besides_denials,
    summary_sentence,
    verdict_sentence,
)
from kgitops.report.html.render import render_html

# What an element may bear; nothing that acts (on…, style, src, href to elsewhere) is among them.
_ATTRIBUTES = re.compile(
    r"class|id|lang|charset|content|http-equiv|name|hidden|open|tabindex|role|href|for|type|value"
    r"|placeholder|autocomplete|spellcheck|scope|aria-[a-z]+|data-[a-z]+|focusable"
    r"|width|height|viewbox|x|y|x1|y1|rx|cx|cy|r|d|patternunits|stroke-width"
)


@pytest.fixture(scope="module")
def large() -> Plan:
    return large_plan()


@pytest.fixture(scope="module")
def large_page(large: Plan) -> str:
    return render_html(large, sealed=sealed(large))


@pytest.fixture(scope="module")
def large_document(large: Plan) -> Document:
    return Document(render_html(large))


@pytest.mark.parametrize("name", ALL_PLANS)
def test_the_same_sentences_and_rows_as_everywhere(name: str) -> None:
    """Every change has one row, in the section where the text has it, and no other words."""
    plan = ALL_PLANS[name]()
    document = Document(render_html(plan, sealed=sealed(plan)))
    assert not document.open_tags
    sentences = [
        summary_sentence(plan),
        verdict_sentence(plan) or "",
        *reason_lines(reasons_besides_denials(plan)),
        *map(loss_sentence, plan.access_losses),
        *(" ".join(drift_sentence(drift, full=True).split()) for drift in plan.drift),
    ]
    for sentence in sentences:
        assert terminal_text(sentence) in document.text
    assert len(document.of_class("change")) == len(plan.changes)
    for section in sections(plan):
        assert f"{section.title} {len(section.changes):,}" in document.text
    for change in plan.changes:
        assert str(object_name(change.address)) in document.text
    assert {row["id"] for row in document.of_class("change")} == {
        f"c{number}" for number, _ in enumerate(plan.changes, start=1)
    }


def test_what_can_be_filtered_adds_up_to_the_summary_of_the_json(
    large: Plan, large_document: Document
) -> None:
    rows = large_document.of_class("change")
    counts = summary(large)
    for action in ("create", "update", "delete", "adopt", "forget"):
        found = sum(action in row["data-action"].split(",") for row in rows)
        assert found == counts[action]
    denied = [row for row in rows if "denied" in row["data-policy"].split(",")]
    assert len(denied) == counts["denied"] > 0
    plain = [row for row in rows if "passed" in row["data-policy"].split(",")]
    assert len(plain) == sum(
        all(result.outcome is Outcome.PASSED for result in change.policies)
        for change in large.changes
    )
    chips = {
        (attributes["name"], attributes["value"])
        for tag, attributes in large_document.elements
        if tag == "input" and attributes["type"] == "checkbox"
    }
    for facet in ("action", "kind", "level", "policy"):
        values = {value for row in rows for value in row[f"data-{facet}"].split(",")}
        assert {value for name, value in chips if name == facet} == values


def test_a_thousand_changes_take_less_than_two_megabytes_and_nothing_is_left_out(
    large: Plan, large_page: str
) -> None:
    assert len(large_page.encode()) < 2_000_000
    assert "are shown here without" not in large_page
    assert {planned.id for planned in large.requests} <= _in_bold(large_page)


def test_a_very_large_plan_is_brief_only_about_what_can_do_no_harm() -> None:
    plan = large_plan(2_050)
    page = render_html(plan)
    assert len(Document(page).of_class("change")) == len(plan.changes)
    note = re.search(r"([\d,]+) changes without risk or violation are shown here without", page)
    assert note
    brief = int(note[1].replace(",", ""))
    assert 0 < brief < len(plan.changes)
    risky = [change for change in plan.changes if str(change.level) != "safe" or change.denied]
    assert {planned.id for change in risky for planned in change.requests} <= _in_bold(page)


def _in_bold(page: str) -> set[str]:
    return set(re.findall("<b>([^<]*)</b>", page))


def test_a_long_list_folds_and_says_how_many_it_leaves_out() -> None:
    for count, linked, left in ((300, 300, None), (1_200, 1_000, "and 200 more")):
        plan = many_denials(count, others=30)
        document = Document(render_html(plan))
        denied = {f"#{row['id']}" for row in document.of_class("change") if _is_denied(row)}
        links = [attributes["href"] for tag, attributes in document.elements if tag == "a"]
        assert sum(link in denied for link in links) == linked
        assert (left in document.text) if left else ("and 200 more" not in document.text)


def _is_denied(row: dict[str, str]) -> bool:
    return "denied" in row["data-policy"].split(",")


def test_what_is_denied_stands_open_before_what_is_lost(large_document: Document) -> None:
    rows = large_document.of_class("change")
    opened = [row for row in rows if "open" in row]
    assert len(opened) == 12
    assert sum("denied" in row["data-policy"] for row in opened) == 11
    assert "data-loss" in {row["data-level"] for row in opened}


def test_the_same_plan_gives_the_same_bytes(large: Plan, large_page: str) -> None:
    assert render_html(large, sealed=sealed(large)) == large_page
    again = large_plan()
    assert render_html(again, sealed=sealed(again)) == large_page


def test_only_its_own_style_and_script_may_run() -> None:
    page = render_html(one_change())
    document = Document(page)
    (policy,) = (
        attributes["content"]
        for _, attributes in document.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    for tag, attributes in document.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {"src", "style", "srcset", "action"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")


@pytest.mark.parametrize("payload", PAYLOADS[::30], ids=range(len(PAYLOADS[::30])))
def test_a_payload_stands_there_as_text_and_brings_nothing_that_acts(payload: str) -> None:
    """Goal G14, for the file alone; ``test_injection`` tries them all, ``test_html_page`` runs."""
    page = render_html(poisoned(payload), sealed=sealed(poisoned(payload)))
    document = Document(page)
    assert not document.open_tags
    assert_harmless(page)
    assert MARK in document.text
    for tag, attributes in document.elements:
        for name in attributes:
            assert _ATTRIBUTES.fullmatch(name), f"{tag} {name}"


@settings(max_examples=examples(60))
@given(plan=any_plan)
def test_any_plan_is_rendered_whole(plan: Plan) -> None:
    page = render_html(plan)
    document = Document(page)
    assert not document.open_tags
    assert len(document.of_class("change")) == len(plan.changes)
    assert terminal_text(" ".join(summary_sentence(plan).split())) in document.text


def test_a_value_without_end_is_shortened_and_a_long_name_is_not() -> None:
    name = "n" * 249
    change = delete_topic(name)
    document = Document(render_html(make_plan(change)))
    assert f"topic {name}" in document.text
    long = shrink_topic("payments")
    field = replace(long.fields[0], before="x" * 1_000_000)
    page = render_html(make_plan(replace(long, fields=(field,))))
    assert "1000000 characters" in page
    assert len(page) < 100_000
