"""Whatever a plan names, nothing that shows it is made to act, to hide or to lie (goal G14)."""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from xml.parsers.expat import ExpatError

import pytest
from msgspec import Struct
from report.payloads import FAMILIES, MARK, PAYLOADS, SURROGATES, assert_of_each, some
from report.plans import sealed
from report.poison import (
    poisoned,
    poisoned_clusters,
    poisoned_events,
    poisoned_findings,
    poisoned_policies,
    poisoned_result,
    poisoned_tests,
)
from report.safety import (
    assert_coloured,
    assert_comment,
    assert_harmless,
    assert_json,
    assert_junit,
    assert_mermaid,
    assert_page,
    assert_sarif,
    assert_svg,
    assert_visible,
    github_shape,
    html_shape,
    line_shape,
    sarif_shape,
    xml_shape,
)
from report.workflow_commands import commands

from kgitops.cli.running.errors import refuse
from kgitops.model.errors import FindingsError, SafetyError
from kgitops.model.json.layout import json_line
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.file import read_sealed_plan, to_text
from kgitops.report.ci.github import render_github, render_github_refusal
from kgitops.report.ci.junit import render_junit, render_policy_tests_junit
from kgitops.report.ci.sarif import render_sarif
from kgitops.report.html.render import render_html
from kgitops.report.json.plans import event_to_json, render_json
from kgitops.report.json.policies import policies_to_json, policy_tests_to_json, policy_to_json
from kgitops.report.markdown.plan import GITHUB_BUDGET, render_markdown_comments
from kgitops.report.text.apply import render_event_text, render_summary
from kgitops.report.text.drift import render_drift
from kgitops.report.text.listings import render_findings
from kgitops.report.text.plan import render_text
from kgitops.report.text.policies import render_policies, render_policy
from kgitops.report.text.policy_tests import render_policy_tests
from kgitops.report.virtual_clusters.graph import graph_of_clusters, graph_of_plan
from kgitops.report.virtual_clusters.mermaid import render_mermaid
from kgitops.report.virtual_clusters.svg import render_svg
from kgitops.workflow.policy_tests.offered import OfferedTest

HARMLESS = "harmless"
_MANY = 24


class Renderer(Struct, frozen=True, kw_only=True):
    """Shows a text in all places that ``poison`` knows; ``check`` reads what it made.

    ``shape`` is what no payload may change, where that is the same for every text: lines,
    elements, keys. ``digests`` tells that it needs a digest, which no lone surrogate has.
    """

    show: Callable[[str], str]
    check: Callable[[str], None]
    shape: Callable[[str], object] | None = None
    digests: bool = False


def _mermaid(text: str) -> str:
    return render_mermaid(graph_of_clusters(poisoned_clusters(text)))


def _svg(text: str) -> str:
    return render_svg(graph_of_clusters(poisoned_clusters(text)))


def _plan_svg(text: str) -> str:
    graph = graph_of_plan(poisoned(text))
    assert graph
    return render_svg(graph)


def _events(text: str) -> str:
    return "\n".join(map(render_event_text, poisoned_events(text)))


def _event_json(text: str) -> str:
    return "\n".join(json_line(event_to_json(event)) for event in poisoned_events(text))


def _check_lines(text: str) -> None:
    for line in text.split("\n"):
        assert_json(line)


def _github(text: str) -> str:
    return render_github(poisoned(text), sealed=None)


def _explained(text: str) -> str:
    test = OfferedTest((text,), denied=False)
    return "\n".join(render_policy(item, test, colour=True) for item in poisoned_policies(text))


def _refusals(text: str) -> str:
    errors = (FindingsError(poisoned_findings(text)), SafetyError(text))
    return "\n".join(map(render_github_refusal, errors))


def _check_annotations(text: str) -> None:
    """Commands and one last line, whose values the runner shows as they are."""
    found = commands(text)
    assert {command.name for command in found} <= {"error", "warning", "notice"}
    for command in found:
        assert set(command.properties) <= {"file", "line", "endLine", "col", "title"}
        for value in (command.message, *command.properties.values()):
            assert_visible(value)
            assert "\n" not in value
    for line in text.split("\n"):
        if not line.startswith(("::error ", "::warning ", "::notice ")):
            assert_harmless(line)


