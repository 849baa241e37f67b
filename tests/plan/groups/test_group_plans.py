"""Consumer groups of the cluster: their configs, resets that are made once, their deletion."""

from collections.abc import Mapping

import pytest
from builders import (
    UID,
    a_cluster,
    a_consumer_group,
    a_desired,
    a_tombstone,
    a_topic,
    a_topic_state,
    an_owner,
    change_of,
    id_of,
    only_change,
    plan_of,
)
from msgspec.structs import replace

from kgitops.apply.effects import check_preconditions
from kgitops.model.cluster_state import ClusterState, TopicUsage
from kgitops.model.json.declared import DeletionPolicy, DesiredGroup, OffsetReset
from kgitops.model.requests import (
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    DeleteConsumerGroupRequest,
)
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup, TopicOffsets
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Drift

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
OTHER = a_topic("else")
NOON_MS = 1_793_534_400_000
EARLIEST = OffsetReset(version="1", position="earliest", topics=("orders",))


def cluster(
    *groups: FoundGroup,
    owned: tuple[DesiredGroup, ...] = (),
    since: Mapping[tuple[str, int], int] | None = None,
) -> ClusterState:
    """A cluster whose topic ``orders`` has two partitions with the offsets 10…20 and 0…5."""
    usage = TopicUsage(log_start_offsets=(10, 0), high_watermarks=(20, 5))
    state = a_cluster(
        a_topic_state("orders", partitions=2),
        owners={group.address: an_owner(group) for group in owned},
        usage={"orders": usage},
    )
    return replace(state.with_objects(groups), offsets_since={NOON_MS: since or {}})


def committed(*offsets: int, active: bool = False, **configs: str) -> FoundGroup:
    """The group ``billing``, with offsets for the first partitions."""
    return FoundGroup(
        name="billing",
        known=True,
        active=active,
        offsets={("orders", partition): offset for partition, offset in enumerate(offsets)},
        configs={key.replace("_", "."): value for key, value in configs.items()},
    )


def reset_of(request: object) -> dict[int, int]:
    """The offsets that a request commits for ``orders``."""
    assert isinstance(request, AlterConsumerGroupOffsetsRequest)
    (topic,) = request.topics
    assert (request.group, topic.topic, topic.topic_id) == ("billing", "orders", id_of("orders"))
    return dict(topic.offsets)


def test_configs_are_set_before_there_is_a_group() -> None:
    group = a_consumer_group(configs={SESSION: "50000"})
    change = only_change(plan_of(a_desired(group), cluster()))
    assert change.actions == (Action.CREATE,)
    (planned,) = change.requests
    assert planned.request == AlterConfigResourceRequest(
        resource_type=ConfigResourceType.GROUP, resource_name="billing", configs={SESSION: "50000"}
    )
    assert change.risk is risks.GROUP_CONFIG


def test_configs_in_another_spelling_are_no_difference() -> None:
    group = a_consumer_group(configs={SESSION: "50000"})
    state = cluster(committed(**{SESSION.replace(".", "_"): " 050000"}), owned=(group,))
    assert not plan_of(a_desired(group), state).changes


def test_only_owned_configs_are_removed() -> None:
    before = a_consumer_group(configs={SESSION: "50000"})
    held = {SESSION.replace(".", "_"): "50000", HEARTBEAT.replace(".", "_"): "7000"}
    state = cluster(committed(**held), owned=(before,))
    plan = plan_of(a_desired(a_consumer_group()), state)
    (planned,) = only_change(plan).requests
    assert isinstance(planned.request, AlterConfigResourceRequest)
    assert planned.request.configs == {SESSION: None}
    assert plan.drift == (
        Drift(
            address="group/billing",
            path=f"configs.{HEARTBEAT}",
            last_applied=None,
            found="7000",
            rule="undeclared",
        ),
    )


def test_a_group_that_exists_is_adopted_as_it_is() -> None:
    change = only_change(plan_of(a_desired(a_consumer_group()), cluster(committed(3))))
    assert (change.actions, change.requests) == ((Action.ADOPT,), ())
    assert change.risk is risks.GROUP_ADOPT


def test_a_managed_group_that_ended_by_itself_is_no_change() -> None:
    group = a_consumer_group()
    plan = plan_of(a_desired(group), cluster(owned=(group,)))
    assert (plan.changes, plan.drift) == ((), ())


