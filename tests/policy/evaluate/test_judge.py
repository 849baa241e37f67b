"""One judge, many policies: each request by each policy, and no failure reaches another."""

import logging

import pytest
from msgspec.structs import replace
from policy.asking import a_state, a_topic_state, creation

from kgitops.model import requests as req
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.policy import BaseTopicPolicy, Configurable, PolicyViolation
from kgitops.policy.api.interfaces import RuleViolation
from kgitops.policy.evaluate.bundle import Level, Outcome, RequestRulings
from kgitops.policy.evaluate.judge import MOST_VIOLATIONS, InProcessEvaluator
from kgitops.policy.evaluate.protocol import PolicyFailed
from kgitops.policy.python_rule import PythonRule


class Picky(BaseTopicPolicy):
    """Fails on one topic and refuses another."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def validate_create_topic(self, request, cluster_state):
        self.asked.append(f"create {request.topic}")
        if request.topic == "fails":
            raise ZeroDivisionError("by nothing")
        if request.topic == "refused":
            raise PolicyViolation("not this one", field="partitions")
        if request.topic == "silently":
            raise PolicyViolation

    def validate_alter_topic(self, request, cluster_state):
        state = request.requested_state
        self.asked.append(
            f"alter {state.num_partitions} {dict(state.configs)} {dict(state.requested_configs)}"
        )
        before = cluster_state.topic_state(request.topic)
        self.asked.append(f"before {before.num_partitions} {dict(before.configs)}")

    def validate_delete_topic(self, request, cluster_state):
        self.asked.append(f"delete, there: {cluster_state.topic_state(request.topic) is not None}")


class FromRule:
    """A rule that says what it is given."""

    def __init__(self, answer: object) -> None:
        self.name, self.level, self.answer = "from-rule", Level.HARD, answer

    def judges(self, asked: object) -> bool:
        return True

    def check(self, asked: object, cluster: object) -> list[RuleViolation]:
        if isinstance(self.answer, Exception):
            raise self.answer
        assert isinstance(self.answer, list)
        return self.answer

    def close(self) -> None: ...


def a_judge(*policies: Configurable, level: Level = Level.HARD) -> InProcessEvaluator:
    judge = InProcessEvaluator(
        [
            PythonRule(f"{type(policy).__name__.lower()}-{number}", level, policy)
            for number, policy in enumerate(policies)
        ]
    )
    judge.begin(a_state(), principal="User:alice")
    return judge


def said(judgement: RequestRulings) -> list[tuple[str, str]]:
    return [
        (ruling.policy, "crashed" if ruling.crashed else str(ruling.outcome))
        for ruling in judgement
    ]


def test_a_violation_or_a_failure_is_of_one_request_and_one_policy():
    """P201-64, P201-65, P201-67: what comes before and after it is judged, the words are kept."""
    judge = a_judge(Picky(), BaseTopicPolicy())

    judgements = judge.judge_all([creation(name) for name in ("first", "fails", "refused", "last")])

    fine = [("picky-0", "passed"), ("basetopicpolicy-1", "passed")]
    assert [said(judgement) for judgement in judgements] == [
        fine,
        [("picky-0", "crashed"), ("basetopicpolicy-1", "passed")],
        [("picky-0", "denied"), ("basetopicpolicy-1", "passed")],
        fine,
    ]
    assert [judgement.message for judgement in judgements] == [
        None,
        "the policy picky-0 failed on topic/fails with ZeroDivisionError: by nothing, so it "
        "denies; correct the policy",
        "not this one",
        None,
    ]
    assert judgements[2][0].field == "partitions"


def test_a_violation_without_words_denies_and_breaks_no_answer():
    """P201-69: there is nothing to show, so brokers answer without a message."""
    (judgement,) = a_judge(Picky()).judge_all([creation("silently")])

    assert judgement.stops
    assert judgement.message is None


def test_the_trace_of_a_failure_is_in_the_log_and_in_no_message(caplog: pytest.LogCaptureFixture):
    """P201-67: the policy's author finds it with --log-level debug, others needn't see it."""
    with caplog.at_level(logging.INFO, logger="kgitops.policy"):
        (judgement,) = a_judge(Picky()).judge_all([creation("fails")])

    (record,) = caplog.records
    assert record.levelno < logging.WARNING
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)
    assert "Traceback" not in (judgement.message or "")


@pytest.mark.parametrize("level", [Level.INFO, Level.ADVISORY])
def test_a_weak_policy_stops_nothing_whatever_it_says(level: Level):
    judge = a_judge(Picky(), level=level)

    judgements = judge.judge_all([creation(name) for name in ("refused", "fails")])

    assert [ruling.outcome for item in judgements for ruling in item] == [
        Outcome.DENIED,
        Outcome.DENIED,
    ]
    assert not any(judgement.stops for judgement in judgements)


def test_each_step_is_judged_on_what_the_step_before_it_leaves():
    """P201-10, P201-11, P201-35: one call a wire request, with the state right before it."""
    policy = Picky()
    judge = a_judge(policy)
    topic = a_topic_state("orders", assignment=((1,),), configs={"a": "1"})
    state = RequestedTopicState(
        name="orders", topic_id=topic.topic_id, assignment=((1,),), configs={"b": "2"},
        requested_configs={"a": None, "b": "2"},
    )  # fmt: skip
    grown = replace(state, assignment=((1,), (2,)), requested_configs={})
    steps: list[req.Request] = [
        req.AlterTopicRequest(topic="orders", topic_id="id", step=step, requested_state=requested)
        for step, requested in ((req.AlterStep.CONFIGS, state), (req.AlterStep.PARTITIONS, grown))
    ]
    judge.begin(a_state(topic), principal="User:alice")

    judge.judge_all([*steps, req.DeleteTopicRequest(topic="orders", topic_id="id")])

    assert policy.asked == [
        "alter 1 {'b': '2'} {'a': None, 'b': '2'}",
        "before 1 {'a': '1'}",
        "alter 2 {'b': '2'} {}",
        "before 1 {'b': '2'}",
        "delete, there: True",
    ]


def test_what_is_stopped_leaves_nothing_behind():
    """P201-41: the next request is judged as if it had never been asked for."""
    seen: list[list[str]] = []

    class Looks(Picky):
        def validate_create_topic(self, request, cluster_state):
            seen.append(sorted(cluster_state.topics()))
            super().validate_create_topic(request, cluster_state)

    a_judge(Looks()).judge_all([creation(name) for name in ("first", "refused", "last")])

    assert seen == [[], ["first"], ["first"]]


def test_no_requests_no_calls():
    """P201-80."""
    policy = Picky()

    assert a_judge(policy).judge_all([]) == []

    assert policy.asked == []


def test_what_a_policy_does_to_its_input_reaches_no_other_policy():
    """P201-21: it gets views and copies, and what it is told to leave alone it can't change."""

    class Meddles(BaseTopicPolicy):
        def validate_create_topic(self, request, cluster_state):
            request.requested_state.replicas_assignments.clear()
            request.requested_state.configs["a"] = "2"

    seen: list[req.CreateTopicRequest] = []

    class Looks(BaseTopicPolicy):
        def validate_create_topic(self, request, cluster_state):
            seen.append(request)

    request = creation("orders", configs={"a": "1"})
    (judgement,) = a_judge(Meddles(), Looks()).judge_all([request])

    assert said(judgement) == [("meddles-0", "crashed"), ("looks-1", "passed")]
    assert dict(seen[0].requested_state.configs) == {"a": "1"}
    assert request.requested_state.configs == {"a": "1"}
    assert len(seen[0].requested_state.replicas_assignments) == 2