def _comments(text: str) -> str:
    plan = poisoned(text, many=_MANY)
    comments = render_markdown_comments(plan, sealed=sealed(plan))
    assert all(len(comment.encode()) <= GITHUB_BUDGET for comment in comments)
    return "\n".join(comments)


RENDERERS = {
    "text": Renderer(
        show=lambda text: render_text(poisoned(text, many=_MANY), saved_as=text),
        check=assert_harmless,
    ),
    "text, full": Renderer(
        show=lambda text: render_text(poisoned(text), full=True, saved_as=text),
        check=assert_harmless,
        shape=line_shape,
    ),
    "text, coloured": Renderer(
        show=lambda text: render_text(poisoned(text), colour=True), check=assert_coloured
    ),
    "text, ascii": Renderer(
        show=lambda text: render_text(poisoned(text), full=True, ascii=True),
        check=assert_harmless,
        shape=line_shape,
    ),
    "json": Renderer(
        show=lambda text: to_text(sealed(poisoned(text))), check=assert_json, digests=True
    ),
    "json, unsealed": Renderer(
        show=lambda text: render_json(poisoned(text)), check=assert_json, digests=True
    ),
    "markdown": Renderer(show=_comments, check=assert_comment, digests=True),
    "html": Renderer(
        show=lambda text: render_html(poisoned(text)),
        check=assert_page,
        shape=html_shape,
        digests=True,
    ),
    "graph, mermaid": Renderer(show=_mermaid, check=assert_mermaid, shape=line_shape),
    "graph, svg": Renderer(show=_svg, check=assert_svg, shape=xml_shape),
    "graph of a plan": Renderer(show=_plan_svg, check=assert_svg, shape=xml_shape),
    "sarif": Renderer(
        show=lambda text: render_sarif(poisoned(text)), check=assert_sarif, shape=sarif_shape
    ),
    "junit": Renderer(
        show=lambda text: render_junit(poisoned(text)), check=assert_junit, shape=xml_shape
    ),
    "github": Renderer(show=_github, check=_check_annotations, shape=github_shape),
    "github, refused": Renderer(show=_refusals, check=_check_annotations, shape=github_shape),
    "drift": Renderer(
        show=lambda text: render_drift(sealed(poisoned(text)), full=True),
        check=assert_harmless,
        shape=line_shape,
        digests=True,
    ),
    "drift, coloured": Renderer(
        show=lambda text: render_drift(sealed(poisoned(text)), colour=True),
        check=assert_coloured,
        digests=True,
    ),
    "findings": Renderer(
        show=lambda text: render_findings(poisoned_findings(text)),
        check=assert_harmless,
        shape=line_shape,
    ),
    "apply": Renderer(show=_events, check=assert_harmless, shape=line_shape),
    "apply, json": Renderer(show=_event_json, check=_check_lines, shape=line_shape),
    "apply, summary": Renderer(
        show=lambda text: render_summary(poisoned_result(text)),
        check=assert_harmless,
        shape=line_shape,
    ),
    "policy list": Renderer(
        show=lambda text: render_policies(poisoned_policies(text), colour=True),
        check=assert_coloured,
        shape=line_shape,
    ),
    "policy list, json": Renderer(
        show=lambda text: policies_to_json(poisoned_policies(text)), check=assert_json
    ),
    "policy explain": Renderer(show=_explained, check=assert_coloured),
    "policy explain, json": Renderer(
        show=lambda text: policy_to_json(poisoned_policies(text)[0]), check=assert_json
    ),
    "policy test": Renderer(
        show=lambda text: render_policy_tests(poisoned_tests(text), colour=True),
        check=assert_coloured,
        shape=line_shape,
    ),
    "policy test, json": Renderer(
        show=lambda text: policy_tests_to_json(poisoned_tests(text)), check=assert_json
    ),
    "policy test, junit": Renderer(
        show=lambda text: render_policy_tests_junit(poisoned_tests(text)),
        check=assert_junit,
        shape=xml_shape,
    ),
}


