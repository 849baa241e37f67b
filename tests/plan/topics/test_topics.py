"""Topics: what is declared against what is there (KIP-201's states, contract §1 and §6)."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from builders import (
    Place,
    a_cluster,
    a_desired,
    a_topic,
    a_topic_state,
    an_owner,
    applied,
    id_of,
    on_cluster,
    only_change,
    plan_of,
    with_changes,
)

from kgitops.apply.effects import check_preconditions
from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker, ClusterState, TopicUsage
from kgitops.model.json.declared import ConfigsPolicy, DesiredTopic
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Drift, FieldChange, Plan

RETENTION = "retention.ms"
MIN_ISR = "min.insync.replicas"


def planned(topic: DesiredTopic, current: ClusterState) -> Change:
    return only_change(plan_of(a_desired(topic), current))


def states(change: Change) -> list[RequestedTopicState]:
    """The requested state of every step."""
    requests = [planned.request for planned in change.requests]
    return [r.requested_state for r in requests if isinstance(r, req.AlterTopicRequest)]


def steps(change: Change) -> list[str]:
    return [
        request.request.step.value
        if isinstance(request.request, req.AlterTopicRequest)
        else "records"
        for request in change.requests
    ]


def field(change: Change, path: str) -> FieldChange:
    (found,) = [field for field in change.fields if field.path == path]
    return found


def failed(topic: DesiredTopic, current: ClusterState) -> str:
    """The one finding of a plan that changes nothing."""
    plan = plan_of(a_desired(topic), current)
    assert plan.verdict.exit is ExitCode.ERROR
    assert not plan.changes
    (finding,) = plan.findings
    return str(finding)


# Create


def test_a_create_asks_for_what_is_declared_and_nothing_else() -> None:
    """P201-24, 30, 33: never null, merged configs equal the requested, not marked for deletion."""
    topic = a_topic(partitions=4, replication_factor=3, configs={RETENTION: "1000"})
    (request,) = planned(topic, a_cluster()).requests
    state = request.request.requested_state
    assert isinstance(request.request, req.CreateTopicRequest)
    assert (state.num_partitions, state.replication_factor) == (4, 3)
    assert state.configs == state.requested_configs == {RETENTION: "1000"}
    assert state.topic_id is None
    assert not state.marked_for_deletion
    assert not state.internal
    assert not request.expects.exists


@pytest.mark.parametrize(
    ("topic", "generated"),
    [(a_topic(), True), (a_topic(assignment=((1, 2), (2, 3))), False)],
)
def test_an_assignment_is_marked_as_generated_or_not(topic: DesiredTopic, generated: bool) -> None:
    """P201-23."""
    (request,) = planned(topic, a_cluster()).requests
    state = request.request.requested_state
    assert state.generated_replica_assignments is generated
    assert topic.assignment in (None, state.assignment)


def test_a_topic_that_does_not_fit_on_the_brokers_is_an_error() -> None:
    finding = failed(a_topic(replication_factor=3), a_cluster(brokers=2))
    assert "can't be placed" in finding
    assert str(Place("orders.yaml").at("spec", "replicationFactor")) in finding


def test_an_assignment_to_an_unknown_broker_is_an_error() -> None:
    finding = failed(a_topic(assignment=((1, 9),)), a_cluster())
    assert "unknown brokers 9" in finding


def test_a_name_that_collides_with_a_topic_on_the_cluster_is_an_error() -> None:
    """A4-11: metrics read '.' and '_' alike."""
    assert "collides with the topic 'my_topic'" in failed(
        a_topic("my.topic"), a_cluster(a_topic_state("my_topic"))
    )


def test_a_topic_is_placed_over_racks() -> None:
    brokers = [Broker(id=number, rack="ab"[number % 2]) for number in range(1, 5)]
    (request,) = planned(a_topic(partitions=8), a_cluster(brokers=brokers)).requests
    for replicas in request.request.requested_state.assignment:
        assert {number % 2 for number in replicas} == {0, 1}


# Configs


def test_a_config_change_carries_the_state_that_it_leaves() -> None:
    """P201-25, 26: configs is the whole state afterwards, requested_configs what was asked for."""
    topic = a_topic(configs={"b": "3", "c": "4"})
    current = applied(a_topic(configs={"b": "2"}))
    current = with_changes(current, a_topic_state(configs={"a": "1", "b": "2"}))
    change = planned(topic, current)
    (state,) = states(change)
    assert steps(change) == ["configs"]
    assert state.configs == {"a": "1", "b": "3", "c": "4"}
    assert state.requested_configs == {"b": "3", "c": "4"}
    assert not state.generated_replica_assignments
    assert change.preconditions[0].fields == {"configs.b": "2", "configs.c": None}
    assert current.topics["orders"].configs == {"a": "1", "b": "2"}


def test_a_key_that_leaves_the_document_is_removed_and_shows_what_will_apply() -> None:
    """P201-27: the request carries it as None, the state afterwards lacks it."""
    change = planned(a_topic(), applied(a_topic(configs={RETENTION: "1000"})))
    (state,) = states(change)
    assert state.requested_configs == {RETENTION: None}
    assert state.configs == {}
    removed = field(change, f"configs.{RETENTION}")
    assert (removed.before, removed.after) == ("1000", None)
    assert removed.note == "604800000 will apply (Kafka default)"


def test_the_value_that_will_apply_may_come_from_the_cluster() -> None:
    current = applied(a_topic(configs={RETENTION: "1000"}), broker_defaults={RETENTION: "5"})
    removed = field(planned(a_topic(), current), f"configs.{RETENTION}")
    assert removed.note == "5 will apply (cluster default)"
    assert removed.risk is risks.RETENTION_SHRINK


def test_a_new_key_shows_what_applied_before() -> None:
    added = field(
        planned(a_topic(configs={RETENTION: "1000"}), applied(a_topic())), f"configs.{RETENTION}"
    )
    assert added.note == "604800000 applied before (Kafka default)"


@pytest.mark.parametrize(
    ("key", "declared", "found"),
    [
        (RETENTION, "604800000", " 604800000"),
        ("preallocate", "true", "TRUE"),
        ("cleanup.policy", "compact,delete", "delete, compact"),
        ("min.cleanable.dirty.ratio", "0.5", "0.50"),
    ],
)
def test_another_spelling_of_the_same_value_is_no_difference(
    key: str, declared: str, found: str
) -> None:
    current = with_changes(
        applied(a_topic(configs={key: declared})), a_topic_state(configs={key: found})
    )
    plan = plan_of(a_desired(a_topic(configs={key: declared})), current)
    assert not plan.changes
    assert not plan.drift


def test_an_undeclared_key_is_drift_and_left_alone() -> None:
    current = with_changes(applied(a_topic()), a_topic_state(configs={"segment.ms": "5"}))
    plan = plan_of(a_desired(a_topic()), current)
    assert not plan.changes
    (row,) = plan.drift
    assert (row.path, row.found, row.rule) == ("configs.segment.ms", "5", "undeclared")


def test_an_undeclared_key_is_left_alone_also_at_adoption() -> None:
    plan = plan_of(a_desired(a_topic()), a_cluster(a_topic_state(configs={"segment.ms": "5"})))
    change = only_change(plan)
    assert change.actions == (Action.ADOPT,)
    assert change.after is not None
    assert change.after["configs"] == {"segment.ms": "5"}
    assert [row.rule for row in plan.drift] == ["undeclared"]


@pytest.mark.parametrize("managed", [True, False], ids=["managed", "adopted"])
def test_the_exact_policy_removes_undeclared_keys(managed: bool) -> None:
    topic = a_topic(configs_policy=ConfigsPolicy.EXACT)
    state = a_topic_state(configs={"segment.ms": "5"})
    current = with_changes(applied(topic), state) if managed else a_cluster(state)
    (left,) = states(planned(topic, current))
    assert left.requested_configs == {"segment.ms": None}


@pytest.mark.parametrize("policy", ConfigsPolicy)
def test_throttles_that_others_set_are_never_touched_or_even_named(policy: ConfigsPolicy) -> None:
    topic = a_topic(configs_policy=policy)
    throttled = {
        "leader.replication.throttled.replicas": "0:1",
        "follower.replication.throttled.replicas": "*",
    }
    plan = plan_of(a_desired(topic), with_changes(applied(topic), a_topic_state(configs=throttled)))
    assert not plan.changes
    assert not plan.drift


@pytest.mark.parametrize(
    ("last", "found", "declared", "rule"),
    [
        ("1", "2", "1", "restored"),
        ("1", None, "1", "restored"),
        ("1", "2", "2", "accepted"),
        ("1", "2", None, "restored"),
        ("1", None, None, "accepted"),
        (None, "2", None, "undeclared"),
    ],
)
def test_drift_says_what_becomes_of_it(
    last: str | None, found: str | None, declared: str | None, rule: str
) -> None:
    def configs(value: str | None) -> dict[str, str]:
        return {} if value is None else {RETENTION: value}

    current = with_changes(
        applied(a_topic(configs=configs(last))), a_topic_state(configs=configs(found))
    )
    plan = plan_of(a_desired(a_topic(configs=configs(declared))), current)
    expected = Drift(
        address="topic/orders",
        path=f"configs.{RETENTION}",
        last_applied=last,
        found=found,
        rule=rule,
    )
    assert plan.drift == (expected,)
    assert bool(plan.requests) is (rule == "restored")


def test_drift_that_the_document_accepts_is_remembered() -> None:
    current = with_changes(
        applied(a_topic(configs={RETENTION: "1"})), a_topic_state(configs={RETENTION: "2"})
    )
    change = planned(a_topic(configs={RETENTION: "2"}), current)
    assert change.requests == ()
    assert change.risks == (risks.REGISTRY_ONLY,)
    assert change.owner_after == an_owner(a_topic(configs={RETENTION: "2"}))


def test_configs_that_do_not_go_together_are_an_error_whoever_set_them() -> None:
    """LogConfig.validate looks at the whole: undeclared keys and the brokers' defaults count."""
    low = a_topic(configs={"max.compaction.lag.ms": "5"})
    lag = {"min.compaction.lag.ms": "9"}
    finding = failed(low, with_changes(applied(a_topic()), a_topic_state(configs=lag)))
    assert finding.startswith(
        str(Place("orders.yaml").at("spec", "configs", "min.compaction.lag.ms"))
    )
    assert "more than max.compaction.lag.ms, which is 5" in finding
    assert "more than max" in failed(low, applied(a_topic(), broker_defaults=lag))
    assert "more than max" in failed(low, a_cluster(broker_defaults=lag))