def test_all_that_a_rule_finds_is_told_up_to_a_bearable_number():
    judge = InProcessEvaluator(
        [FromRule([RuleViolation(message=str(number)) for number in range(1000)])]
    )
    judge.begin(a_state(), principal="User:alice")

    judgement = judge.judge(creation())

    *told, rest = judgement
    assert [ruling.message for ruling in told] == [str(number) for number in range(MOST_VIOLATIONS)]
    assert "denies topic/orders for 1,000 reasons, of which 100 are shown" in rest.message


def test_a_rule_that_knows_why_it_failed_says_it_itself():
    judge = InProcessEvaluator([FromRule(PolicyFailed("its third line can't be evaluated"))])
    judge.begin(a_state(), principal="User:alice")

    assert judge.judge(creation()).message == (
        "the policy from-rule failed on topic/orders: its third line can't be evaluated, so it "
        "denies; correct the policy"
    )


def test_a_persons_interrupt_is_no_failure_of_a_policy():
    class Interrupted(BaseTopicPolicy):
        def validate_create_topic(self, request, cluster_state):
            raise KeyboardInterrupt

        def close(self):
            raise KeyboardInterrupt

    judge = a_judge(Interrupted())

    with pytest.raises(KeyboardInterrupt):
        judge.judge(creation())
    with pytest.raises(KeyboardInterrupt):
        judge.close()


def test_policies_are_closed_once_and_each_of_them(caplog: pytest.LogCaptureFixture):
    """P201-45: a failure of one is logged, without a trace, and hides no other."""
    closed: list[str] = []

    class Fails(BaseTopicPolicy):
        def close(self):
            closed.append("fails")
            raise SystemExit("no")

    class Closes(BaseTopicPolicy):
        def close(self):
            closed.append("closes")

    judge = a_judge(Fails(), Closes())
    judge.close()
    judge.close()

    assert closed == ["fails", "closes"]
    assert caplog.messages == ["the policy fails-0 could not be closed: SystemExit: no"]
