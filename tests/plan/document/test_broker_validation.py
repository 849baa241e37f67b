"""What the brokers said of a plan ahead, written into it (K-01)."""

import pytest
from builders import a_cluster, a_desired, a_quota, a_topic, a_topic_state, applied, plan_of
from plan.plan_json import plan_from_json

from kgitops.model.cluster_state import Validator
from kgitops.model.requests import AlterStep, AlterTopicRequest, CreateTopicRequest
from kgitops.model.results import OK, RETRIABLE, ErrorCode, RequestResult
from kgitops.model.source import Severity
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.broker_validation import checkable, record_validation
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Plan


def two_topics() -> Plan:
    return plan_of(a_desired(a_topic("a"), a_topic("b"), a_quota()), a_cluster())


def creations(plan: Plan) -> list[str]:
    return [item.id for item in plan.requests if isinstance(item.request, CreateTopicRequest)]


def labels(plan: Plan) -> dict[str, Validator]:
    return {planned.id: planned.validated for planned in plan.requests}


def test_what_a_broker_accepted_is_labelled_so() -> None:
    a, b = creations(two_topics())
    plan = record_validation(two_topics(), {a: OK})
    assert labels(plan)[a] is Validator.BROKER
    assert labels(plan)[b] is Validator.CLIENT
    assert not plan.findings
    assert not plan.warnings


def test_a_refusal_stands_at_its_document_with_the_brokers_words() -> None:
    a, _ = creations(two_topics())
    refusal = RequestResult(code=ErrorCode.INVALID_CONFIG, message="Too many, says Ada")
    plan = record_validation(two_topics(), {a: refusal})
    (finding,) = plan.findings
    assert str(finding.source) == "a.yaml:1:1"
    assert "INVALID_CONFIG (40): Too many, says Ada" in finding.problem
    assert labels(plan)[a] is Validator.BROKER
    assert plan.verdict.exit is ExitCode.ERROR


@pytest.mark.parametrize(
    ("words", "said"), [("Too many, says Ada", ": Too many, says Ada"), (None, "")]
)
def test_what_a_brokers_own_policy_denies_is_denied_by_policy(words: str | None, said: str) -> None:
    """P201-64, P201-69: also where it says nothing."""
    a, b = creations(two_topics())
    refusal = RequestResult(code=ErrorCode.POLICY_VIOLATION, message=words)
    plan = record_validation(two_topics(), {a: refusal, b: OK})
    assert not plan.findings
    assert [change.address for change in plan.changes if change.denied] == ["topic/a"]
    assert labels(plan)[a] is Validator.BROKER
    assert plan.verdict.exit is ExitCode.DENIED
    (reason,) = plan.verdict.reasons
    assert reason.sentence == (
        f"a.yaml:1:1: the hard policy broker denies topic/a{said}; change the document so that "
        "the brokers' own policy accepts it"
    )
    assert plan_from_json(plan_to_json(plan)) == plan


@pytest.mark.parametrize(
    "code",
    sorted(
        RETRIABLE
        | {
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode.REQUEST_TIMED_OUT,
        }
    ),
)
def test_what_nobody_judged_is_neither_refused_nor_passed(code: ErrorCode) -> None:
    before = two_topics()
    plan = record_validation(before, dict.fromkeys(creations(before), RequestResult(code=code)))
    assert labels(plan) == labels(before)
    assert not plan.findings
    assert not plan.verdict.stops
    (warning,) = plan.warnings
    assert warning.severity is Severity.WARNING
    assert f"did not validate 2 CreateTopic requests: they answered {code.name} ({code})" in str(
        warning
    )


def test_the_right_that_is_missing_is_named_once_for_each_request() -> None:
    before = plan_of(
        a_desired(
            a_topic("new"),
            a_topic("configs", configs={"retention.ms": "1"}),
            a_topic("partitions", partitions=5),
            a_quota(),
        ),
        a_cluster(a_topic_state("configs"), a_topic_state("partitions")),
    )
    refused = {
        planned.id: RequestResult(code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        for planned in before.requests
    }
    plan = record_validation(before, refused)
    added = [str(warning) for warning in plan.warnings if warning not in before.warnings]
    assert len(added) == 4
    for right in (
        "Create on the cluster or on the topic",
        "AlterConfigs on the topic",
        "Alter on the topic",
        "AlterConfigs on the cluster",
    ):
        assert sum(line.endswith(f"for a principal with {right}") for line in added) == 1


def test_what_builds_on_another_step_and_what_moves_replicas_is_not_asked_about() -> None:
    """Decision 0005."""
    there = a_topic("a", partitions=3, replication_factor=2)
    wanted = a_topic("a", partitions=5, configs={"retention.ms": "1"})
    plan = plan_of(a_desired(wanted), applied(there))
    assert len(plan.requests) == 2
    assert [planned.id for planned in checkable(plan)] == [plan.requests[0].id]
    moved = plan_of(a_desired(a_topic("a", replication_factor=3)), applied(there))
    steps = [p.request.step for p in moved.requests if isinstance(p.request, AlterTopicRequest)]
    assert steps == [AlterStep.REPLICAS]
    assert checkable(moved) == ()