def test_configs_that_nobody_changes_are_not_judged() -> None:
    """What stands on the cluster stands; only a request would be refused."""
    configs = {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"}
    plan = plan_of(a_desired(a_topic()), a_cluster(a_topic_state(configs=configs)))
    assert only_change(plan).actions == (Action.ADOPT,)


def test_tiered_storage_can_not_be_turned_off_while_what_it_holds_must_stay() -> None:
    tiered = {"remote.storage.enable": "true"}
    assert "remote.log.delete.on.disable=true" in failed(
        a_topic(), applied(a_topic(configs=tiered))
    )


# Partitions and replicas


def test_more_partitions_keep_the_old_ones_where_they_are() -> None:
    """P201-31, A4-71: the total, with old and new partitions."""
    change = planned(a_topic(partitions=5), applied(a_topic(partitions=3)))
    (state,) = states(change)
    assert steps(change) == ["partitions"]
    assert state.num_partitions == 5
    assert state.assignment[:3] == a_topic_state().assignment
    assert state.generated_replica_assignments
    assert state.requested_configs == {}
    assert change.preconditions[0].fields == {"partitions": "3"}
    assert field(change, "partitions").risk is risks.PARTITIONS_UP
    assert risks.DISK_GROWTH in change.risks


WEEK, DAY = "604800000", "86400000"


@pytest.mark.parametrize(
    ("before", "after", "grows"),
    [
        ({"retention.ms": WEEK}, {"retention.ms": DAY}, False),
        ({}, {"retention.ms": DAY}, False),
        ({"retention.ms": "-1"}, {"retention.ms": DAY}, False),
        ({"retention.bytes": "500"}, {"retention.bytes": "299"}, False),
        ({"retention.bytes": "500"}, {"retention.bytes": "300"}, True),
        ({"retention.ms": WEEK}, {"retention.ms": WEEK}, True),
        ({"retention.ms": DAY}, {"retention.ms": WEEK}, True),
        ({"retention.ms": WEEK}, {"retention.ms": DAY, "retention.bytes": "300"}, False),
        ({"retention.ms": WEEK, "retention.bytes": "500"}, {"retention.ms": DAY}, True),
        (
            {"retention.ms": WEEK, "retention.bytes": "500"},
            {"retention.ms": DAY, "retention.bytes": "500"},
            True,
        ),
        *(
            (more | {"retention.ms": WEEK}, more | {"retention.ms": DAY}, True)
            for more in (
                {"cleanup.policy": "compact,delete"},
                {"cleanup.policy": "compact"},
                {"cleanup.policy": ""},
                {"remote.storage.enable": "true"},
            )
        ),
    ],
)
def test_more_partitions_with_a_shorter_retention_are_no_growth(
    before: dict[str, str], after: dict[str, str], *, grows: bool
) -> None:
    """KG133 says that brokers may keep more; retention.bytes limits each partition."""
    change = planned(
        a_topic(partitions=5, configs=after), applied(a_topic(partitions=3, configs=before))
    )
    assert risks.PARTITIONS_UP in change.risks
    assert (risks.DISK_GROWTH in change.risks) is grows


def test_more_replicas_and_partitions_may_outweigh_a_shorter_retention() -> None:
    assignment = ((1, 2, 3),) * 4
    change = planned(
        a_topic(assignment=assignment, configs={"retention.ms": "500"}),
        applied(a_topic(partitions=3, configs={"retention.ms": "700"})),
    )
    assert {risks.PARTITIONS_UP, risks.REPLICATION_UP, risks.DISK_GROWTH} <= {*change.risks}


def test_fewer_partitions_are_an_error_that_says_what_to_do() -> None:
    """A4-71: never a deletion and a creation in silence."""
    finding = failed(a_topic(partitions=2), applied(a_topic(partitions=3)))
    assert finding.startswith(str(Place("orders.yaml").at("spec", "partitions")))
    assert "can't shrink from 3 to 2" in finding
    assert "new topic" in finding
    assert finding.endswith("--exclude topic/orders plans the other documents")


def test_fewer_assignments_are_an_error_at_the_assignments() -> None:
    finding = failed(a_topic(assignment=((1, 2),)), applied(a_topic(partitions=3)))
    assert finding.startswith(str(Place("orders.yaml").at("spec", "assignments")))


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (1, 3), (3, 1)])
def test_another_replication_factor_moves_as_few_replicas_as_can_be(
    before: int, after: int
) -> None:
    topic = a_topic(partitions=6, replication_factor=after)
    current = applied(a_topic(partitions=6, replication_factor=before), brokers=5)
    (state,) = states(planned(topic, current))
    for old, new in zip(current.topics["orders"].assignment, state.assignment, strict=True):
        assert len(new) == after
        assert len(set(old) & set(new)) == min(before, after)
        assert new[0] == old[0]


