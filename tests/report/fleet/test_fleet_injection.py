"""Whatever clusters, projects and policies are called, a fleet's report shows it as text (G14)."""

import json
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from report.fleet.fleets import a_history, violations
from report.payloads import FAMILIES, MARK, SURROGATES
from report.safety import (
    assert_coloured,
    assert_comment,
    assert_harmless,
    assert_json,
    assert_page,
    html_shape,
    json_shape,
)

from kgitops.fleet.summary import History, RunSummary, UnitSummary
from kgitops.fleet.summary_json import read_run, run_to_text
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.report.fleet.fleet_html import render_fleet_html
from kgitops.report.fleet.fleet_json import render_fleet_json
from kgitops.report.fleet.fleet_markdown import render_fleet_markdown
from kgitops.report.fleet.fleet_text import render_fleet_text

HARMLESS = "harmless"


def poisoned_fleet(text: str) -> History:
    """``text`` wherever a fleet's summary has some."""
    return a_history(_run(text, 1), _run(text, 2))


def _run(text: str, night: int) -> RunSummary:
    finding = Finding(source=Source(text, 1, 1), problem=text, advice=text)
    counts = {text: 40}
    reasons = tuple(Reason(exit=code, sentence=text) for code in (ExitCode.REFUSED, ExitCode.ERROR))
    loud = UnitSummary(
        cluster=text,
        project=text,
        identity=text,
        captured_at=text,
        objects=counts,
        changes={text: 40, "Topic": 60},
        actions={text: 40, "delete": 60},
        risks=counts,
        levels={text: 40, "data-loss": 60},
        requests=counts,
        drift={text: 40 * night},
        kept=counts,
        violations=violations(
            {
                (text, level, outcome): 20
                for level in ("hard", "advisory", text)
                for outcome in ("denied", "waived", text)
            }
        ),
        lost=text,
        exit=ExitCode.DENIED,
        reasons=reasons,
        reason_count=2,
        findings=(finding,),
        finding_count=1,
        files=(text,),
    )
    failed = UnitSummary(
        cluster=f"{text}{night}", project=text, planned=False, reasons=reasons, reason_count=2
    )
    quiet = (UnitSummary(cluster=f"quiet-{n}", project=text) for n in range(12))
    return RunSummary(
        created=f"2026-11-0{night}T03:00:00Z",
        version=text,
        units=(loud, failed, *quiet),
        findings=(finding,),
        unplanned=(text,),
    )


RENDERERS: dict[str, tuple[Callable[[History], str], Callable[[str], None]]] = {
    "text": (render_fleet_text, assert_harmless),
    "text, full": (lambda history: render_fleet_text(history, full=True), assert_harmless),
    "text, coloured": (lambda history: render_fleet_text(history, colour=True), assert_coloured),
    "json": (render_fleet_json, assert_json),
    "markdown": (render_fleet_markdown, assert_comment),
    "html": (render_fleet_html, assert_page),
}


@cache
def _page_shape() -> object:
    return html_shape(render_fleet_html(poisoned_fleet(HARMLESS)))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", RENDERERS)
def test_a_payload_is_shown_as_text(name: str, payloads: Sequence[str]) -> None:
    render, check = RENDERERS[name]
    for payload in payloads:
        shown = render(poisoned_fleet(payload))
        check(shown)
        # Long ones are told without their middle, which may be where the mark is.
        assert MARK in shown or " characters)..." in shown
        if name == "html":
            assert html_shape(shown) == _page_shape(), repr(payload)


@pytest.mark.parametrize("name", RENDERERS)
def test_half_a_character_is_shown_as_an_escape(name: str) -> None:
    render, check = RENDERERS[name]
    for payload in SURROGATES:
        check(render(poisoned_fleet(payload)))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_file_keeps_a_payload_whole(payloads: Sequence[str]) -> None:
    for payload in payloads:
        run = poisoned_fleet(payload).latest
        assert read_run(run_to_text(run), "fleet.json") == run
        document = json.loads(render_fleet_json(poisoned_fleet(payload)))
        assert document["run"] == json.loads(run_to_text(run))


def test_no_key_of_the_json_is_anothers() -> None:
    """Counts are by keys that others chose; they stay where counts are."""
    shape = json_shape(render_fleet_json(poisoned_fleet(HARMLESS)))
    assert isinstance(shape, dict)
    assert HARMLESS not in shape