def test_configs_that_are_gone_are_missing() -> None:
    group = a_consumer_group(configs={SESSION: "50000"})
    plan = plan_of(a_desired(group), cluster(owned=(group,)))
    assert [row.rule for row in plan.drift] == ["missing"]
    assert only_change(plan).actions == (Action.CREATE,)


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        (EARLIEST, {0: 10, 1: 0}),
        (OffsetReset(version="1", position="latest", topics=("orders",)), {0: 20, 1: 5}),
        # Without a record of that time or later, a group goes to the end.
        (OffsetReset(version="1", timestamp_ms=NOON_MS, topics=("orders",)), {0: 17, 1: 5}),
        (OffsetReset(version="1", offsets={"orders": {1: 4}}), {1: 4}),
    ],
    ids=["earliest", "latest", "timestamp", "offsets"],
)
def test_a_reset_is_resolved_to_offsets(reset: OffsetReset, expected: dict[int, int]) -> None:
    state = cluster(since={("orders", 0): 17})
    change = only_change(plan_of(a_desired(a_consumer_group(reset=reset)), state))
    (planned,) = change.requests
    assert reset_of(planned.request) == expected
    assert {field.path: field.after for field in change.fields} == {
        f"offsets.orders.{partition}": str(offset) for partition, offset in expected.items()
    }
    assert change.risk is risks.OFFSETS_SET


def test_a_reviewer_sees_what_is_read_again_and_what_is_skipped() -> None:
    back = a_consumer_group(reset=OffsetReset(version="1", offsets={"orders": {0: 11, 1: 2}}))
    change = only_change(plan_of(a_desired(back), cluster(committed(15, 1))))
    shown = {field.path: (field.before, field.after, field.risk) for field in change.fields}
    assert shown == {
        "offsets.orders.0": ("15", "11", risks.OFFSETS_BACK),
        "offsets.orders.1": ("1", "2", risks.OFFSETS_FORWARD),
    }
    notes = [field.note for field in change.fields]
    assert notes == ["at most 4 records are read again", "at most 1 records are skipped"]
    assert change.actions == (Action.ADOPT, Action.UPDATE)
    assert change.risk is risks.OFFSETS_FORWARD


def test_a_reset_is_made_once() -> None:
    group = a_consumer_group(reset=EARLIEST)
    # Its consumers have moved on since.
    assert not plan_of(a_desired(group), cluster(committed(18, 4), owned=(group,))).changes
    again = a_consumer_group(reset=replace(EARLIEST, version="2"))
    change = only_change(plan_of(a_desired(again), cluster(committed(18, 4), owned=(group,))))
    assert reset_of(change.requests[0].request) == {0: 10, 1: 0}


def test_taking_the_reset_out_changes_only_the_record() -> None:
    group = a_consumer_group(reset=EARLIEST)
    change = only_change(
        plan_of(a_desired(a_consumer_group()), cluster(committed(18, 4), owned=(group,)))
    )
    assert (change.actions, change.requests) == ((Action.UPDATE,), ())
    assert change.owner_after is not None
    assert change.owner_after.last_applied["resetOffsets"] is None


def test_offsets_that_are_there_already_are_not_committed() -> None:
    change = only_change(
        plan_of(a_desired(a_consumer_group(reset=EARLIEST)), cluster(committed(10, 3)))
    )
    assert reset_of(change.requests[0].request) == {1: 0}


def test_an_active_group_is_not_reset() -> None:
    state = cluster(committed(12, 1, active=True))
    plan = plan_of(a_desired(a_consumer_group(reset=EARLIEST)), state)
    assert not plan.changes
    assert plan.verdict.exit is ExitCode.ERROR
    assert "has members" in plan.findings[0].problem


def test_configs_of_an_active_group_are_changed() -> None:
    state = cluster(committed(12, 1, active=True))
    plan = plan_of(a_desired(a_consumer_group(configs={SESSION: "50000"})), state)
    assert len(only_change(plan).requests) == 1


@pytest.mark.parametrize(
    ("reset", "problem"),
    [
        (OffsetReset(version="1", offsets={"orders": {0: 9}}), "the offsets 10 to 20, so 9 is out"),
        (OffsetReset(version="1", offsets={"orders": {0: 21}}), "so 21 is out of its range"),
        (OffsetReset(version="1", offsets={"orders": {2: 1}}), "has no partition 2"),
        (replace(EARLIEST, topics=("gone", "orders")), "there is no topic gone"),
    ],
    ids=str,
)
def test_what_can_not_be_resolved_is_refused(reset: OffsetReset, problem: str) -> None:
    plan = plan_of(a_desired(a_consumer_group(reset=reset)), cluster(committed(12, 1)))
    assert not plan.changes
    assert problem in "; ".join(finding.problem for finding in plan.findings)
    assert plan.verdict.exit is ExitCode.ERROR


def test_offsets_that_are_not_known_are_refused() -> None:
    state = replace(cluster(), usage={})
    plan = plan_of(a_desired(a_consumer_group(reset=EARLIEST)), state)
    assert "can't be read" in plan.findings[0].problem