def test_where_replicas_stand_is_nobodys_business_if_only_their_number_is_declared() -> None:
    current = with_changes(applied(a_topic()), a_topic_state(assignment=((3, 1), (3, 2), (3, 1))))
    assert not plan_of(a_desired(a_topic()), current).changes


def test_a_replica_on_a_broker_that_is_gone_is_not_moved_unasked() -> None:
    state = a_topic_state(assignment=((1, 9), (2, 3), (3, 1)))
    assert not plan_of(a_desired(a_topic()), with_changes(applied(a_topic()), state)).changes


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (((1, 3), (2, 3)), risks.REPLICAS_MOVE),
        (((2, 1), (2, 3)), risks.LEADER_ORDER),
        (((1, 2, 3), (2, 3, 1)), risks.REPLICATION_UP),
        (((1,), (2,)), risks.REPLICATION_DOWN),
    ],
)
def test_declared_assignments_are_made_exactly_so(
    wanted: tuple[tuple[int, ...], ...], code: risks.Risk
) -> None:
    """A4-44: the order counts, the first is the preferred leader."""
    current = applied(a_topic(assignment=((1, 2), (2, 3))))
    change = planned(a_topic(assignment=wanted), current)
    (state,) = states(change)
    assert steps(change) == ["replicas"]
    assert state.assignment == wanted
    assert not state.generated_replica_assignments
    assert code in change.risks
    assert change.preconditions[0].fields == {"partitions": "2", "assignments": "[[1,2],[2,3]]"}


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("declared", [True, False], ids=["assignments", "numbers"])
def test_new_partitions_first_get_as_many_replicas_as_partition_0_has(
    before: int, after: int, declared: bool
) -> None:
    """A4-72: Kafka refuses new partitions with another number; the replicas step then follows."""
    if declared:
        wanted = a_topic(assignment=tuple((n, n + 1, n + 2)[:after] for n in (1, 2, 3)))
    else:
        wanted = a_topic(partitions=3, replication_factor=after)
    current = applied(a_topic(partitions=1, replication_factor=before), brokers=5)
    change = planned(wanted, current)
    assert steps(change) == ["partitions", "replicas"]
    grown, final = states(change)
    assert {len(replicas) for replicas in grown.assignment} == {before}
    assert {len(replicas) for replicas in final.assignment} == {after}
    assert wanted.assignment in (None, final.assignment)


