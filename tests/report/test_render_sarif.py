"""Code scanning: SARIF 2.1.0 with what GitHub requires, stable, ranked, on the very lines."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from other_processes import told_by_processes
from report.plans import (
    ALL_PLANS,
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
    no_changes,
    sealed,
    three_denials,
    twelve_changes,
    update_topic,
    violation,
)
from report.sarif_schema import LOG
from tiers import examples

from kgitops.model.source import Finding, Severity, Source
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, Plan, PlanTarget
from kgitops.report.ci import sarif as module
from kgitops.report.ci.junit import render_junit
from kgitops.report.ci.sarif import MOST_RESULTS, render_sarif


def run(plan: Plan) -> dict[str, Any]:
    """The run of a plan's log, which is valid."""
    log = json.loads(render_sarif(plan, sealed=sealed(plan)))
    LOG.validate(log)
    (only,) = log["runs"]
    return only  # type: ignore[no-any-return]


def told(plan: Plan) -> list[tuple[str, str, str]]:
    """Level, rule and place of each result."""
    return [(result["level"], result["ruleId"], _place(result)) for result in run(plan)["results"]]


def _place(result: dict[str, Any]) -> str:
    where = result["locations"][0]["physicalLocation"]
    region = where["region"]
    return f"{where['artifactLocation']['uri']}:{region['startLine']}:{region['startColumn']}"


def notes(plan: Plan) -> list[str]:
    """What stands beside the results."""
    return _notes(run(plan))


def _notes(run: dict[str, Any]) -> list[str]:
    found = run["invocations"][0]["toolExecutionNotifications"]
    return [note["message"]["text"] for note in found]


@pytest.mark.parametrize("name", ALL_PLANS)
def test_every_plan_is_a_valid_log(name: str) -> None:
    run(ALL_PLANS[name]())


@given(any_plan)
@settings(max_examples=examples(60))
def test_any_plan_is_a_valid_log_and_loses_nothing(plan: Plan) -> None:
    only = run(plan)
    rules = only["tool"]["driver"]["rules"]
    for result in only["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    prints = [
        result["partialFingerprints"]["primaryLocationLineHash"] for result in only["results"]
    ]
    assert len(set(prints)) == len(prints)
    rows = sum(result.outcome != "passed" for change in plan.changes for result in change.policies)
    risky = sum(risk.level != "safe" for change in plan.changes for risk in change.risks)
    others = (plan.findings, plan.warnings, plan.refusals, plan.access_losses, plan.drift)
    homeless = only["properties"]["resultsWithoutPlace"]
    assert len(only["results"]) + homeless == rows + risky + sum(map(len, others))
    assert len(only["invocations"][0]["toolExecutionNotifications"]) == homeless


def test_the_worst_comes_first_each_on_its_line() -> None:
    assert told(judged_plan()) == [
        ("error", "replication-factor-range", "topics/orders.v2.yaml:7:24"),
        ("warning", "KG101", "tombstones.yaml:12:3"),
        ("error", "retention-cap", "topics/orders.v2.yaml:9:24"),
        ("error", "retention-cap", "topics/safe.yaml:7:24"),
        ("warning", "labels", "topics/orders.v2.yaml:2:24"),
        ("note", "compression", "topics/safe.yaml:12:24"),
    ]


def test_what_has_no_place_gets_none_made_up() -> None:
    assert notes(judged_plan()) == [f"topic scratch: {CRASH}"]
    plan = twelve_changes()
    places = [place for *_, place in told(plan)]
    assert all(place.partition(":")[0].endswith(".yaml") for place in places)
    assert any("can no longer Read" in note for note in notes(plan))
    assert sum("changed outside of kgitops" in note for note in notes(plan)) == 1
    assert run(plan)["properties"]["resultsWithoutPlace"] == len(notes(plan)) == 4


def test_a_rule_tells_what_a_policy_is_for_and_what_to_do() -> None:
    rules = {rule["id"]: rule for rule in run(judged_plan())["tool"]["driver"]["rules"]}
    rule = rules["replication-factor-range"]
    assert rule["shortDescription"]["text"] == "A topic must survive the loss of one broker"
    assert rule["fullDescription"]["text"].endswith("Two copies do not.")
    assert "What to do: set replicationFactor to 3; see kgitops policy" in rule["help"]["text"]
    assert rule["defaultConfiguration"]["level"] == "error"
    assert rule["properties"]["tags"] == ["kafka", "policy", "policy-hard"]
    assert "security-severity" not in rule["properties"]
    levels = {id_: rule["defaultConfiguration"]["level"] for id_, rule in rules.items()}
    assert levels == {
        "KG101": "warning",
        "replication-factor-range": "error",
        "team-prefix": "error",
        "retention-cap": "error",
        "labels": "warning",
        "compression": "note",
    }


