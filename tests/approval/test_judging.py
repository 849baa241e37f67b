"""A plan is judged request by request, in the order of an apply, on what went before."""

import pytest
from approval.recording import Rule, a_waiver, bundle_of, change_of, denied, judged, outcomes
from builders import (
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_tombstone,
    a_topic,
    a_topic_state,
    an_acl,
    applied,
    in_turn,
)
from msgspec.structs import replace
from plan.plan_json import plan_from_json

from kgitops.approval import judge_again, missing_policies
from kgitops.desired.state import Safety
from kgitops.model.cluster_state import ClusterState, TopicUsage
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Plan
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.evaluate.judge import InProcessEvaluator

DELETE = DeletionPolicy.DELETE


def pass_all(*_: object) -> None:
    """Accept."""


def cap(limit: int) -> Rule:
    """At most so many partitions, those of a new or grown topic among them."""

    def says(request, cluster) -> str | None:
        before = cluster.topic_state(request.topic)
        added = request.requested_state.num_partitions - (before.num_partitions if before else 0)
        total = cluster.partitions() + added
        return f"{total} partitions" if total > limit else None

    return Rule("cap", says, apis=frozenset({"CreateTopic", "AlterTopic"}))


# What is asked, and when


def everything() -> tuple[object, ClusterState]:
    """A plan with a request of each kind."""
    before = [
        a_topic("configs", configs={"retention.ms": "1000"}),
        a_topic("grown"),
        a_topic("moved", assignment=in_turn(3, 2)),
        a_topic("gone", deletion_policy=DELETE),
        a_topic("cut"),
        an_acl(a_binding("User:gone")),
    ]
    usage = {"cut": TopicUsage(log_start_offsets=(0, 0, 0), high_watermarks=(9, 9, 9))}
    desired = a_desired(
        a_topic("new"),
        a_topic("configs", configs={"retention.ms": "2000"}),
        a_topic("grown", partitions=5),
        a_topic("moved", assignment=((2, 3), (3, 1), (1, 3))),
        a_topic("cut", delete_records_before={0: 4}),
        an_acl(a_binding("User:new")),
        a_quota(consumer_byte_rate=1),
        safety=Safety(replication_throttle=1000),
    )
    return desired, applied(*before, usage=usage)


def test_every_request_of_every_kind_is_judged_once_and_all_are_the_principals() -> None:
    """P201-70, P201-71, P201-72, P201-73, P201-74, P201-75, K-02: each step is a call of its own.

    P201-90: brokers' throttles are judged here, where no Kafka asks a broker policy. P201-12.
    """
    rule = Rule("see", pass_all)
    desired, current = everything()
    plan = judged(desired, current, rule)
    assert {(asked.api, asked.name) for asked in rule.asked} == {
        ("CreateTopic", "new"),
        ("AlterTopic", "configs"),
        ("AlterTopic", "grown"),
        ("AlterTopic", "moved"),
        ("DeleteTopic", "gone"),
        ("DeleteRecords", "cut"),
        ("CreateAcl", "orders"),
        ("DeleteAcl", "orders"),
        ("AlterClientQuota", "user=billing"),
        *(("AlterBroker", str(broker)) for broker in (1, 2, 3)),
    }
    assert len(rule.asked) == len(plan.requests)
    assert {str(asked.request.principal) for asked in rule.asked} == {"User:kgitops"}
    assert all(change.policies for change in plan.changes)


@pytest.mark.parametrize(
    ("api", "address"),
    [
        ("CreateTopic", "topic/new"),
        ("AlterTopic", "topic/configs"),
        ("AlterTopic", "topic/grown"),
        ("AlterTopic", "topic/moved"),
        ("DeleteTopic", "topic/gone"),
        ("DeleteRecords", "topic/cut"),
        ("AlterBroker", "broker/1"),
        ("AlterClientQuota", "quota/user=billing"),
    ],
)
def test_each_kind_can_be_denied_alone(api: str, address: str) -> None:
    """P201-65, P201-70, P201-71, P201-72, P201-73, P201-74, P201-75, P201-90: and it alone."""
    name = address.partition("/")[2]
    desired, current = everything()
    rule = Rule("no", pass_all, apis=frozenset({api}))
    rule.says = lambda *_: "no" if rule.asked[-1].name == name else None
    plan = judged(desired, current, rule)
    assert denied(plan) == [address]
    assert plan.verdict.exit is ExitCode.DENIED


