"""Steps travel in wire batches of one kind, no larger than a controller takes."""

import threading
from collections.abc import Sequence

import pytest
from apply.faults import FaultyCluster
from apply.plans import DELETE, Apply, open_cluster, prepare
from builders import a_binding, a_cluster, a_desired, a_topic, an_acl, applied, plan_of
from msgspec.structs import replace

from kgitops.apply.context import ApplySettings
from kgitops.apply.steps import Step, batches, build_steps
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UntrustedPlanError, UsageError
from kgitops.model.requests import DeleteTopicRequest, Request, api_name
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.plan.document.plan import Plan, PlannedRequest, Precondition

ALTERED = a_desired(a_topic("orders", partitions=4, configs={"retention.ms": "2"}))


def _batches(
    desired: DesiredState, current: ClusterState, settings: ApplySettings | None = None
) -> list[tuple[Step, ...]]:
    steps = build_steps(plan_of(desired, current))
    return list(batches(steps.values(), settings or ApplySettings()))


def test_a_batch_of_new_topics_holds_at_most_ten_thousand_records() -> None:
    """A topic takes two records, and one for each partition and config."""
    topics = [a_topic(f"t{i}", partitions=496, configs={"retention.ms": "1"}) for i in range(45)]
    found = _batches(a_desired(*topics), a_cluster())
    assert [len(batch) for batch in found] == [20, 20, 5]


def test_small_new_topics_go_out_by_the_thousand() -> None:
    topics = [a_topic(f"t{i}", partitions=1, replication_factor=1) for i in range(1200)]
    assert [len(batch) for batch in _batches(a_desired(*topics), a_cluster())] == [1200]


def test_a_topic_that_is_too_large_for_any_batch_goes_alone() -> None:
    topics = [a_topic("big", partitions=10_000), a_topic("a"), a_topic("z")]
    found = _batches(a_desired(*topics), a_cluster())
    assert sorted(len(batch) for batch in found) == [1, 1, 1]


def test_other_batches_hold_at_most_five_hundred_requests() -> None:
    """A4-02, A4-86: many of one kind are one message, of which there are no more than needed."""
    acls = [an_acl(a_binding(f"User:{i}")) for i in range(1100)]
    assert [len(batch) for batch in _batches(a_desired(*acls), a_cluster())] == [500, 500, 100]


def test_alterations_of_many_partitions_are_limited_by_their_records_too() -> None:
    before = [a_topic(f"t{i}", partitions=3) for i in range(30)]
    after = [a_topic(f"t{i}", partitions=499) for i in range(30)]
    found = _batches(a_desired(*after), applied(*before))
    assert max(len(batch) for batch in found) == 20


def test_each_batch_is_of_one_api_and_one_kind_of_alteration() -> None:
    before = [a_topic("orders"), a_topic("other")]
    after = [
        a_topic("orders", partitions=4, configs={"retention.ms": "2"}),
        a_topic("other", configs={"retention.ms": "2"}),
        a_topic("new"),
    ]
    for batch in _batches(a_desired(*after), applied(*before)):
        kinds = {
            (step.api, getattr(step.planned.request, "step", None))
            for step in batch
            if step.planned
        }
        assert len(kinds) == 1


def test_no_batch_changes_an_object_twice() -> None:
    (change,) = plan_of(ALTERED, applied(a_topic("orders"))).changes
    _, second = change.requests
    twins = [
        Step(id=name, change=change, planned=replace(second, id=name, depends_on=()))
        for name in ("a", "b")
    ]
    assert [len(batch) for batch in batches(twins, ApplySettings())] == [1, 1]


def test_what_deletes_goes_last_of_what_may_go_now() -> None:
    before = [a_topic("a-old", deletion_policy=DELETE), an_acl(a_binding("User:a-old"))]
    after = [a_topic("z-new"), an_acl(a_binding("User:z-new"))]
    apis = [batch[0].api for batch in _batches(a_desired(*after), applied(*before))]
    assert sorted(apis[:2]) == ["CreateAcl", "CreateTopic"]
    assert sorted(apis[2:]) == ["DeleteAcl", "DeleteTopic"]


