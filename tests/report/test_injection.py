"""Whatever a plan names, nothing that shows it is made to act, to hide or to lie (goal G14)."""

import json
import re
import unicodedata
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from report.payloads import MARK, PAYLOADS
from report.plans import binding, make_plan, sealed, twelve_changes

from kgitops.apply.events import ApplyStarted, Event, StepDone, StepFailed, Waiting, WaitReason
from kgitops.apply.result import ApplyResult, Failure
from kgitops.model.addresses import acl_address, quota_address, topic_address
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import ExitCode, Reason, decide
from kgitops.plan import risks
from kgitops.plan.plan import (
    AccessLoss,
    Action,
    Change,
    Desired,
    Drift,
    FieldChange,
    Kept,
    Kind,
    Plan,
    Target,
)
from kgitops.plan.plan_file import read_plan, to_text
from kgitops.plan.plan_json import plan_to_json
from kgitops.report.apply_view import event_to_json, render_event_text, render_summary
from kgitops.report.render_findings import findings_to_json, render_findings
from kgitops.report.render_json import render_json
from kgitops.report.render_markdown import GITHUB_BUDGET, render_markdown_comments
from kgitops.report.render_text import render_text

HARMLESS = "harmless"


def poisoned(text: str) -> Plan:
    """A plan that holds ``text`` wherever a plan holds text of others."""
    topic = twelve_changes().changes[0]
    field = FieldChange(
        path=f"configs.{text}",
        before=text,
        after=f"{text}.",
        risk=risks.CONFIG_CHANGE,
        note=text,
    )
    change = replace(
        topic,
        address=topic_address(text),
        because=text,
        source=Source(text, 1, 1),
        fields=(field, replace(field, after=None, note=f"{text} will apply ({text})")),
        impact={"partitions": 1, "active_groups": [text], text: text},
    )
    finding = Finding(source=Source(text, 1, 1), problem=text, advice=text)
    return make_plan(
        change,
        _created(topic, text),
        replace(topic, address=acl_address(binding(text, text)), kind=Kind.ACL),
        replace(topic, address=quota_address((("user", text),)), kind=Kind.QUOTA),
        replace(topic, address=text),
        *(replace(_created(topic, f"{text}{n}"), because=text) for n in range(30)),
        target=Target(name=text, backend=text, cluster_id=text),
        desired=Desired(project=text, identity=text, digest=text, git_sha=text, dirty=True),
        principal=text,
        drift=(
            Drift(address=topic_address(text), path=text, last_applied=text, found="", rule=text),
        ),
        kept=(Kept(address=text, rule=text),),
        access_losses=(AccessLoss(principal=text, operation=text, resource=text),),
        warnings=(replace(finding, severity=Severity.WARNING),),
        findings=(finding,),
        refusals=(Reason(exit=ExitCode.REFUSED, sentence=text),),
        allow_deletes={text: 1},
    )


def _created(change: Change, text: str) -> Change:
    return replace(
        change,
        address=topic_address(text),
        actions=(Action.CREATE,),
        risks=(risks.TOPIC_CREATE,),
        source=Source(text, 1, 1),
        before=None,
        after={"partitions": 1, "configs": {text: text}},
    )


def assert_harmless(text: str) -> None:
    """What a terminal or a build service would see."""
    for char in text:
        assert char == "\n" or unicodedata.category(char) not in (
            "Cc",
            "Cf",
            "Cs",
            "Co",
            "Zl",
            "Zp",
        )
    for line in text.split("\n"):
        assert not line.lstrip().startswith("::")
        assert not re.search(r"##(\[|vso\[|teamcity\[)", line, re.IGNORECASE)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_text_shows_a_payload_as_text(payload: str) -> None:
    for full in (False, True):
        text = render_text(poisoned(payload), full=full, saved_as=payload)
        assert_harmless(text)
        assert MARK in text
        if full:
            # A payload adds no line: each change, reason and row keeps its own.
            harmless = render_text(poisoned(HARMLESS), full=True, saved_as=HARMLESS)
            assert text.count("\n") == harmless.count("\n")


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_colours_are_the_only_escapes_and_ascii_is_ascii(payload: str) -> None:
    coloured = render_text(poisoned(payload), colour=True)
    assert_harmless(re.sub(r"\x1b\[[0-9;]*m", "", coloured))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_text(poisoned(payload))
    assert render_text(poisoned(payload), ascii=True).isascii()


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_markdown_shows_a_payload_in_code_only(payload: str) -> None:
    """Inside code there are no links, mentions, references, images or HTML."""
    for comment in render_markdown_comments(poisoned(payload), sealed=sealed(poisoned(payload))):
        assert_harmless(comment)
        assert len(comment.encode()) <= GITHUB_BUDGET
        tokens = MarkdownIt("commonmark", {"html": True}).parse(comment)
        flat = [inner for token in tokens for inner in (token, *(token.children or ()))]
        assert {token.type for token in flat} <= {
            "html_block",
            "heading_open",
            "heading_close",
            "paragraph_open",
            "paragraph_close",
            "inline",
            "text",
            "code_inline",
            "fence",
            "strong_open",
            "strong_close",
            "softbreak",
        }
        for token in flat:
            if token.type == "text":
                assert MARK not in token.content
            if token.type == "html_block":
                assert re.fullmatch(
                    r"<!-- kgitops:[A-Za-z0-9._%:]+( \d+/\d+)? -->\s*"
                    r"|<details><summary>[A-Za-z ]+ \([\d,]+\)</summary>\s*"
                    r"|</details>\s*",
                    token.content,
                )
        assert comment.count("<details>\n") == 0


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_json_escapes_a_payload_and_keeps_it_whole(payload: str) -> None:
    plan = poisoned(payload)
    text = to_text(sealed(plan))
    assert text.isascii()
    assert_harmless(text)
    assert read_plan(text, "plan.json").plan == plan
    document = json.loads(render_json(plan))
    document.pop("plan_digest")
    assert document == plan_to_json(plan)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_findings_and_an_apply_show_a_payload_as_text(payload: str) -> None:
    finding = Finding(source=Source(payload, 1, 1), problem=payload, advice=payload)
    listed = render_findings([finding])
    assert_harmless(listed)
    assert listed.count("\n") == 2
    assert findings_to_json([finding])[0]["problem"] == payload
    step = {"step": payload, "address": payload, "api": payload}
    events: list[Event] = [
        ApplyStarted(run_id=payload, project=payload, planned=1),
        StepDone(**step),
        StepFailed(**step, sentence=payload),
        Waiting(reason=WaitReason.LOCK, sentence=payload, steps=(payload,)),
    ]
    for event in events:
        line = render_event_text(event)
        assert "\n" not in line
        assert_harmless(line)
        assert payload in event_to_json(event).values() or MARK in str(event_to_json(event))
    reason = Reason(exit=ExitCode.PARTIAL, sentence=payload)
    result = ApplyResult(
        run_id=payload,
        failed=(Failure(step=payload, address=payload, sentence="no"),),
        not_attempted=(payload,),
        verdict=decide([reason], changes=False),
    )
    assert_harmless(render_summary(result))
