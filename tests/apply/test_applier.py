"""An undisturbed apply does exactly what was planned, and the registry remembers it."""

from dataclasses import dataclass, field

import pytest
from apply.faults import FaultyCluster
from apply.plans import AFTER, STEPS, Apply, open_cluster, prepare, spelt
from builders import UID, a_desired, plan_of

from kgitops.apply.events import ApplyFinished, ApplyStarted, StepDone, StepStarted
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.result import ApplyResult
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Plan


@dataclass
class Applied:
    """A plan of every kind, and the apply of it that nothing disturbed."""

    cluster: FaultyCluster = field(default_factory=lambda: FaultyCluster(open_cluster()))
    plan: Plan = field(init=False)
    apply: Apply = field(init=False)
    result: ApplyResult = field(init=False)

    def __post_init__(self) -> None:
        self.plan = prepare(self.cluster)
        self.cluster.sent.clear()
        self.apply = Apply(cluster=self.cluster)
        self.result = self.apply.plan(self.plan)


@pytest.fixture(scope="module")
def applied() -> Applied:
    """No test changes it."""
    return Applied()


def test_after_an_apply_the_same_plan_is_empty(applied: Applied) -> None:
    result = applied.result
    assert (result.verdict.exit, result.failed, result.not_attempted) == (ExitCode.SUCCESS, (), ())
    assert len(result.done) == STEPS
    assert plan_of(AFTER, applied.cluster.read_state()).changes == ()


def test_the_requests_sent_are_the_planned_ones_each_once(applied: Applied) -> None:
    planned = [planned.request for planned in applied.plan.requests]
    assert spelt(applied.cluster.sent) == spelt(planned)


def test_a_created_topics_id_is_bound_in_the_registry(applied: Applied) -> None:
    state = applied.cluster.read_state()
    assert state.registry
    topic_id = state.topics["new-a"].topic_id
    assert topic_id is not None
    assert state.registry.owners["topic/new-a"].topic_id == topic_id


def test_a_finished_run_keeps_its_header_only_and_no_lock(applied: Applied) -> None:
    latest = latest_values(applied.cluster.registry.read() or ())
    assert [key for key in latest if key.startswith(("run/", "lock/"))] == [
        "run/run-0",
        "run/run-1",
    ]
    assert latest["run/run-1"]["status"] == "done"
    assert latest["run/run-1"]["project"] == UID


def test_every_step_tells_that_it_started_and_is_done(applied: Applied) -> None:
    events = applied.apply.events
    started = [event.step for event in events if isinstance(event, StepStarted)]
    done = [event.step for event in events if isinstance(event, StepDone)]
    assert isinstance(events[0], ApplyStarted)
    assert isinstance(events[-1], ApplyFinished)
    assert sorted(started) == sorted(planned.id for planned in applied.plan.requests)
    assert sorted(done) == sorted(applied.result.done)


def test_steps_of_one_topic_go_out_in_their_order(applied: Applied) -> None:
    (change,) = [change for change in applied.plan.changes if change.address == "topic/orders"]
    expected = [planned.request for planned in change.requests]
    assert len(expected) > 1
    assert [request for request in applied.cluster.sent if request in expected] == expected


def test_an_empty_plan_is_a_success_that_writes_nothing() -> None:
    cluster = open_cluster()
    result = Apply(cluster=cluster).plan(plan_of(a_desired(), cluster.read_state()))
    assert (result.verdict.exit, result.planned) == (ExitCode.SUCCESS, 0)
    assert cluster.registry.read() is None
