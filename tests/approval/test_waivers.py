"""Waivers: which of them hold, what they lift, and what is said of all others."""

from datetime import date, timedelta

import pytest
from approval.recording import TODAY, Rule, a_waiver, denied, judged, outcomes, warned
from builders import a_cluster, a_desired, a_topic, applied

from kgitops.approval import expiry_notice, judge_changes, waiver_problem
from kgitops.plan.document.plan import Plan
from kgitops.policy.evaluate.bundle import Level, Waiver, fingerprint
from kgitops.policy.evaluate.judge import MOST_VIOLATIONS, InProcessEvaluator

SOFT = {"no": Level.SOFT}


def no(*words: str) -> Rule:
    return Rule("no", lambda *_: words or ("no",), Level.SOFT)


def planned(*waivers: Waiver, rule: Rule | None = None, whole: bool = True) -> Plan:
    desired = a_desired(a_topic(), a_topic("other"), whole=whole)
    return judged(desired, a_cluster(), rule or no(), waivers=waivers)


# Which hold


@pytest.mark.parametrize(
    ("today", "holds"),
    [
        (date(2026, 2, 27), True),
        (date(2026, 2, 28), True),
        (date(2026, 3, 1), False),
    ],
)
def test_a_waiver_holds_through_its_last_day(today: date, holds: bool) -> None:
    found = waiver_problem(a_waiver(expires=date(2026, 2, 28)), SOFT, today)
    assert (found is None) == holds
    if found:
        assert found[0] == "expires"
        assert "ended with 2026-02-28 (UTC)" in found[1]


def test_a_leap_day_is_a_day() -> None:
    waiver = a_waiver(expires=date(2028, 2, 29))
    assert waiver_problem(waiver, SOFT, date(2028, 2, 29)) is None
    assert waiver_problem(waiver, SOFT, date(2028, 3, 1)) is not None


@pytest.mark.parametrize(("days", "holds"), [(90, True), (91, False), (100_000, False)])
def test_a_waiver_lasts_90_days_at_most(days: int, holds: bool) -> None:
    """A date far away would be no end at all; each day later it may be longer by one."""
    found = waiver_problem(a_waiver(expires=TODAY + timedelta(days=days)), SOFT, TODAY)
    assert (found is None) == holds
    if found:
        assert found[0] == "expires"
        assert found[2] == "let it end by 2027-02-19"


@pytest.mark.parametrize(
    ("level", "says"),
    [
        (Level.HARD, "no is hard here, and a hard policy can't be waived"),
        (Level.ADVISORY, "is not needed: no is advisory here"),
        (Level.INFO, "is not needed: no is info here"),
        (Level.OFF, "is not needed: no is off here"),
    ],
)
def test_only_a_soft_policy_can_be_waived(level: Level, says: str) -> None:
    found = waiver_problem(a_waiver(), {"no": level}, TODAY)
    assert found is not None
    assert found[0] == "policy"
    assert says in found[1]


def test_a_policy_that_is_not_there_is_named_with_the_nearest() -> None:
    found = waiver_problem(a_waiver("min-isr"), {"min-insync": Level.SOFT}, TODAY)
    said = "the waiver w names min-isr, which is not a policy here"
    assert found == ("policy", said, "did you mean min-insync?")
    found = waiver_problem(a_waiver("xyz"), {"min-insync": Level.SOFT}, TODAY)
    assert found is not None
    assert found[2] == "correct it, or remove the waiver"


@pytest.mark.parametrize(
    ("days", "said"),
    [(0, "ends today"), (1, "ends tomorrow"), (14, "ends in 14 days"), (15, None)],
)
def test_the_last_two_weeks_are_announced(days: int, said: str | None) -> None:
    found = expiry_notice(a_waiver(expires=TODAY + timedelta(days=days)), TODAY)
    assert (said in found[1]) if said else found is None


# What they lift


def test_a_waiver_lifts_the_one_violation_of_its_policy_on_its_object() -> None:
    plan = planned(a_waiver())
    assert outcomes(plan) == [("no", "waived")]
    assert denied(plan) == ["topic/other"]
    assert warned(plan) == []
    (row,) = plan.changes[0].policies
    assert row.waiver is not None
    assert (row.waiver.owner, row.waiver.ticket, row.waiver.expires) == (
        "data",
        "T-1",
        "2026-11-21",
    )


def test_a_fingerprint_lifts_its_violation_and_no_other() -> None:
    first = fingerprint("no", "topic/orders", "one")
    plan = planned(a_waiver(fingerprint=first), rule=no("one", "two"))
    assert outcomes(plan) == [("no", "waived"), ("no", "denied")]


def test_a_waiver_for_another_violation_of_the_same_object_lifts_nothing() -> None:
    """And says which fingerprint the one that denies has."""
    plan = planned(a_waiver(fingerprint="0123456789abcdef"))
    assert outcomes(plan) == [("no", "denied")]
    (said,) = warned(plan)
    assert "none of no on topic/orders has its fingerprint 0123456789abcdef" in said
    assert fingerprint("no", "topic/orders", "no") in said


