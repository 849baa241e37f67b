"""Test reporters: a suite a policy, a case an object, and no case for what is no news."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from junitparser import JUnitXml
from msgspec.structs import replace
from report.junit_shape import read
from report.plans import (
    ALL_PLANS,
    POLICIES,
    any_plan,
    create_topic,
    judged,
    judged_plan,
    make_plan,
    many_denials,
    no_changes,
    refused_plan,
    sealed,
    three_denials,
    twelve_changes,
    violation,
)
from tiers import examples

from kgitops.plan.document.plan import Plan
from kgitops.report.ci.junit import render_junit
from kgitops.report.content.policy_rows import PolicyStatus, status_totals


def root_of(plan: Plan) -> ElementTree.Element:
    return read(render_junit(plan, sealed=sealed(plan)))


def case(root: ElementTree.Element, suite: str, name: str) -> ElementTree.Element:
    (found,) = root.findall(f"testsuite[@name='{suite}']/testcase[@name='{name}']")
    return found


@pytest.mark.parametrize("name", ALL_PLANS)
def test_every_plan_is_read_by_both(name: str) -> None:
    plan = ALL_PLANS[name]()
    root = root_of(plan)
    assert [suite.attrib["name"] for suite in root] == [
        "kgitops",
        *(policy.name for policy in plan.policies_loaded),
    ]
    parsed = JUnitXml.fromstring(render_junit(plan))
    assert parsed.tests == int(root.attrib["tests"])
    assert sum(len(suite) for suite in parsed) == parsed.tests


@given(any_plan)
@settings(max_examples=examples(60))
def test_any_plan_fails_as_often_as_it_has_objects_denied_findings_and_refusals(plan: Plan) -> None:
    root = read(render_junit(plan))
    objects = {
        (result.policy, change.address)
        for change in plan.changes
        for result in change.policies
        if result.stops
    }
    stops = len(objects) + len(plan.findings) + len(plan.refusals)
    assert int(root.attrib["failures"]) == stops
    assert (stops > 0) == plan.verdict.stops


def test_a_denied_object_fails_by_its_level() -> None:
    root = root_of(judged_plan())
    (failure,) = case(root, "replication-factor-range", "topic/orders.v2")
    assert failure.attrib == {"message": "replication factor 2 is below 3", "type": "hard"}
    assert failure.text == (
        "denied (hard): topics/orders.v2.yaml:7:24: replication factor 2 is below 3; what to do: "
        "set replicationFactor to 3; see kgitops policy explain replication-factor-range"
    )
    (soft,) = case(root, "retention-cap", "topic/orders.v2")
    assert soft.attrib["type"] == "soft"


def test_what_is_waived_or_only_advice_is_skipped_and_says_why() -> None:
    root = root_of(judged_plan())
    said = {
        ("retention-cap", "topic/audit"): "waived until 2027-01-31, 71 days left, owner @data",
        ("labels", "topic/orders.v2"): "advised (advisory): topics/orders.v2.yaml:2:24: no team is",
        ("compression", "topic/audit"): "noted (info): topics/safe.yaml:12:24: it gives no reason",
    }
    for (suite, name), words in said.items():
        (skipped,) = case(root, suite, name)
        assert skipped.tag == "skipped"
        assert words in skipped.attrib["message"]
    assert root.attrib["failures"] == "3"


def test_what_passed_is_one_case() -> None:
    root = root_of(many_denials(2000))
    assert len(root.findall("testsuite/testcase")) == 1 + 2000 + 2000 + len(POLICIES)
    others = case(root, "replication-factor-range", "other changes")
    assert others.findtext("system-out") == "4,000 changes accepted"
    assert [len(suite) for suite in root] == [1, 2001, 1, 1, 2001, 1]


def test_a_policy_without_anything_to_judge_is_skipped() -> None:
    root = root_of(replace(no_changes(), policies_loaded=POLICIES))
    for policy in POLICIES:
        (skipped, out) = case(root, policy.name, "other changes")
        assert skipped.attrib["message"] == "it applies to no change"
        assert out.text == "0 changes accepted"


def test_two_violations_of_one_object_are_one_case() -> None:
    change = create_topic("a")
    twice = judged(
        change,
        violation(change, "team-prefix", "no team"),
        violation(change, "team-prefix", "no dot", line=9),
    )
    root = root_of(make_plan(twice, policies_loaded=POLICIES))
    (failure,) = case(root, "team-prefix", "topic/a")
    assert failure.attrib["message"] == "no team (and 1 more)"
    assert [line.split("; ")[0] for line in (failure.text or "").split("\n")] == [
        "denied (hard): topics/a.yaml:7:24: no team",
        "denied (hard): topics/a.yaml:9:24: no dot",
    ]


def test_findings_and_refusals_fail_and_warnings_do_not() -> None:
    root = root_of(refused_plan())
    types = [failure.attrib["type"] for failure in root.iter("failure")]
    assert types == ["finding", "exit 5", "exit 5"]
    words = "topic ledger has 12 partitions and Kafka can't go down to 6"
    assert [item.attrib["name"] for item in root.iter("testcase")][1] == (
        f"topics/ledger.yaml: {words}"
    )
    assert root_of(twelve_changes()).attrib["failures"] == "0"
    (warning, drift) = root_of(twelve_changes()).iter("skipped")
    assert warning.attrib["message"].startswith("topics/payments.yaml:7:5: warning: min.insync")
    assert drift.attrib["message"].startswith("topic audit  segment.bytes 536870912")
    assert drift.attrib["message"].endswith("this plan restores it (and 1 more)")


def test_a_policy_may_have_the_name_of_our_own_suite() -> None:
    policy = replace(POLICIES[0], name="kgitops")
    root = root_of(replace(no_changes(), policies_loaded=(policy,)))
    assert [len(suite) for suite in root] == [2]


def test_no_more_fails_than_policies_deny() -> None:
    for plan in (judged_plan(), three_denials()):
        assert status_totals(plan)[PolicyStatus.DENIED] >= int(root_of(plan).attrib["failures"])
