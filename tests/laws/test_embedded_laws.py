"""The laws once more on a real embedded cluster: planned, judged by brokers, applied, read."""

from collections.abc import Mapping
from itertools import count

import pytest
from apply.faults import FaultyCluster
from apply.plans import Apply, comparable, sealed_now, spelt
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.chains import assert_caught
from laws.cluster_model import Model
from laws.embedded_chains import Ready, embedded_turns, planned, ready_plans, seen
from laws.test_plan_laws import everything
from strategies import TEAMS
from tiers import examples

from kgitops.apply import progress
from kgitops.apply.journal.reading import is_spent, latest_values
from kgitops.apply.result import ApplyResult
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.kinds.topics import alter as topic_alter
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.model.verdict import ExitCode

# Planning after applying is empty


def planning_after_applying_is_empty(data: st.DataObject) -> None:
    for turn in embedded_turns(data):
        assert turn.result.verdict.exit == ExitCode.SUCCESS, turn.result
        again = planned(turn.desired, turn.cluster)
        assert again.changes == ()
        assert not again.verdict.stops


@settings(max_examples=examples(500))
@given(st.data())
def test_planning_after_applying_is_empty(data: st.DataObject) -> None:
    """500 random projects on dirty clusters, three plans each."""
    planning_after_applying_is_empty(data)


@pytest.mark.slow
def test_a_planner_that_forgets_replicas_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_alter._Builder, "replicas", lambda *_, **__: None)
    assert_caught(planning_after_applying_is_empty)


# What is sent is what was planned, and it ends where the pure model ends


def only_what_was_planned_is_sent(data: st.DataObject) -> None:
    for turn in embedded_turns(data, TEAMS):
        assert spelt(turn.sent) == spelt(planned.request for planned in turn.plan.requests)


def _ended(state: ClusterState) -> Mapping[str, object]:
    """Where an apply ends; the model knows no sizes, so how full a topic is does not count."""
    parts = dict(comparable(state))
    del parts["usage"]
    return parts


@settings(max_examples=examples(100))
@given(st.data())
def test_only_what_was_planned_is_sent(data: st.DataObject) -> None:
    """Byte for byte, and on an undisturbed cluster all of it."""
    only_what_was_planned_is_sent(data)


@pytest.mark.slow
def test_an_apply_that_sends_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FaultyCluster.execute

    def twice(cluster: FaultyCluster, requests: list[Request], **how: object) -> object:
        real(cluster, requests, **how)  # type: ignore[arg-type]
        return real(cluster, requests, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(FaultyCluster, "execute", twice)
    assert_caught(only_what_was_planned_is_sent)


@settings(max_examples=examples(100))
@given(st.data())
def test_an_apply_ends_where_the_model_ends(data: st.DataObject) -> None:
    """Cluster and registry: nothing more, nothing less, whoever's objects they are."""
    for turn in embedded_turns(data, TEAMS):
        if not turn.plan.changes:
            assert everything(turn.after) == everything(turn.before)
            continue
        model = Model(turn.before).apply(turn.plan)
        assert _ended(turn.after) == _ended(model.state)


# Plan verdicts, validate_only and apply agree


@settings(max_examples=examples(100))
@given(st.data())
def test_what_the_brokers_accept_in_the_plan_they_accept_in_the_apply(
    data: st.DataObject,
) -> None:
    """And validate_only itself changes nothing."""
    for ready in ready_plans(data, TEAMS):
        assert everything(seen(ready.cluster)) == everything(ready.before)
        result = _apply(ready, FaultyCluster(ready.cluster))
        assert result.failed == ()


# A crash anywhere, then a resume


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the product may catch it, and nothing works after it."""


def a_crash_then_a_resume_ends_like_an_undisturbed_run(data: st.DataObject) -> None:
    for ready in ready_plans(data, count=2):
        if not ready.plan.changes:
            continue
        expected = _ended(Model(ready.before).apply(ready.plan).state)
        left = data.draw(st.integers(1, 12), label="boundaries until the crash")
        mortal = _mortal(ready.cluster, left)
        try:
            _apply(ready, mortal)
        except Killed:
            ready.clock.sleep(3600)
            again = Apply(cluster=ready.cluster, clock=ready.clock, project=ready.desired.project)
            resumed = again.resume(ready.desired.project.identity)
            if resumed is None and not _was_begun(ready):
                resumed = again.plan(sealed_now(ready.plan, ready.clock, ready.nonce), "again")
            assert resumed is None or resumed.verdict.exit == ExitCode.SUCCESS, resumed
        assert _ended(seen(ready.cluster)) == expected


def _mortal(cluster: EmbeddedCluster, left: int) -> FaultyCluster:
    """The cluster as a process sees it that dies at the ``left``-th boundary it comes to."""
    passed = count(1)

    def die(_: object) -> None:
        if next(passed) >= left:
            raise Killed

    return FaultyCluster(
        cluster, before_send=die, after_send=die, before_append=die, after_append=die
    )


def _was_begun(ready: Ready) -> bool:
    """Whether the first intent was written; if so, and nothing is unfinished, all was done."""
    return is_spent(latest_values(ready.cluster.registry.read() or ()), ready.nonce)


def _apply(ready: Ready, cluster: FaultyCluster) -> ApplyResult:
    sealed = sealed_now(ready.plan, ready.clock, ready.nonce)
    apply = Apply(cluster=cluster, clock=ready.clock, project=ready.desired.project)
    return apply.plan(sealed, f"run-{ready.nonce}")


@settings(max_examples=examples(150))
@given(st.data())
def test_a_crash_then_a_resume_ends_like_an_undisturbed_run(data: st.DataObject) -> None:
    a_crash_then_a_resume_ends_like_an_undisturbed_run(data)


@pytest.mark.slow
def test_a_resume_that_does_not_look_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "is_visible", lambda *_: False)
    assert_caught(a_crash_then_a_resume_ends_like_an_undisturbed_run)