def test_what_was_seen_must_still_hold() -> None:
    state = cluster(committed(12, 1))
    change = only_change(plan_of(a_desired(a_consumer_group(reset=EARLIEST)), state))
    assert not check_preconditions(change.preconditions, state)
    moved = check_preconditions(change.preconditions, cluster(committed(13, 1)))
    assert [str(it) for it in moved] == ["group/billing: offsets.orders.0 was '12' and is '13'"]
    busy = check_preconditions(change.preconditions, cluster(committed(12, 1, active=True)))
    assert [str(it) for it in busy] == ["group/billing: active was 'false' and is 'true'"]


def test_offsets_come_first_and_configs_expect_only_configs() -> None:
    group = a_consumer_group(configs={SESSION: "50000"}, reset=EARLIEST)
    change = only_change(plan_of(a_desired(group), cluster()))
    first, second = change.requests
    assert isinstance(first.request, AlterConsumerGroupOffsetsRequest)
    assert second.depends_on == (first.id,)
    assert second.expects.exists
    assert second.expects.fields == {f"configs.{SESSION}": None}


def test_a_tombstone_deletes_the_group_and_its_own_configs() -> None:
    group = a_consumer_group(configs={SESSION: "50000"})
    held = {SESSION.replace(".", "_"): "50000", HEARTBEAT.replace(".", "_"): "7000"}
    state = cluster(committed(12, **held), owned=(group,))
    change = change_of(plan_of(a_desired(OTHER, a_tombstone(group)), state), group)
    deletion, configs = (planned.request for planned in change.requests)
    assert deletion == DeleteConsumerGroupRequest(group="billing")
    assert isinstance(configs, AlterConfigResourceRequest)
    assert configs.configs == {SESSION: None}
    assert change.actions == (Action.DELETE,)
    assert change.risk is risks.GROUP_DELETE
    assert change.requests[0].expects.fields["active"] == "false"


def test_an_active_group_is_not_deleted() -> None:
    group = a_consumer_group(deletion_policy=DeletionPolicy.DELETE)
    plan = plan_of(a_desired(OTHER), cluster(committed(12, active=True), owned=(group,)))
    assert "has members" in plan.findings[0].problem
    assert not [change for change in plan.changes if change.address == group.address]


@pytest.mark.parametrize("policy", [None, DeletionPolicy.PROTECT])
def test_a_group_is_protected_by_default(policy: DeletionPolicy | None) -> None:
    group = a_consumer_group(deletion_policy=policy)
    plan = plan_of(a_desired(OTHER), cluster(committed(12), owned=(group,)))
    assert plan.verdict.exit is ExitCode.REFUSED
    assert [kept.rule for kept in plan.kept if kept.address == group.address] == ["protected"]


def test_an_orphan_is_forgotten() -> None:
    group = a_consumer_group(deletion_policy=DeletionPolicy.ORPHAN)
    plan = plan_of(a_desired(OTHER), cluster(committed(12), owned=(group,)))
    change = change_of(plan, group)
    assert (change.actions, change.requests) == ((Action.FORGET,), ())


def test_groups_of_others_are_left_alone() -> None:
    theirs = a_consumer_group(deletion_policy=DeletionPolicy.DELETE)
    state = cluster(committed(12))
    assert state.registry is not None
    owners = {theirs.address: an_owner(theirs, project="theirs")}
    registry = replace(state.registry, owners=owners, projects={UID: "payments", "theirs": "t"})
    plan = plan_of(a_desired(OTHER), replace(state, registry=registry))
    assert not [change for change in plan.changes if change.address == theirs.address]
    declared = plan_of(a_desired(theirs), replace(state, registry=registry))
    assert declared.verdict.exit is ExitCode.REFUSED


def test_a_group_of_a_virtual_cluster_is_not_one_of_the_cluster() -> None:
    inside = VirtualCluster(name="emea", groups={"etl": None})
    state = replace(cluster(), virtual_clusters={"emea": inside})
    plan = plan_of(a_desired(a_consumer_group("emea:etl")), state)
    assert "is a group of the virtual cluster emea" in plan.findings[0].problem


def test_topics_of_a_request_are_in_order() -> None:
    reset = OffsetReset(version="1", offsets={"orders": {1: 1, 0: 11}})
    change = only_change(plan_of(a_desired(a_consumer_group(reset=reset)), cluster()))
    (planned,) = change.requests
    assert isinstance(planned.request, AlterConsumerGroupOffsetsRequest)
    offsets = TopicOffsets(topic="orders", topic_id=id_of("orders"), offsets={0: 11, 1: 1})
    assert planned.request.topics == (offsets,)
