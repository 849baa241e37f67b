"""What changes between a plan and its apply without a harm: the planner makes the same again."""

import pytest
from builders import (
    ALL_CAPABILITIES,
    a_binding,
    a_consumer_group,
    a_desired,
    a_topic,
    a_topic_state,
    an_acl,
    applied,
    only_change,
    plan_of,
    with_changes,
)
from msgspec.structs import replace
from plan.groups.test_group_plans import EARLIEST, cluster, committed

from kgitops.apply.rights.decision import check_rights
from kgitops.apply.rights.replan import check_replanned
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState, TopicUsage
from kgitops.model.errors import KgitopsError, StaleError, UntrustedPlanError
from kgitops.model.requests import AlterStep, AlterTopicRequest
from kgitops.plan.document.plan import Plan

RANGES = replace(ALL_CAPABILITIES, host_ranges=True)


def check(plan: Plan, state: ClusterState, desired: DesiredState | None = None) -> None:
    project = (desired or a_desired()).project
    check_rights(plan, plan.changes, state, project)
    check_replanned(plan, state, project, ALL_CAPABILITIES)


def test_a_reassignment_may_have_ended() -> None:
    """The plan waits for it, which does nothing then."""
    running = with_changes(applied(a_topic()), a_topic_state(reassigning=True))
    plan = plan_of(a_desired(a_topic(configs={"min.insync.replicas": "2"})), running)
    steps = [it.request.step for it in only_change(plan).requests
             if isinstance(it.request, AlterTopicRequest)]  # fmt: skip
    assert AlterStep.REPLICAS in steps
    check(plan, running)
    check(plan, with_changes(running, a_topic_state()))


def test_a_topic_may_have_got_partitions_since_its_offsets_were_reset() -> None:
    group = a_consumer_group(reset=EARLIEST)
    state = cluster(committed(15, 3))
    plan = plan_of(a_desired(group), state)
    check(plan, state)
    usage = TopicUsage(log_start_offsets=(10, 0, 0), high_watermarks=(25, 9, 0))
    grown = replace(
        with_changes(state, a_topic_state("orders", partitions=3)), usage={"orders": usage}
    )
    check(plan, grown)


@pytest.mark.parametrize("offset", [-1, 11, 99])
def test_no_other_offset_is_committed_than_could_have_been(offset: int) -> None:
    group = a_consumer_group(reset=EARLIEST)
    state = cluster(committed(15, 3))
    plan = plan_of(a_desired(group), state)
    change = only_change(plan)
    (planned,) = change.requests
    (topic,) = planned.request.topics  # type: ignore[union-attr]
    forged = replace(planned.request, topics=(replace(topic, offsets={0: offset, 1: 0}),))
    requests = (replace(planned, request=forged),)
    with pytest.raises(KgitopsError):
        check(replace(plan, changes=(replace(change, requests=requests),)), state)


def test_brokers_that_match_ranges_are_asked_as_they_were_for_the_plan() -> None:
    """The address lies in the range, so nothing is lost."""
    wide, one = (an_acl(a_binding("User:ana", host=host)) for host in ("10.0.0.0/8", "10.0.0.1"))
    state = applied(wide, one)
    plan = plan_of(a_desired(wide), state, RANGES)
    assert plan.access_losses == ()
    check_replanned(plan, state, a_desired().project, RANGES)
    with pytest.raises(KgitopsError):
        check_replanned(plan, state, a_desired().project, ALL_CAPABILITIES)


def test_access_that_is_lost_is_shown() -> None:
    kept, gone = an_acl(a_binding("User:ana")), an_acl(a_binding("User:bob"))
    state = applied(kept, gone)
    plan = plan_of(a_desired(kept), state)
    assert plan.access_losses
    check(plan, state)
    with pytest.raises(StaleError, match="User:bob would lose more access by now"):
        check(replace(plan, access_losses=()), state)


@pytest.mark.parametrize("records", [[5], "all", {"x": 1}, None, {"0": -1}])
def test_a_record_of_another_shape_is_refused(records: object) -> None:
    """D1: before anything reads it."""
    topic = a_topic(delete_records_before={0: 40})
    state = replace(
        applied(a_topic()),
        usage={"orders": TopicUsage(log_start_offsets=(0, 0, 0), high_watermarks=(90, 90, 90))},
    )
    plan = plan_of(a_desired(topic), state)
    check(plan, state)
    change = only_change(plan)
    assert change.owner_after
    last = {**change.owner_after.last_applied, "deleteRecordsBefore": records}
    forged = replace(change, owner_after=replace(change.owner_after, last_applied=last))
    with pytest.raises(UntrustedPlanError):
        check(replace(plan, changes=(forged,)), state)