def test_the_replication_factor_is_that_of_partition_0() -> None:
    """P201-14; partitions that differ from it are brought to what is declared."""
    uneven = a_topic_state(assignment=((1, 2, 3), (2, 3)))
    assert uneven.replication_factor == 3
    topic = a_topic(partitions=2, replication_factor=3)
    (state,) = states(planned(topic, with_changes(applied(topic), uneven)))
    assert state.assignment == ((1, 2, 3), (2, 3, 1))


def test_replicas_that_are_being_reassigned_are_not_moved_again() -> None:
    current = with_changes(applied(a_topic()), a_topic_state(reassigning=True))
    assert "being reassigned already" in failed(a_topic(replication_factor=3), current)


@pytest.mark.parametrize(
    "topic", [a_topic(), a_topic(configs={RETENTION: "1"}), a_topic(partitions=4)]
)
def test_a_running_reassignment_is_no_obstacle_to_what_moves_nothing(topic: DesiredTopic) -> None:
    current = with_changes(applied(a_topic()), a_topic_state(reassigning=True))
    assert plan_of(a_desired(topic), current).verdict.stops is False


@pytest.mark.parametrize(
    ("last", "found", "declared", "rule"),
    [(3, 6, 6, "accepted"), (3, 4, 5, "restored"), (3, 6, 3, "stays"), (3, 6, 5, "stays")],
)
def test_partitions_that_others_added_are_drift(
    last: int, found: int, declared: int, rule: str
) -> None:
    current = with_changes(applied(a_topic(partitions=last)), a_topic_state(partitions=found))
    (row,) = plan_of(a_desired(a_topic(partitions=declared)), current).drift
    assert (row.path, row.last_applied, row.found, row.rule) == (
        "partitions", str(last), str(found), rule,
    )  # fmt: skip