@cache
def _expected(name: str) -> object:
    renderer = RENDERERS[name]
    assert renderer.shape
    return renderer.shape(renderer.show(HARMLESS))


def _show(name: str, payload: str) -> None:
    renderer = RENDERERS[name]
    shown = renderer.show(payload)
    renderer.check(shown)
    # Long ones are told without their middle, which may be where the mark is.
    assert MARK in shown or re.search(r" characters(?:\)|#41;)\.\.\.", shown)
    if renderer.shape:
        assert renderer.shape(shown) == _expected(name), repr(payload)


def _show_families(name: str) -> None:
    for family in FAMILIES:
        for payload in some(family, name):
            _show(name, payload)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", RENDERERS)
def test_a_payload_is_shown_as_text(name: str, payloads: Sequence[str]) -> None:
    for payload in payloads:
        _show(name, payload)


@pytest.mark.parametrize(
    ("name", "escaping"),
    [
        ("text", "kgitops.report.content.safe_text.terminal_text"),
        ("markdown", "kgitops.report.markdown.plan.code_span"),
        ("html", "kgitops.report.html.render.terminal_text"),
        ("graph, mermaid", "kgitops.report.virtual_clusters.mermaid._label"),
        ("graph, svg", "kgitops.report.content.svg.terminal_text"),
        ("graph, svg", "kgitops.report.content.svg.escape"),
        ("sarif", "kgitops.report.ci.sarif_rules.terminal_text"),
        ("junit", "kgitops.report.ci.junit.terminal_text"),
        ("github", "kgitops.report.ci.github.terminal_text"),
        ("findings", "kgitops.report.content.safe_text.terminal_text"),
    ],
)
def test_two_of_each_family_are_enough_to_see_that_nothing_is_escaped(
    name: str, escaping: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(escaping, lambda text, *_, **__: text)
    with pytest.raises((AssertionError, ValueError, SyntaxError, ExpatError)):
        _show_families(name)


@pytest.mark.parametrize(
    "name", [name for name, renderer in RENDERERS.items() if not renderer.digests]
)
def test_half_a_character_is_shown_as_an_escape(name: str) -> None:
    for payload in SURROGATES:
        _show(name, payload)


def test_there_are_enough_of_them() -> None:
    assert len(PAYLOADS) >= 500
    assert all(MARK in payload for payload in PAYLOADS)


def test_all_that_fail_are_told_at_once() -> None:
    def check(payload: str) -> None:
        assert "<b>" not in payload, "bold"

    bold = [payload for payload in FAMILIES["html"] if "<b>" in payload]
    with pytest.raises(AssertionError, match=rf"^{len(bold)} of \d+ payloads of html:\n") as error:
        assert_of_each("html", check)
    assert str(error.value).count("AssertionError: bold") == len(bold)


@pytest.mark.parametrize("family", FAMILIES)
def test_colour_and_ascii_change_nothing_else(payloads: Sequence[str]) -> None:
    for payload in payloads:
        plan = poisoned(payload)
        assert render_text(plan, ascii=True).isascii()
        if payload.isprintable():
            coloured = render_text(plan, colour=True)
            assert coloured.count("\n") == render_text(plan).count("\n")


@pytest.mark.parametrize("family", FAMILIES)
def test_json_keeps_a_payload_whole(payloads: Sequence[str]) -> None:
    for payload in payloads:
        plan = poisoned(payload)
        assert read_sealed_plan(to_text(sealed(plan)), "plan.json").plan == plan
        document = json.loads(render_json(plan))
        document.pop("plan_digest")
        assert document == plan_to_json(plan)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_refusal_is_safe_on_both_streams(
    payloads: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no plan: sentences for a person, the verdict as a line of JSON."""
    for payload in payloads:
        for error in (FindingsError(poisoned_findings(payload)), SafetyError(payload)):
            refuse(error, as_json=True)
            said = capsys.readouterr()
            assert_harmless(said.err)
            assert_json(said.out.removesuffix("\n"))
            reasons = json.loads(said.out)["verdict"]["reasons"]
            assert payload in reasons[-1]["sentence"]