def test_lost_data_is_a_matter_of_security_that_fails_no_check() -> None:
    """GitHub fails a check from 7.0 on: a deletion that is meant must be able to pass."""
    (rule,) = run(make_plan(delete_topic("a")))["tool"]["driver"]["rules"]
    assert rule["properties"]["security-severity"] == "6.5"
    assert "security" in rule["properties"]["tags"]
    for risk in risks.all_risks():
        plan = make_plan(replace(create_topic("a"), risks=(risk,)))
        for each in run(plan)["tool"]["driver"]["rules"]:
            assert float(each["properties"].get("security-severity", "0")) < 7.0
            assert ("security-severity" in each["properties"]) == (
                "security" in each["properties"]["tags"]
            )


def test_a_waiver_is_a_suppression_with_its_reasons() -> None:
    waived = [result for result in run(judged_plan())["results"] if "suppressions" in result]
    (only,) = waived
    assert only["message"]["text"] == "topic audit: retention 90 d is above 7 d"
    assert only["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "waived until 2027-01-31, 71 days left, owner @data-platform, "
            "OPS-12: until the archive has moved",
        }
    ]


def _moved(plan: Plan, lines: int) -> Plan:
    def move(source: Source | None) -> Source | None:
        return source and replace(source, line=source.line + lines, column=source.column + 1)

    def moved(change: Change) -> Change:
        results = tuple(replace(each, source=move(each.source)) for each in change.policies)
        return replace(change, source=move(change.source), policies=results)

    return replace(
        plan,
        changes=tuple(map(moved, plan.changes)),
        warnings=tuple(replace(each, source=move(each.source)) for each in plan.warnings),
        findings=tuple(replace(each, source=move(each.source)) for each in plan.findings),
    )


@given(any_plan)
@settings(max_examples=examples(40))
def test_lines_inserted_above_leave_fingerprints_alone(plan: Plan) -> None:
    """Goal G18."""
    before, after = run(plan)["results"], run(_moved(plan, 100))["results"]
    key = "partialFingerprints"
    assert [result[key] for result in before] == [result[key] for result in after]
    assert not before or [_place(r) for r in before] != [_place(r) for r in after]


def test_another_object_policy_or_violation_has_another_fingerprint() -> None:
    def prints(*changes: Change) -> set[str]:
        results = run(make_plan(*changes, policies_loaded=POLICIES))["results"]
        return {result["partialFingerprints"]["primaryLocationLineHash"] for result in results}

    first = prints(denied(create_topic("a"), "team-prefix", "no team"))
    others = (
        denied(create_topic("b"), "team-prefix", "no team"),
        denied(create_topic("a"), "team-prefix", "no team at all"),
        denied(create_topic("a"), "retention-cap", "no team"),
        delete_topic("a"),
    )
    for other in others:
        assert first.isdisjoint(prints(other))
    assert len(prints(*others)) == 4


def test_the_same_finding_twice_in_a_file_is_two_results() -> None:
    twice = tuple(
        Finding(source=Source("a.yaml", line, 1), problem="the key is doubled", advice="drop one")
        for line in (3, 9)
    )
    results = run(make_plan(findings=twice))["results"]
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]
    assert [text.partition(":")[2] for text in prints] == ["1", "2"]
    assert len({text.partition(":")[0] for text in prints}) == 1


def test_targets_do_not_overwrite_each_other() -> None:
    def category(name: str) -> str:
        target = PlanTarget(name=name, backend="kafka", cluster_id="x")
        return run(replace(no_changes(), target=target))["automationDetails"]["id"]  # type: ignore[no-any-return]

    assert category("prod-eu") == "kgitops/prod-eu/"
    assert category("kafka://b1:9092/x") == "kgitops/kafka%3A%2F%2Fb1%3A9092%2Fx/"
    assert category("") == "kgitops/unnamed/"