def test_replicas_that_others_moved_are_drift_where_assignments_are_declared() -> None:
    topic = a_topic(assignment=((1, 2), (2, 3)))
    current = with_changes(applied(topic), a_topic_state(assignment=((1, 3), (2, 3))))
    plan = plan_of(a_desired(topic), current)
    assert [(row.path, row.rule) for row in plan.drift] == [("assignments", "restored")]
    assert states(only_change(plan))[0].assignment == topic.assignment


def test_a_topic_that_is_being_deleted_can_not_be_planned() -> None:
    current = with_changes(applied(a_topic()), a_topic_state(marked_for_deletion=True))
    assert "being deleted" in failed(a_topic(), current)


# Steps


def everything_at_once() -> tuple[DesiredTopic, ClusterState]:
    wanted = a_topic(
        partitions=5,
        replication_factor=3,
        configs={RETENTION: "1", MIN_ISR: "2"},
        delete_records_before={0: 5},
    )
    usage = {"orders": TopicUsage(log_start_offsets=(0, 0, 0), high_watermarks=(9, 9, 9))}
    return wanted, applied(a_topic(configs={"segment.ms": "7"}), usage=usage)


def test_an_alteration_is_one_request_per_step_in_contract_order() -> None:
    """P201-11: each state builds on the step before, and on no later one."""
    change = planned(*everything_at_once())
    assert steps(change) == ["partitions", "replicas", "configs", "records"]
    grown, moved, configured = states(change)
    assert grown.configs == moved.configs == {"segment.ms": "7"}
    assert moved.num_partitions == grown.num_partitions == 5
    assert grown.replication_factor == 2
    assert configured.assignment == moved.assignment
    assert configured.configs == {RETENTION: "1", MIN_ISR: "2"}
    assert configured.requested_configs == {RETENTION: "1", MIN_ISR: "2", "segment.ms": None}
    assert moved.requested_configs == grown.requested_configs == {}


