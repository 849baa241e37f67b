"""What a case asks of policies: requests as KIP-201 has them, on a cluster that changes."""

import pytest
from workflow.policy_tests.suites import cel, suite

from kgitops.model.requests import AlterTopicRequest, CreateTopicRequest
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.loading import load_rules
from kgitops.policy.state import SimulatedState
from kgitops.workflow.policy_tests.cases import Suite
from kgitops.workflow.policy_tests.running import run_case
from kgitops.workflow.policy_tests.steps import request_of

THERE = """\
  cluster:
    brokers: [{id: 1, rack: a}, {id: 5, rack: b}, {id: 7}]
    topics:
      orders:
        assignments: {0: [1, 5], 1: [5, 7]}
        configs: {a: 1, b: 2, cleanup.policy: [compact, delete]}
    acls:
      - {principal: User:a, permission: Allow, operation: read, resource: {type: topic, name: x}}
    quotas:
      - {entity: {user: a, clientId: {default: true}}, quotas: {consumer_byte_rate: 1}}
  cases:
    - name: x
      requests:
        - """


def request(step: str) -> object:
    case = suite(THERE + step).cases[0]
    return request_of(case.steps[0].written, SimulatedState(case.state))


def altered(step: str) -> AlterTopicRequest:
    made = request(f"alterTopic: {{name: orders, {step}}}")
    assert isinstance(made, AlterTopicRequest)
    return made


def test_a_case_starts_from_what_it_says() -> None:
    state = suite(THERE + "deleteTopic: {name: orders}").cases[0].state
    assert [(broker.id, broker.rack) for broker in state.brokers] == [(1, "a"), (5, "b"), (7, None)]
    assert state.topics["orders"].assignment == ((1, 5), (5, 7))
    assert state.topics["orders"].configs["cleanup.policy"] == "compact,delete"
    (acl,) = state.acls
    assert (acl.principal, acl.host, acl.operation) == ("User:a", "*", "Read")
    assert list(state.quotas) == [(("user", "a"), ("client-id", None))]


def test_a_change_of_configs_overlays_them() -> None:
    """P201-25, P201-26, P201-27: the true state afterwards; a removed key is asked for as None."""
    state = altered("configs: {b: null, c: 4, d: true}").requested_state
    assert state.configs == {"a": "1", "cleanup.policy": "compact,delete", "c": "4", "d": "true"}
    assert state.requested_configs == {"b": None, "c": "4", "d": "true"}
    assert state.assignment == ((1, 5), (5, 7))
    assert state.generated_replica_assignments is False


def test_growth_keeps_what_is_there_and_says_that_the_rest_was_placed() -> None:
    """P201-31, P201-32."""
    made = altered("partitions: 4")
    assert made.step == "partitions"
    state = made.requested_state
    assert state.assignment[:2] == ((1, 5), (5, 7))
    assert state.num_partitions == 4
    assert state.generated_replica_assignments is True
    assert (state.requested_configs, state.configs["a"]) == ({}, "1")
    assert altered("partitions: 4") == made  # placed in the same way each time


@pytest.mark.parametrize(
    ("given", "step", "expected"),
    [
        ("{0: [7]}", "replicas", ((7,), (5, 7))),
        ("{2: [1, 7]}", "partitions", ((1, 5), (5, 7), (1, 7))),
    ],
)
def test_an_assignment_replaces_that_of_its_partitions(
    given: str, step: str, expected: tuple[tuple[int, ...], ...]
) -> None:
    """P201-32: it was not placed for the user."""
    made = altered(f"assignments: {given}")
    assert (made.step, made.requested_state.assignment) == (step, expected)
    assert made.requested_state.generated_replica_assignments is False


@pytest.mark.parametrize(
    ("size", "generated"),
    [("partitions: 2, replicationFactor: 2", True), ("assignments: {0: [1]}", False)],
)
def test_a_new_topic_says_whether_its_replicas_were_placed(size: str, generated: bool) -> None:
    """P201-23, P201-30."""
    made = request(f"createTopic: {{name: new, {size}, configs: {{a: 1}}}}")
    assert isinstance(made, CreateTopicRequest)
    assert made.requested_state.generated_replica_assignments is generated
    assert made.requested_state.configs == made.requested_state.requested_configs == {"a": "1"}


@pytest.mark.parametrize(
    ("step", "address"),
    [
        ("deleteRecords: {name: orders, offsets: {0: 5}}", "topic/orders"),
        ("alterBroker: {id: 5, configs: {x: 1}, current: {y: 2}}", "broker/5"),
        (
            "alterClientQuota: {entity: {ip: 10.0.0.1}, quotas: {connection_creation_rate: null}}",
            "quota/ip=10.0.0.1",
        ),
        (
            "deleteAcl: {principal: User:a, permission: deny, operation: write, "
            "resource: {type: group, name: g}}",
            "acl/User:a/Deny/Write/group/literal/g@*",
        ),
    ],
)  # fmt: skip
def test_every_kind_of_request_is_judged(step: str, address: str) -> None:
    """Denied by a policy that denies whatever it is asked."""
    read = suite(f"{THERE}{step}\n      expect: [{{address: '{address}'}}]\n")
    result = run_case(
        read.cases[0], read, InProcessEvaluator(load_rules([cel("request.name == ''", api="")]))
    )
    assert not result.failures
    assert [item.denied for item in result.seen] == [True]


def judged(read: Suite, *expressions: str, api: str = "CreateTopic") -> list[str]:
    judge = InProcessEvaluator(load_rules([cel(*expressions, api=api)]))
    return [failure.came for case in read.cases for failure in run_case(case, read, judge).failures]


def test_a_broker_is_judged_with_the_configs_that_it_has() -> None:
    step = "alterBroker: {id: 5, configs: {x: 1}, current: {y: 2}}"
    both = ("current.configs['y'] == '2'", "'x' in requested.configs")
    assert judged(suite(THERE + step), *both, api="AlterBroker") == []


def test_cases_do_not_see_each_other() -> None:
    read = suite(
        "  cases:\n"
        "    - {name: a, requests: [createTopic: {name: a, partitions: 1, replicationFactor: 1}]}\n"
        "    - {name: b, requests: [createTopic: {name: a, partitions: 1, replicationFactor: 1}]}\n"
    )
    assert judged(read, "cluster.topics == 0") == []


def test_one_policy_may_deny_twice_and_each_denial_is_compared() -> None:
    read = suite(
        "  cases:\n"
        "    - name: a\n"
        "      requests: [createTopic: {name: a, partitions: 1, replicationFactor: 1}]\n"
        "      expect: [{address: topic/a, message: '== 2'}]\n"
    )
    both = ("requested.partitions == 2", "requested.replicationFactor == 3")
    assert judged(read, *both) == ["denied: requested.replicationFactor == 3"]


def test_a_policy_that_is_not_asked_about_has_no_say() -> None:
    read = suite(
        "  cases:\n"
        "    - name: a\n"
        "      requests: [createTopic: {name: a, partitions: 1, replicationFactor: 1}]\n"
    )
    judge = InProcessEvaluator(load_rules([cel("true"), cel("false", name="q")]))
    assert not run_case(read.cases[0], read, judge).failures