def test_steps_named_alike_are_refused() -> None:
    plan = plan_of(a_desired(a_topic("a"), a_topic("b")), a_cluster())
    alike = tuple(
        replace(change, requests=(replace(change.requests[0], id="r1"),)) for change in plan.changes
    )
    with pytest.raises(UntrustedPlanError, match="two steps named r1"):
        build_steps(replace(plan, changes=alike))


def test_a_dependency_outside_of_the_plan_is_refused() -> None:
    plan = plan_of(a_desired(a_topic("a")), a_cluster())
    (change,) = plan.changes
    planned = replace(change.requests[0], depends_on=("r9",))
    with pytest.raises(UntrustedPlanError, match="depends on r9"):
        build_steps(replace(plan, changes=(replace(change, requests=(planned,)),)))


def test_independent_batches_are_on_their_way_together() -> None:
    """Each of two waits for the other: one after the other they would never meet."""
    cluster = FaultyCluster(open_cluster())
    plan = prepare(cluster)
    meeting = threading.Barrier(2)
    met = []

    def meet(requests: Sequence[Request]) -> None:
        if not met and not meeting.broken:
            meeting.wait(20)
            met.append(api_name(requests[0]))

    cluster.before_send = meet
    settings = ApplySettings(parallelism=4, batch_requests=2, batch_records=14)
    result = Apply(cluster=cluster, settings=settings).plan(plan)
    assert result.verdict.exit == 0
    assert met


def test_with_parallelism_one_nothing_overlaps() -> None:
    cluster = FaultyCluster(open_cluster())
    plan = prepare(cluster)
    under_way: list[int] = []
    most = []

    def begin(requests: Sequence[Request]) -> None:
        under_way.append(threading.get_ident())
        most.append(len(under_way))

    cluster.before_send = begin
    cluster.after_send = lambda _: under_way.pop()
    settings = ApplySettings(parallelism=1, batch_requests=1, batch_records=14)
    assert Apply(cluster=cluster, settings=settings).plan(plan).verdict.exit == 0
    assert set(most) == {1}
    assert len(most) > 5


def test_no_parallelism_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="parallelism"):
        ApplySettings(parallelism=0)


def _with_request(request: PlannedRequest, *, address: str | None = None) -> Plan:
    """A plan of one change, which is made by this request."""
    plan = plan_of(a_desired(a_topic("orders")), a_cluster())
    (change,) = plan.changes
    return replace(
        plan, changes=(replace(change, address=address or change.address, requests=(request,)),)
    )


def test_a_step_that_takes_back_what_the_plan_does_not_hold_is_refused() -> None:
    (change,) = plan_of(a_desired(a_topic("orders")), a_cluster()).changes
    request = replace(change.requests[0], undoes="r99")
    with pytest.raises(UntrustedPlanError, match=f"step {request.id} depends on r99, which is not"):
        build_steps(_with_request(request))


def test_a_local_topic_is_changed_only_under_the_topic_id_that_was_checked() -> None:
    """A review sees the local name alone: what is behind it is told by the id."""
    address = "vc/emea/topic/Orders"
    deletion = PlannedRequest(
        id="r1",
        request=DeleteTopicRequest(
            topic="e58ed763.Orders", topic_id="checked", local=LocalName("emea", "Orders")
        ),
        expects=Precondition(object=address, exists=True, topic_id="checked"),
    )
    assert list(build_steps(_with_request(deletion, address=address))) == ["r1"]
    other = replace(deletion, expects=replace(deletion.expects, topic_id="another"))
    with pytest.raises(UntrustedPlanError, match="checks or changes something else"):
        build_steps(_with_request(other, address=address))
