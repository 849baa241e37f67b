"""The plan as a whole: what it says of the cluster, of itself, and of what can't be done."""

import pytest
from builders import (
    ALL_CAPABILITIES,
    APIS,
    Place,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_topic,
    a_topic_state,
    an_acl,
    applied,
    plan_of,
    with_changes,
)
from msgspec.structs import replace

from kgitops.model.cluster_state import Broker, Capabilities, ClusterState, Validator
from kgitops.model.source import Finding, Severity
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import RegistryEnd


def capabilities(**validation: Validator) -> Capabilities:
    return Capabilities(backend="kafka", validation=validation)


def test_what_the_cluster_can_not_carry_out_is_an_error_and_never_skipped() -> None:
    """F590-53: an explicit item, whatever else the plan holds."""
    only_topics = capabilities(CreateTopic=Validator.BROKER)
    plan = plan_of(a_desired(a_topic(), a_quota()), a_cluster(), only_topics)
    assert plan.verdict.exit is ExitCode.ERROR
    (finding,) = plan.findings
    assert finding.source == Place("quotas.yaml").source
    assert "AlterClientQuota" in finding.problem
    assert len(plan.changes) == 2


def test_requests_that_nobody_can_check_say_so_each_for_itself() -> None:
    able = replace(
        ALL_CAPABILITIES,
        validation={
            **dict.fromkeys(APIS, Validator.BROKER),
            "DeleteRecords": Validator.NOT_SUPPORTED,
        },
    )
    wanted = a_topic(configs={"retention.ms": "1"}, delete_records_before={0: 5})
    plan = plan_of(a_desired(wanted), applied(a_topic()), able)
    assert [planned.validated for planned in plan.requests] == [
        Validator.CLIENT,
        Validator.NOT_SUPPORTED,
    ]


def base(state: ClusterState) -> str:
    return plan_of(a_desired(a_topic()), state).base.digest


@pytest.mark.parametrize(
    "other",
    [
        with_changes(applied(a_topic()), a_topic_state(configs={"segment.ms": "1"})),
        with_changes(applied(a_topic()), a_topic_state(topic_id="another")),
        with_changes(applied(a_topic()), a_topic_state(partitions=4)),
        with_changes(applied(a_topic()), a_binding()),
        applied(a_topic(), brokers=4),
        applied(a_topic(), brokers=[Broker(id=number, rack="a") for number in (1, 2, 3)]),
        replace(applied(a_topic()), cluster_id="another"),
    ],
)
def test_the_base_digest_tells_states_apart(other: ClusterState) -> None:
    assert base(other) != base(applied(a_topic()))


def test_the_base_digest_does_not_depend_on_order() -> None:
    state = with_changes(applied(a_topic(), an_acl()), a_topic_state("b"), a_topic_state("a"))
    shuffled = replace(
        state,
        brokers=state.brokers[::-1],
        topics=dict(reversed(state.topics.items())),
    )
    assert base(shuffled) == base(state)


def test_the_plan_names_its_registry() -> None:
    found = plan_of(a_desired(a_topic()), applied(a_topic())).base
    assert found.registry == RegistryEnd(topic_id="registry", offset="7")


def test_warnings_of_the_manifests_are_passed_on() -> None:
    warning = Finding(source=None, problem="p", advice="a", severity=Severity.WARNING)
    plan = plan_of(replace(a_desired(a_topic()), warnings=(warning,)), a_cluster())
    assert plan.warnings == (warning,)
    assert not plan.verdict.stops


def test_every_problem_is_collected() -> None:
    """Collect findings; don't stop at the first."""
    desired = a_desired(
        a_topic("a", partitions=1),
        a_topic("b", replication_factor=9),
        a_topic("c", delete_records_before={0: 1}),
        an_acl(),
    )
    plan = plan_of(desired, applied(a_topic("a")))
    assert len(plan.findings) == 3
    assert [change.address for change in plan.changes] == [an_acl().address]
    assert plan.verdict.exit is ExitCode.ERROR


def test_a_finding_outranks_a_refusal_and_both_are_listed() -> None:
    desired = a_desired(a_topic("a", partitions=1))
    plan = plan_of(desired, applied(a_topic("a"), a_topic("protected")))
    assert plan.verdict.exit is ExitCode.ERROR
    assert [reason.exit for reason in plan.verdict.reasons] == [ExitCode.ERROR, ExitCode.REFUSED]