def test_each_step_depends_on_the_one_before() -> None:
    requests = planned(*everything_at_once()).requests
    assert requests[0].depends_on == ()
    for before, after in pairwise(requests):
        assert after.depends_on == (before.id,)


def test_each_step_expects_what_the_one_before_leaves() -> None:
    """Contract §6: the precondition for the first, the previous result after that."""
    change = planned(*everything_at_once())
    first, grown, moved, configured = [planned.expects for planned in change.requests]
    assert (first,) == change.preconditions
    assert first.fields["partitions"] == "3"
    assert grown.fields["partitions"] == "5"
    assert moved.fields["assignments"] != grown.fields["assignments"]
    assert moved.fields[f"configs.{MIN_ISR}"] is None
    assert configured.fields[f"configs.{MIN_ISR}"] == "2"
    assert configured.fields["configs.segment.ms"] is None


@pytest.mark.parametrize(
    ("before", "after", "min_isr", "expected"),
    [
        (3, 2, ("2", "1"), ["configs", "replicas"]),
        (3, 2, ("2", None), ["configs", "replicas"]),
        (2, 3, ("1", "2"), ["replicas", "configs"]),
        (2, 3, ("2", "1"), ["replicas", "configs"]),
    ],
)
def test_min_insync_replicas_goes_first_only_where_replicas_become_fewer(
    before: int, after: int, min_isr: tuple[str, str | None], expected: list[str]
) -> None:
    """With fewer replicas than it demands no producer with acks=all gets through."""
    old, new = ({MIN_ISR: value} if value else {} for value in min_isr)
    current = applied(a_topic(replication_factor=before, configs=old))
    change = planned(a_topic(replication_factor=after, configs=new), current)
    assert steps(change) == expected


def test_configs_are_split_where_only_one_of_them_must_come_first() -> None:
    current = applied(a_topic(replication_factor=3, configs={MIN_ISR: "2"}))
    change = planned(a_topic(configs={MIN_ISR: "1", RETENTION: "1"}), current)
    assert steps(change) == ["configs", "replicas", "configs"]
    first, _, last = states(change)
    assert first.requested_configs == {MIN_ISR: "1"}
    assert last.requested_configs == {RETENTION: "1"}
    assert last.configs == {MIN_ISR: "1", RETENTION: "1"}


def test_every_request_names_the_topic_id_that_the_plan_saw() -> None:
    ids = {planned.request.topic_id for planned in planned(*everything_at_once()).requests}
    assert ids == {id_of("orders")}


def test_what_others_change_elsewhere_does_not_break_the_preconditions() -> None:
    """Only the fields that the change reads or writes, and the owner (contract §6)."""
    current = applied(a_topic())
    change = planned(a_topic(configs={RETENTION: "1"}), current)
    elsewhere = with_changes(
        current, a_topic_state(partitions=9, configs={"segment.ms": "1"}), a_topic_state("new")
    )
    assert check_preconditions(change.preconditions, elsewhere) == ()
    here = with_changes(current, a_topic_state(configs={RETENTION: "7"}))
    assert len(check_preconditions(change.preconditions, here)) == 1