def test_a_plan_without_changes_asks_no_policy() -> None:
    """P201-80: and yet it says which policies are there."""

    class Unasked(InProcessEvaluator):
        def begin(self, *_: object, **__: object) -> None:
            raise AssertionError("there is nothing to judge")

    rule = Rule("see", pass_all)
    topic = a_topic()
    plan = judged(a_desired(topic), applied(topic), rule)
    assert plan.changes == ()
    assert rule.asked == []
    assert [policy.name for policy in plan.policies_loaded] == ["see"]
    assert judge_again(
        plan, (), Unasked([rule]), applied(topic), bundle_of(rule), today=bundle_of().today
    ) == ()  # fmt: skip


def test_a_cap_cannot_be_passed_by_a_batch() -> None:
    """P201-41, P201-09: the third of three topics crosses it, in the order of the apply."""
    three = [a_topic(name, partitions=4, replication_factor=1) for name in "abc"]
    plan = judged(a_desired(*three), a_cluster(), cap(10))
    assert denied(plan) == ["topic/c"]
    (row,) = change_of(plan, "topic/c").policies
    assert row.message == "12 partitions"


def test_what_is_denied_takes_up_no_room_of_what_comes_after() -> None:
    """P201-41: the state that accepted requests leave behind, not that of all."""
    topics = [
        a_topic("a", partitions=20, replication_factor=1),
        a_topic("b", partitions=9, replication_factor=1),
    ]
    assert denied(judged(a_desired(*topics), a_cluster(), cap(10))) == ["topic/a"]


def test_what_is_made_is_judged_before_what_goes() -> None:
    """In the order of an apply: nobody may count on room that a deletion only makes later."""
    desired = a_desired(a_topic("b", partitions=6, replication_factor=1))
    current = applied(a_topic("a", partitions=6, replication_factor=1, deletion_policy=DELETE))
    assert denied(judged(desired, current, cap(10))) == ["topic/b"]


def test_steps_that_wait_for_another_are_judged_after_it() -> None:
    """P201-11: one call for each step, with what that step leaves behind."""
    before, after = a_topic(configs={"retention.ms": "1000"}), a_topic(
        partitions=5, configs={"retention.ms": "2000"}
    )  # fmt: skip
    seen = []
    rule = Rule(
        "see",
        lambda request, cluster: seen.append(
            (
                cluster.topic_state("orders").num_partitions,
                dict(cluster.topic_state("orders").configs),
                request.requested_state.num_partitions,
                dict(request.requested_state.requested_configs),
            )
        ),
    )
    judged(a_desired(after), applied(before), rule)
    old, new = {"retention.ms": "1000"}, {"retention.ms": "2000"}
    assert seen == [(3, old, 5, {}), (5, old, 5, new)]


def test_what_depends_on_a_denied_request_is_judged_all_the_same() -> None:
    """Reviewers want all at once."""
    rule = Rule("no", lambda request, cluster: "not so")
    plan = judged(a_desired(a_topic(), an_acl()), a_cluster(), rule)
    (binding,) = [change for change in plan.changes if change.address.startswith("acl/")]
    assert binding.requests[0].depends_on
    assert set(denied(plan)) == {"topic/orders", binding.address}


# The rows


def test_a_policy_that_passes_has_one_row_for_a_change_and_shares_it() -> None:
    rules = [Rule("a", pass_all), Rule("b", pass_all)]
    plan = judged(a_desired(a_topic("x"), a_topic("y")), a_cluster(), *rules)
    x, y = plan.changes
    assert outcomes(plan, "topic/x") == [("a", "passed"), ("b", "passed")]
    assert x.policies is y.policies
    assert plan_from_json(plan_to_json(plan)) == plan