def test_without_a_fingerprint_several_violations_are_too_many() -> None:
    plan = planned(a_waiver(), rule=no("one", "two"))
    assert outcomes(plan) == [("no", "denied"), ("no", "denied")]
    (said,) = warned(plan)
    assert "no denies topic/orders for 2 reasons" in said
    for words in ("one", "two"):
        assert fingerprint("no", "topic/orders", words) in said


def test_several_violations_in_different_requests_are_too_many_as_well() -> None:
    """Each request has one: a waiver that was meant for the first must not lift the second."""
    before, after = a_topic(), a_topic(partitions=5, configs={"retention.ms": "2000"})
    rule = Rule(
        "no",
        lambda request, _: f"{len(request.requested_state.requested_configs)} configs",
        Level.SOFT,
    )
    plan = judged(a_desired(after), applied(before), rule, waivers=[a_waiver()])
    assert len(plan.requests) == 2
    assert outcomes(plan) == [("no", "denied"), ("no", "denied")]
    (said,) = warned(plan)
    assert "for 2 reasons" in said


def test_the_same_violation_of_two_requests_is_one() -> None:
    before, after = a_topic(), a_topic(partitions=5, configs={"retention.ms": "2000"})
    plan = judged(a_desired(after), applied(before), no(), waivers=[a_waiver()])
    assert outcomes(plan) == [("no", "waived")]


def test_a_violation_that_one_request_has_twice_is_one() -> None:
    """What the request before it has wrong is waived, and hides no denial."""
    before, after = a_topic(), a_topic(partitions=5, configs={"retention.ms": "2000"})
    rule = Rule(
        "no",
        lambda request, _: ["no"] * (1 + len(request.requested_state.requested_configs)),
        Level.SOFT,
    )
    plan = judged(a_desired(after), applied(before), rule, waivers=[a_waiver()])
    judge = InProcessEvaluator([rule], [a_waiver()])
    judge.begin(applied(before), principal="User:a")
    assert outcomes(plan) == [("no", "waived")]
    assert [judge.judge(planned.request).stops for planned in plan.requests] == [False, False]


def test_what_is_not_told_is_not_waived() -> None:
    """Waivers for all that is told would lift what comes after it, which nobody saw."""
    said = [str(number) for number in range(MOST_VIOLATIONS + 1)]
    waivers = [a_waiver(fingerprint=fingerprint("no", "topic/orders", word)) for word in said]
    plan = planned(*waivers, rule=no(*said))
    assert [row for row in outcomes(plan) if row[1] != "waived"] == [("no", "denied")]
    plan = planned(*waivers, rule=no(*said[:-1]))
    assert outcomes(plan) == [("no", "waived")] * MOST_VIOLATIONS


def test_a_policy_that_fails_cannot_be_waived() -> None:
    def fails(*_: object) -> None:
        raise RuntimeError

    plan = planned(a_waiver(), rule=Rule("no", fails, Level.SOFT))
    assert outcomes(plan) == [("no", "denied")]
    assert warned(plan) == []


def test_a_waiver_that_ended_since_it_was_read_lifts_nothing() -> None:
    """A run may pass midnight."""
    rule, waiver = no(), a_waiver()
    plan = planned(waiver, rule=rule)
    for today, stops in ((TODAY, False), (TODAY + timedelta(days=1), True)):
        judged_then = judge_changes(
            plan.changes[:1],
            InProcessEvaluator([rule], [waiver]),
            a_cluster(),
            principal="User:a",
            today=today,
        )
        assert [ruling.stops for ruling in judged_then.by_request["r1"]] == [stops]


# What is said of those that were not used


def test_a_waiver_whose_violation_is_gone_is_not_needed() -> None:
    plan = planned(a_waiver(), rule=Rule("no", lambda *_: None, Level.SOFT))
    assert warned(plan) == [
        "warning: the waiver w is not needed: no does not deny topic/orders; remove it"
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_of_an_object_that_does_not_change_nothing_is_known(whole: bool) -> None:
    topic = a_topic()
    desired = a_desired(topic, a_topic("other"), whole=whole)
    plan = judged(desired, applied(topic), no(), waivers=[a_waiver()])
    assert warned(plan) == []


def test_nor_where_the_policy_has_no_say_in_what_changes() -> None:
    rule = Rule("no", lambda *_: "no", Level.SOFT, apis=frozenset({"CreateTopic"}))
    before, after = a_topic(), a_topic(partitions=5)
    plan = judged(a_desired(after), applied(before), rule, waivers=[a_waiver()])
    assert warned(plan) == []


@pytest.mark.parametrize("whole", [True, False])
def test_an_address_that_nothing_has_is_said_where_everything_is_loaded(whole: bool) -> None:
    plan = planned(a_waiver(address="topic/ordres"), whole=whole)
    said = (
        "warning: the waiver w names topic/ordres, which is not the address of anything here; did "
        "you mean topic/orders?"
    )
    assert warned(plan) == ([said] if whole else [])


def test_of_two_for_the_same_one_is_not_needed() -> None:
    plan = planned(a_waiver(name="v"), a_waiver(name="w"))
    (said,) = warned(plan)
    assert "the waiver w is not needed: another lifts what no denies there" in said
