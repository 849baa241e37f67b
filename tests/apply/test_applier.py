"""An undisturbed apply does exactly what was planned, and the registry remembers it."""

from apply.faults import FaultyCluster
from apply.plans import AFTER, STEPS, Apply, open_cluster, prepare, spelt
from builders import UID, a_desired, plan_of

from kgitops.apply.events import ApplyFinished, ApplyStarted, StepDone, StepStarted
from kgitops.apply.journal.reading import latest_values
from kgitops.model.verdict import ExitCode


def test_after_an_apply_the_same_plan_is_empty() -> None:
    cluster = open_cluster()
    result = Apply(cluster=cluster).plan(prepare(cluster))
    assert (result.verdict.exit, result.failed, result.not_attempted) == (ExitCode.SUCCESS, (), ())
    assert len(result.done) == STEPS
    assert plan_of(AFTER, cluster.read_state()).changes == ()


def test_the_requests_sent_are_the_planned_ones_each_once() -> None:
    cluster = FaultyCluster(open_cluster())
    plan = prepare(cluster)
    cluster.sent.clear()
    Apply(cluster=cluster).plan(plan)
    planned = [planned.request for planned in plan.requests]
    assert spelt(cluster.sent) == spelt(planned)


def test_a_created_topics_id_is_bound_in_the_registry() -> None:
    cluster = open_cluster()
    Apply(cluster=cluster).plan(prepare(cluster))
    state = cluster.read_state()
    assert state.registry
    topic_id = state.topics["new-a"].topic_id
    assert topic_id is not None
    assert state.registry.owners["topic/new-a"].topic_id == topic_id


def test_a_finished_run_keeps_its_header_only_and_no_lock() -> None:
    cluster = open_cluster()
    Apply(cluster=cluster).plan(prepare(cluster))
    latest = latest_values(cluster.registry.read() or ())
    assert [key for key in latest if key.startswith(("run/", "lock/"))] == [
        "run/run-0",
        "run/run-1",
    ]
    assert latest["run/run-1"]["status"] == "done"
    assert latest["run/run-1"]["project"] == UID


def test_every_step_tells_that_it_started_and_is_done() -> None:
    cluster = open_cluster()
    apply = Apply(cluster=cluster)
    plan = prepare(cluster)
    result = apply.plan(plan)
    started = [event.step for event in apply.events if isinstance(event, StepStarted)]
    done = [event.step for event in apply.events if isinstance(event, StepDone)]
    assert isinstance(apply.events[0], ApplyStarted)
    assert isinstance(apply.events[-1], ApplyFinished)
    assert sorted(started) == sorted(planned.id for planned in plan.requests)
    assert sorted(done) == sorted(result.done)


def test_steps_of_one_topic_go_out_in_their_order() -> None:
    cluster = FaultyCluster(open_cluster())
    plan = prepare(cluster)
    cluster.sent.clear()
    Apply(cluster=cluster).plan(plan)
    (change,) = [change for change in plan.changes if change.address == "topic/orders"]
    expected = [planned.request for planned in change.requests]
    assert len(expected) > 1
    assert [request for request in cluster.sent if request in expected] == expected


def test_an_empty_plan_is_a_success_that_writes_nothing() -> None:
    cluster = open_cluster()
    result = Apply(cluster=cluster).plan(plan_of(a_desired(), cluster.read_state()))
    assert (result.verdict.exit, result.planned) == (ExitCode.SUCCESS, 0)
    assert cluster.registry.read() is None