def test_each_violation_has_a_row_with_its_request_field_and_place() -> None:
    rules = [
        Rule("a", lambda *_: ["one", "two"], part="configs.retention.ms"),
        Rule("b", pass_all),
    ]
    plan = judged(a_desired(a_topic(configs={"retention.ms": "1"})), a_cluster(), *rules)
    one, two, passed = change_of(plan, "topic/orders").policies
    assert [(row.policy, row.message) for row in (one, two, passed)] == [
        ("a", "one"), ("a", "two"), ("b", ""),
    ]  # fmt: skip
    assert one.request == plan.requests[0].id
    assert (one.field, str(one.source)) == (
        "configs.retention.ms",
        "orders.yaml#spec.configs.retention.ms:1:1",
    )
    assert one.fingerprint != two.fingerprint
    assert passed.source is None
    assert plan_from_json(plan_to_json(plan)) == plan
    assert len(plan.verdict.reasons) == 2


def test_what_two_steps_have_wrong_alike_is_said_once_of_the_first() -> None:
    before, after = a_topic(), a_topic(partitions=5, configs={"retention.ms": "2000"})
    plan = judged(a_desired(after), applied(before), Rule("no", lambda *_: "not this topic"))
    assert len(plan.requests) == 2
    (row,) = change_of(plan, "topic/orders").policies
    assert row.request == plan.requests[0].id


@pytest.mark.parametrize(
    ("field", "place"),
    [
        (None, "orders.yaml:1:1"),
        ("partitions", "orders.yaml#spec.partitions:1:1"),
        ("name", "orders.yaml#metadata.name:1:1"),
        ("metadata.labels.team", "orders.yaml#metadata.labels.team:1:1"),
        ("assignments.0", "orders.yaml#spec.assignments.0:1:1"),
        ("configs.min.insync.replicas", "orders.yaml#spec.configs.min.insync.replicas:1:1"),
    ],
)
def test_a_row_points_at_the_field(field: str | None, place: str) -> None:
    plan = judged(a_desired(a_topic()), a_cluster(), Rule("no", lambda *_: "no", part=field))
    (row,) = change_of(plan, "topic/orders").policies
    assert str(row.source) == place


def test_a_denied_deletion_points_at_the_tombstone() -> None:
    topic = a_topic()
    desired = a_desired(a_tombstone(topic))
    plan = judged(desired, applied(topic), Rule("no", lambda *_: "keep it", part="partitions"))
    (row,) = change_of(plan, "topic/orders").policies
    assert str(row.source) == "drop.yaml:1:1"


# The verdict


@pytest.mark.parametrize("level", Level)
def test_only_soft_and_hard_denials_stop(level: Level) -> None:
    plan = judged(a_desired(a_topic()), a_cluster(), Rule("no", lambda *_: "no", level))
    assert (plan.verdict.exit is ExitCode.DENIED) == level.denies
    assert outcomes(plan) == [("no", "denied")]


def test_a_policy_that_fails_denies_in_its_own_words() -> None:
    """P201-67: and only what it was asked about."""

    def fails_on_b(request, cluster) -> None:
        if request.topic == "b":
            raise RuntimeError("out of memory")

    plan = judged(
        a_desired(a_topic("a"), a_topic("b"), a_topic("c")), a_cluster(), Rule("no", fails_on_b)
    )
    assert denied(plan) == ["topic/b"]
    (reason,) = plan.verdict.reasons
    assert reason.sentence.startswith("b.yaml:1:1: the policy no failed on topic/b")
    assert reason.sentence.count("correct the policy") == 1


def test_words_that_no_file_could_hold_are_escaped() -> None:
    """Half a character would make a plan that can't be saved."""
    rule = Rule("no", lambda *_: "half \ud83d", part="configs.\udc00")
    plan = judged(a_desired(a_topic()), a_cluster(), rule)
    (row,) = plan.changes[0].policies
    assert (row.message, row.field) == (r"half \ud83d", r"configs.\udc00")


def test_a_denial_says_where_what_and_what_next_on_one_line() -> None:
    rule = Rule("no", lambda *_: "two\n  lines.", part="partitions")
    plan = judged(a_desired(a_topic()), a_cluster(), rule)
    (reason,) = plan.verdict.reasons
    assert reason.sentence == (
        "orders.yaml#spec.partitions:1:1: the hard policy no denies topic/orders: two lines. "
        "Change the document, or see `kgitops policy explain no`"
    )
    loaded = [replace(policy, remediation="Use three.") for policy in plan.policies_loaded]
    (reason,) = replace(plan, policies_loaded=tuple(loaded)).verdict.reasons
    assert reason.sentence.endswith(": two lines. Use three")