# min.insync.replicas that leaves no broker


@pytest.mark.parametrize(
    ("factor", "declared", "default", "unreachable"),
    [
        (3, "3", None, True),
        (3, "2", None, False),
        (1, "1", None, False),
        (1, "2", None, True),
        (2, None, "2", True),
        (3, None, "2", False),
    ],
)
@pytest.mark.parametrize("exists", [True, False], ids=["altered", "created"])
def test_min_insync_replicas_that_leaves_no_broker_to_lose_is_named(
    factor: int, declared: str | None, default: str | None, unreachable: bool, exists: bool
) -> None:
    """Whoever set it: the effective value counts."""
    topic = a_topic(replication_factor=factor, configs={MIN_ISR: declared} if declared else {})
    other = a_topic(replication_factor=3 if factor != 3 else 2)
    defaults = {MIN_ISR: default} if default else {}
    current = (
        applied(other, broker_defaults=defaults) if exists else a_cluster(broker_defaults=defaults)
    )
    change = planned(topic, current)
    assert (risks.MIN_ISR_UNREACHABLE in change.risks) is unreachable


def test_a_change_of_something_else_does_not_name_it_again() -> None:
    low = {MIN_ISR: "2"}
    change = planned(a_topic(configs={**low, RETENTION: "1"}), applied(a_topic(configs=low)))
    assert risks.MIN_ISR_UNREACHABLE not in change.risks


# deleteRecordsBefore


def with_records(
    topic: DesiredTopic, start: Iterable[int | None], end: Iterable[int | None]
) -> ClusterState:
    usage = TopicUsage(
        log_start_offsets=tuple(start), high_watermarks=tuple(end), size_bytes=(10, 10, 10)
    )
    return applied(topic, usage={topic.name: usage})


def records(plan: Plan) -> dict[int, int]:
    change = only_change(plan)
    assert isinstance(change.requests[-1].request, req.DeleteRecordsRequest)
    return dict(change.requests[-1].request.deleted_message_offsets)


def test_only_partitions_with_records_to_delete_are_named() -> None:
    """P201-60."""
    topic = a_topic(delete_records_before={0: 5, 1: 5, 2: 5})
    plan = plan_of(a_desired(topic), with_records(a_topic(), (0, 5, 7), (9, 9, 9)))
    assert records(plan) == {0: 5}
    change = only_change(plan)
    assert change.risk is risks.RECORDS_DELETE
    assert change.impact == {
        "partitions": 3,
        "bytes": "30",
        "records": "15",
        "records_deleted": "5",
    }


def test_records_that_are_gone_already_need_no_request() -> None:
    topic = a_topic(delete_records_before={0: 5})
    assert not plan_of(a_desired(topic), with_records(topic, (5, 0, 0), (9, 9, 9))).changes


def test_an_offset_past_the_end_is_an_error() -> None:
    """A4-81: the brokers would answer OFFSET_OUT_OF_RANGE."""
    topic = a_topic(delete_records_before={1: 10})
    finding = failed(topic, with_records(a_topic(), (0, 0, 0), (9, 9, 9)))
    assert finding.startswith(str(Place("orders.yaml").at("spec", "deleteRecordsBefore", 1)))
    assert "at most 9" in finding


def test_a_partition_that_the_plan_adds_has_no_records() -> None:
    topic = a_topic(partitions=4, delete_records_before={3: 1})
    finding = failed(topic, with_records(a_topic(), (0, 0, 0), (9, 9, 9)))
    assert "ends at offset 0" in finding


@pytest.mark.parametrize(
    ("before", "after", "fine"),
    [("compact", "compact", False), ("compact", "delete", True), ("delete", "compact", False)],
)
def test_records_can_only_be_deleted_where_the_cleanup_policy_will_have_delete(
    before: str, after: str, fine: bool
) -> None:
    """A4-81: else the brokers answer POLICY_VIOLATION though no policy class is involved."""
    current = with_records(a_topic(configs={"cleanup.policy": before}), (0, 0, 0), (9, 9, 9))
    topic = a_topic(configs={"cleanup.policy": after}, delete_records_before={0: 5})
    plan = plan_of(a_desired(topic), current)
    assert plan.verdict.stops is not fine


