"""Annotations as GitHub's runner reads them: what is said, where, how many, and nothing else."""

import re

import pytest
from hypothesis import given
from report.plans import (
    CRASH,
    POLICIES,
    any_plan,
    create_topic,
    delete_topic,
    denied,
    judged_plan,
    make_plan,
    no_changes,
    refused_plan,
    sealed,
)
from report.workflow_commands import Command, commands

from kgitops.model.errors import FindingsError, SafetyError
from kgitops.model.source import Finding, Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Plan
from kgitops.plan.document.risks import RiskLevel
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.report.ci.github import MOST_OF_A_LEVEL, render_github, render_github_refusal

LEVELS = ("error", "warning", "notice")


def test_a_refused_plan_is_annotated_at_its_lines_worst_first() -> None:
    plan = refused_plan()
    log = render_github(plan)
    found = commands(log)
    (finding,) = plan.findings
    assert found[0] == Command(
        "error",
        f"{finding.problem}; {finding.advice}",
        {
            "file": "topics/ledger.yaml",
            "line": "6",
            "endLine": "6",
            "col": "15",
            "title": "finding",
        },
    )
    sentences = [refusal.sentence for refusal in plan.refusals]
    assert [command.message for command in found[1:3]] == sentences
    assert [command.properties["title"] for command in found[1:3]] == ["kgitops exit 5"] * 2
    assert (found[3].name, found[3].properties["title"]) == ("warning", "KG101 topic-delete")
    assert "orders.v1" in found[3].message
    assert log.splitlines()[-1].startswith(
        "1 topic with 18,200,345 records is deleted: orders.v1. Plan: 1 to delete."
    )


def test_what_policies_say_is_annotated_the_worst_first() -> None:
    plan = judged_plan()
    found = commands(render_github(plan, sealed=sealed(plan)))
    assert [(command.name, command.properties["title"]) for command in found] == [
        ("error", "DENIED by replication-factor-range (hard)"),
        ("error", "DENIED by team-prefix (hard)"),
        ("error", "DENIED by retention-cap (soft)"),
        ("warning", "KG101 topic-delete"),
        ("warning", "WAIVED from retention-cap (soft)"),
        ("warning", "ADVISED by labels (advisory)"),
        ("notice", "NOTED by compression (info)"),
    ]
    place = {"file": "topics/orders.v2.yaml", "line": "7", "endLine": "7", "col": "24"}
    assert found[0].properties == {**place, "title": "DENIED by replication-factor-range (hard)"}
    assert found[0].message.startswith("topic orders.v2: replication factor 2 is below 3; what to")
    assert "file" not in found[1].properties
    assert found[1].message == f"topic scratch: {CRASH}"
    assert "until 2027-01-31, 71 days left, owner @data-platform, OPS-12" in found[4].message


def test_a_hard_denial_is_never_crowded_out() -> None:
    """By findings, refusals or denials that a waiver could lift."""
    orders = create_topic("z")
    plan = make_plan(
        *(denied(create_topic(f"t{n}"), "retention-cap", f"no {n}") for n in range(50)),
        denied(orders, "team-prefix", "no team"),
        policies_loaded=POLICIES,
        findings=tuple(
            Finding(source=Source("a.yaml", n, 1), problem=f"p{n}", advice="a")
            for n in range(1, 50)
        ),
        refusals=tuple(Reason(exit=ExitCode.REFUSED, sentence=f"no {n}") for n in range(50)),
    )
    found = commands(render_github(plan))
    assert len(found) == MOST_OF_A_LEVEL
    assert found[0].properties["title"] == "DENIED by team-prefix (hard)"
    assert found[-1].message.startswith("and 141 more errors")


def test_a_plan_without_changes_has_no_annotation_but_a_sentence() -> None:
    log = render_github(no_changes())
    assert commands(log) == []
    assert log.startswith("No changes.")


@pytest.mark.parametrize("count", [9, 10, 11, 500])
def test_what_github_would_drop_is_counted(count: int) -> None:
    plan = make_plan(
        *(delete_topic(f"t{n}") for n in range(count)),
        refusals=tuple(Reason(exit=ExitCode.REFUSED, sentence=f"no {n}") for n in range(count)),
    )
    found = commands(render_github(plan))
    for level in ("error", "warning"):
        alike = [command for command in found if command.name == level]
        assert len(alike) == min(count, MOST_OF_A_LEVEL)
        more = count - MOST_OF_A_LEVEL + 1
        if count > MOST_OF_A_LEVEL:
            assert alike[-1].message.startswith(f"and {more:,} more {level}s")
        else:
            assert "more" not in alike[-1].message


@given(any_plan)
def test_any_plan_keeps_to_the_limits_and_ends_with_a_sentence(plan: Plan) -> None:
    *lines, last = render_github(plan).split("\n")
    found = commands("\n".join(lines))
    assert len(found) == len(lines)
    assert [command.name for command in found] == sorted(
        (command.name for command in found), key=LEVELS.index
    )
    assert all(
        sum(command.name == level for command in found) <= MOST_OF_A_LEVEL for level in LEVELS
    )
    risky = sum(change.level is not RiskLevel.SAFE for change in plan.changes)
    told = sum(
        result.outcome is not Outcome.PASSED
        for change in plan.changes
        for result in change.policies
    )
    listed = (plan.findings, plan.refusals, plan.access_losses, plan.warnings, plan.drift)
    whole = sum(map(len, listed)) + risky + told
    more = [re.search(r"^and (\d+) more \w+, which GitHub", item.message) for item in found]
    assert sum(int(match[1]) if match else 1 for match in more) == whole
    assert commands(last) == []


def test_findings_are_annotated_in_the_order_of_their_places() -> None:
    found = [
        Finding(source=Source(file, line, 3), problem=f"{file}{line}", advice="mend it")
        for file, line in (("b", 1), ("a", 9), ("a", 2))
    ]
    nowhere = Finding(source=None, problem="nowhere", advice="mend it")
    told = commands(render_github_refusal(FindingsError([*found, nowhere])))
    assert [command.name for command in told] == ["error"] * 4
    assert [command.message.partition(";")[0] for command in told] == ["nowhere", "a2", "a9", "b1"]
    assert [command.properties.get("line") for command in told] == [None, "2", "9", "1"]


def test_a_refusal_is_annotated_with_its_exit_code() -> None:
    (told,) = commands(render_github_refusal(SafetyError("too many deletions; look at them")))
    assert told == Command("error", "too many deletions; look at them", {"title": "kgitops exit 5"})