# Once more, when it is applied


def again(plan: Plan, current: ClusterState, *rules: Rule, **words: object) -> list[str]:
    bundle = bundle_of(*rules, waivers=words.get("waivers", ()))
    pending = words.get("pending", [planned.id for planned in plan.requests])
    reasons = judge_again(
        plan,
        pending,
        InProcessEvaluator(rules, bundle.waivers),
        current,
        bundle,
        today=words.get("today", bundle.today),
    )
    assert all(reason.exit is ExitCode.DENIED for reason in reasons)
    return [reason.sentence for reason in reasons]


def test_the_policies_as_they_are_now_judge_the_cluster_as_it_is_now() -> None:
    """Contract §6: others made topics meanwhile, so the same policy denies now."""
    plan = judged(a_desired(a_topic("a", partitions=4)), a_cluster(), cap(10))
    assert not plan.verdict.stops
    assert again(plan, a_cluster(), cap(10)) == []
    crowded = a_cluster(a_topic_state("theirs", partitions=8))
    (sentence,) = again(plan, crowded, cap(10))
    assert "the hard policy cap denies topic/a: 12 partitions" in sentence
    assert again(plan, a_cluster(), cap(3)) != []


def test_a_resume_judges_what_may_still_be_sent() -> None:
    plan = judged(a_desired(a_topic("a"), a_topic("b")), a_cluster(), Rule("no", pass_all))
    first, second = (planned.id for planned in plan.requests)
    no = Rule("no", lambda request, _: "no" if request.topic == "a" else None)
    assert len(again(plan, a_cluster(), no, pending=[first, second])) == 1
    assert again(plan, a_cluster(), no, pending=[second]) == []
    assert [asked.name for asked in no.asked] == ["a", "b", "b"]


def test_the_place_is_the_reviewed_plans() -> None:
    rule = Rule("no", lambda *_: "no", Level.ADVISORY, part="partitions")
    plan = judged(a_desired(a_topic()), a_cluster(), rule)
    rule.level = Level.HARD
    (sentence,) = again(plan, a_cluster(), rule)
    assert sentence.startswith("orders.yaml#spec.partitions:1:1: the hard policy no denies")


def test_a_waiver_that_ended_since_the_plan_is_named() -> None:
    rule = Rule("no", lambda *_: "no", Level.SOFT)
    waiver = a_waiver()
    plan = judged(a_desired(a_topic()), a_cluster(), rule, waivers=[waiver])
    assert outcomes(plan) == [("no", "waived")]
    assert not plan.verdict.stops
    assert again(plan, a_cluster(), rule, waivers=[waiver]) == []
    day = waiver.expires.replace(day=waiver.expires.day + 1)
    for words in ({"waivers": [waiver], "today": day}, {"waivers": []}):
        (sentence,) = again(plan, a_cluster(), rule, **words)
        assert "no (the waiver w no longer lifts it)" in sentence


@pytest.mark.parametrize("now", Level)
@pytest.mark.parametrize("then", [level for level in Level if level is not Level.OFF])
def test_recorded_policies_must_be_loaded_and_no_weaker(then: Level, now: Level) -> None:
    """Contract §6: whatever the plan's own results were."""
    plan = judged(a_desired(a_topic()), a_cluster(), Rule("no", pass_all, then))
    sentences = [
        reason.sentence for reason in missing_policies(plan, bundle_of(Rule("no", pass_all, now)))
    ]
    if now.weaker_than(then):
        (sentence,) = sentences
        assert f"the policy no, which was {then} when the plan was made, is {now} now" in sentence
    else:
        assert sentences == []


def test_a_recorded_policy_that_is_gone_is_named() -> None:
    plan = judged(a_desired(a_topic()), a_cluster(), Rule("no", pass_all, Level.INFO))
    (reason,) = missing_policies(plan, bundle_of())
    assert reason.exit is ExitCode.DENIED
    assert "the policy no, which was info when the plan was made, is not loaded any more" in (
        reason.sentence
    )