def test_offsets_that_can_not_be_read_are_deleted_once() -> None:
    """Log start offsets never go back, so what was applied to this topic id is done."""
    topic = a_topic(delete_records_before={0: 5})
    assert records(plan_of(a_desired(topic), applied(a_topic()))) == {0: 5}
    other_partitions = with_records(a_topic(), (), ())
    unknown = plan_of(a_desired(topic), other_partitions)
    assert records(unknown) == {0: 5}
    assert "records_deleted" not in only_change(unknown).impact
    assert not plan_of(a_desired(topic), applied(topic)).changes
    further = a_topic(delete_records_before={0: 6})
    assert records(plan_of(a_desired(further), applied(topic))) == {0: 6}


def test_offsets_are_bound_to_the_topic_id_they_were_applied_to() -> None:
    topic = a_topic(delete_records_before={0: 5})
    current = with_changes(applied(topic), a_topic_state(topic_id="made-anew"))
    plan = plan_of(a_desired(topic), current)
    assert plan.verdict.exit is ExitCode.REFUSED
    assert not plan.changes
    sentence = plan.verdict.reasons[0].sentence
    assert id_of("orders") in sentence
    assert "made-anew" in sentence


def test_offsets_are_refused_when_the_topic_they_were_applied_to_is_gone() -> None:
    topic = a_topic(delete_records_before={0: 5})
    current = with_changes(applied(topic), gone=[on_cluster(topic)])
    plan = plan_of(a_desired(topic), current)
    assert plan.verdict.exit is ExitCode.REFUSED
    assert not plan.changes


def test_offsets_may_be_written_anew_for_the_new_topic() -> None:
    """Removed, applied, then written again."""
    renewed = with_changes(applied(a_topic()), a_topic_state(topic_id="made-anew"))
    adopted = only_change(plan_of(a_desired(a_topic()), renewed))
    assert adopted.owner_after is not None
    current = a_cluster(
        a_topic_state(topic_id="made-anew"), owners={"topic/orders": adopted.owner_after}
    )
    topic = a_topic(delete_records_before={0: 5})
    assert records(plan_of(a_desired(topic), current)) == {0: 5}


def test_a_topic_that_is_to_be_made_has_no_records_to_delete() -> None:
    assert "does not exist" in failed(a_topic(delete_records_before={0: 5}), a_cluster())


# Impact


@pytest.mark.parametrize(
    ("usage", "impact"),
    [
        (None, {"partitions": 3}),
        (
            TopicUsage(
                log_start_offsets=(0, 1, 2),
                high_watermarks=(5, 5, 5),
                size_bytes=(1, 2, 3),
                active_groups=("readers",),
            ),
            {
                "partitions": 3,
                "bytes": "6",
                "records": "12",
                "active_groups": ["readers"],
                "bytes_expected": "0",
            },
        ),
        (
            TopicUsage(
                log_start_offsets=(0, None, 2), high_watermarks=(5, 5, 5), size_bytes=(1, 2)
            ),
            {"partitions": 3},
        ),
    ],
    ids=["unknown", "known", "known in part"],
)
def test_the_blast_radius_is_told_where_all_of_it_is_known(
    usage: TopicUsage | None, impact: dict[str, object]
) -> None:
    current = applied(a_topic(), usage={"orders": usage} if usage else {})
    assert planned(a_topic(configs={RETENTION: "1"}), current).impact == impact


def test_an_alteration_never_deletes_or_makes_a_topic() -> None:
    """Replace never happens to a topic."""
    apis = {type(planned.request) for planned in planned(*everything_at_once()).requests}
    assert apis == {req.AlterTopicRequest, req.DeleteRecordsRequest}
    assert {req.AlterStep(step) for step in steps(planned(*everything_at_once()))[:-1]} == set(
        req.AlterStep
    )