@pytest.mark.parametrize(
    ("file", "uri", "base"),
    [
        ("topics/a.yaml", "topics/a.yaml", True),
        ("./topics/a b.yaml", "topics/a%20b.yaml", True),
        ("a:b/ü.yaml", "a%3Ab/%C3%BC.yaml", True),
        ("../x.yaml", "../x.yaml", True),
        ("/srv/x.yaml", "file:///srv/x.yaml", False),
        ("\udce9.yaml", "%3F.yaml", True),
    ],
)
def test_a_file_is_named_below_the_repositorys_root(file: str, uri: str, base: bool) -> None:
    plan = make_plan(replace(delete_topic("a"), source=Source(file, 3, 5)))
    # Unsealed: a file's name that is no text can't be part of a saved plan.
    log = json.loads(render_sarif(plan))
    LOG.validate(log)
    (result,) = log["runs"][0]["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": uri, **({"uriBaseId": "%SRCROOT%"} if base else {})}


def test_what_is_too_much_is_left_out_by_rank_and_counted() -> None:
    bad = (denied(create_topic(f"bad{n}"), "team-prefix", "no team") for n in range(30))
    soft = (denied(create_topic(f"soft{n}"), "retention-cap", "long") for n in range(MOST_RESULTS))
    plan = make_plan(*soft, *bad, *(delete_topic(f"d{n}") for n in range(40)))
    only = run(plan)
    assert len(only["results"]) == MOST_RESULTS
    assert [result["ruleId"] for result in only["results"][:70]] == ["team-prefix"] * 30 + [
        "KG101"
    ] * 40
    assert only["properties"]["resultsLeftOut"] == 70
    assert _notes(only) == [
        "70 results of 5,070 left out, those of the least risk; kgitops show --full has all"
    ]


def test_notifications_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NOTIFICATIONS", 3)
    reasons = tuple(Reason(exit=ExitCode.REFUSED, sentence=f"no {n}") for n in range(5))
    assert notes(make_plan(refusals=reasons)) == [
        "no 0",
        "no 1",
        "no 2",
        "and 2 more that have no place in a file",
    ]


def test_a_policy_named_like_a_risk_code_hides_none() -> None:
    policy = replace(POLICIES[0], name="KG101")
    change = delete_topic("a")
    row = replace(violation(change, POLICIES[0].name, "no"), policy="KG101")
    plan = make_plan(replace(change, policies=(row,)), policies_loaded=(policy,))
    assert [level for level, *_ in told(plan)] == ["error", "warning"]
    assert len(run(plan)["tool"]["driver"]["rules"]) == 2


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("see [here](https://evil.example)", r"topic a: see \[here\](https://evil.example)"),
        ("partitions [1, 2]", "topic a: partitions [1, 2]"),
        ("{0} of {1}", "topic a: {{0}} of {{1}}"),
        ("{}", "topic a: {}"),
        ("", "topic a: it gives no reason"),
        ("two\nlines", "topic a: two lines"),
    ],
)
def test_no_message_is_a_link_or_a_placeholder(message: str, shown: str) -> None:
    """SARIF 2.1.0, 3.11.5 and 3.11.6: readers make links of the one and fill in the other."""
    plan = make_plan(denied(create_topic("a"), "team-prefix", message), policies_loaded=POLICIES)
    assert run(plan)["results"][0]["message"]["text"] == shown


def sealed_logs() -> str:
    plans = (judged_plan(), three_denials(), twelve_changes())
    logs = [render_sarif(plan, sealed=sealed(plan)) for plan in plans]
    return "\n".join([*logs, render_junit(judged_plan()), render_junit(three_denials())])


def test_the_log_is_the_same_for_the_same_plan_in_every_process() -> None:
    """Also that of JUnit, so that the processes start once."""
    assert told_by_processes(sealed_logs) == {sealed_logs()}
    assert "planDigest" not in json.loads(render_sarif(no_changes()))["runs"][0]["properties"]


def test_a_warning_is_no_finding() -> None:
    warning = Finding(
        source=Source("a.yaml", 1, 1), problem="p", advice="a", severity=Severity.WARNING
    )
    assert told(make_plan(warnings=(warning,), findings=(replace(warning),))) == [
        ("error", "kgitops/finding", "a.yaml:1:1"),
        ("warning", "kgitops/warning", "a.yaml:1:1"),
    ]


def test_without_the_day_a_waiver_is_told_by_its_end() -> None:
    change = update_topic("a")
    waived = judged(change, violation(change, "retention-cap", "long", waiver=MIGRATION))
    log = render_sarif(make_plan(waived, policies_loaded=POLICIES))
    assert "waived until 2027-01-31, owner @data-platform" in log
