"""An apply as it is told: every event has its line and its object, and the sums add up."""

import json
import re
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgitops.apply.events import (
    ApplyFinished,
    ApplyStarted,
    Event,
    Noted,
    RegistryUpgraded,
    StepDone,
    StepFailed,
    StepStarted,
    Waiting,
    WaitReason,
)
from kgitops.apply.result import ApplyResult, StepFailure
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide
from kgitops.report.json.plans import event_to_json
from kgitops.report.text.apply import render_event_text, render_summary
from kgitops.report.text.listings import render_findings

STEP = {"step": "topic/orders#1", "address": "topic/orders", "api": "CreateTopic"}
PARTIAL = decide([Reason(exit=ExitCode.PARTIAL, sentence="1 of 3 steps are done")], changes=False)
EVENTS: dict[str, tuple[Event, str]] = {
    "apply_started": (
        ApplyStarted(run_id="r", project="p", planned=3, earlier=1, resumed=True),
        "Going on with 3 steps, 1 done before (run r)",
    ),
    "step_started": (StepStarted(**STEP), "topic orders: CreateTopic ..."),
    "step_done": (StepDone(**STEP), "topic orders: CreateTopic done"),
    "step_failed": (
        StepFailed(**STEP, sentence="no broker"),
        "topic orders: CreateTopic failed: no broker",
    ),
    "waiting": (
        Waiting(reason=WaitReason.VISIBLE, sentence="waiting for 2 ACLs", steps=("a", "b")),
        "waiting for 2 ACLs",
    ),
    "note": (
        Noted(step="r2", address="broker/1", sentence="it stays so"),
        "broker 1: it stays so",
    ),
    "registry_upgraded": (
        RegistryUpgraded(before=1, after=2, sentence="older versions refuse it"),
        "older versions refuse it",
    ),
    "apply_finished": (
        ApplyFinished(run_id="r", done=1, failed=1, not_attempted=1, verdict=PARTIAL),
        "Not complete: 1 done, 1 failed, 1 not attempted; 3 planned",
    ),
}


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_has_a_line_and_a_json_object(kind: str) -> None:
    event, line = EVENTS[kind]
    assert render_event_text(event) == line
    document = json.loads(json.dumps(event_to_json(event)))
    assert document.pop("type") == kind
    fields = set(type(event).__slots__)
    assert set(document) == fields


def test_every_kind_of_event_is_covered() -> None:
    assert {type(event) for event, _ in EVENTS.values()} == set(get_args(Event))


def test_the_summary_of_a_success() -> None:
    result = ApplyResult(run_id="r", done=("a", "b"), verdict=Verdict(exit=ExitCode.SUCCESS))
    assert render_summary(result) == ("\nApplied: 2 done. Run r.\n")


def test_the_summary_of_a_partial_apply_lists_what_failed_and_what_was_not_attempted() -> None:
    result = ApplyResult(
        run_id="r",
        done=("a",),
        failed=(StepFailure(step="b", address="topic/b", sentence="POLICY_VIOLATION (44): no"),),
        not_attempted=("c",),
        earlier=("a",),
        verdict=PARTIAL,
    )
    text = render_summary(result)
    assert "FAILED (1)\n  ! topic b: POLICY_VIOLATION (44): no\n" in text
    assert "NOT ATTEMPTED (1)\n  c\n" in text
    assert "! exit 6: 1 of 3 steps are done" in text
    assert "Not complete: 1 done, 1 failed, 1 not attempted; 3 planned, 1 of them" in text
    assert "(exit 6)" in text


@example(0, 0, 20)
@example(0, 0, 21)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_done_failed_and_not_attempted_are_what_was_planned(d: int, f: int, n: int) -> None:
    result = ApplyResult(
        run_id="r",
        done=tuple(f"d{i}" for i in range(d)),
        failed=tuple(
            StepFailure(step=f"f{i}", address=f"topic/f{i}", sentence="x") for i in range(f)
        ),
        not_attempted=tuple(f"n{i}" for i in range(n)),
        verdict=PARTIAL if f or n else Verdict(exit=ExitCode.SUCCESS),
    )
    text = render_summary(result)
    told = re.search(
        r"^(?:Applied|Not complete): (?:(\d+) done)?(?:, )?(?:(\d+) failed)?(?:, )?"
        r"(?:(\d+) not attempted)?(?:; (\d+) planned)?(?: \(exit 6\))?\. Run r\.$",
        text,
        re.MULTILINE,
    )
    assert told is not None
    planned = d + f + n if f or n else 0
    assert [int(count or 0) for count in told.groups()] == [d, f, n, planned]
    assert text.count("\n  ! topic f") == f
    listed = sum(f"\n  n{i}\n" in text for i in range(n))
    more = re.findall(r"^  and (\d+) more$", text, re.MULTILINE)
    assert more == ([str(n - 20)] if n > 20 else [])
    assert listed == min(n, 20)


def test_findings_are_sorted_by_place_and_counted() -> None:
    found = [
        Finding(source=Source("b.yaml", 1, 1), problem="second", advice="fix it"),
        Finding(
            source=Source("a.yaml", 9, 2),
            problem="first",
            advice="fix it",
            severity=Severity.WARNING,
        ),
    ]
    assert render_findings(found) == (
        "a.yaml:9:2: warning: first; fix it\nb.yaml:1:1: second; fix it\n2 findings.\n"
    )
