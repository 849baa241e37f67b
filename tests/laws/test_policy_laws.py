"""What the policies say of a plan they say of its apply: each law with mutants that it catches."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date

import pytest
from apply.faults import FakeClock
from apply.plans import Apply, sealed_now
from cluster.embedded.test_policy_law import policies, user_policies, waivers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws.chains import assert_caught
from laws.embedded_chains import planned
from msgspec import Struct
from msgspec.structs import replace
from strategies import BROKERS, SOURCES, TEAMS, foreign_requests, projects
from tiers import examples, is_full
from used import with_users

from kgitops import approval
from kgitops.approval import judge_plan
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.options import ClockAndIds, random_id
from kgitops.desired.state import Safety
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterUserScramCredentialsRequest, CreateTopicRequest
from kgitops.plan.document.plan import Plan
from kgitops.policy.api.interfaces import Configurable
from kgitops.policy.evaluate.bundle import Bundle, Level, PythonPolicy, Waiver
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.python_rule import PythonRule
from kgitops.workflow.execution import build_recheck
from kgitops.workflow.policies import OpenPolicies
from kgitops.workflow.project.selection import Selection, open_workspace

TODAY = date(2026, 11, 21)


class Policed(Struct, frozen=True, kw_only=True):
    """A cluster whose brokers judge by policies, and a plan that was judged by the same."""

    cluster: EmbeddedCluster
    clock: FakeClock
    plan: Plan
    policies: OpenPolicies


@contextmanager
def policed(
    data: st.DataObject, lifted: Sequence[Waiver], *, of: st.SearchStrategy[Configurable] = policies
) -> Iterator[Policed]:
    """Others change the cluster, then a team plans; users' passwords are in the environment."""
    chosen = data.draw(st.lists(of, min_size=1, max_size=4), label="policies")
    levels = [data.draw(st.sampled_from(list(Level)[1:]), label="level") for _ in chosen]
    bundle = _bundle(levels, lifted)
    clock = FakeClock()
    cluster = boot(
        None,
        brokers=BROKERS,
        clock_and_ids=ClockAndIds(now=clock.now, new_id=random_id),
        policies=bundle,
        open_evaluator=lambda _: _judge(chosen, levels, lifted),
    )
    judge = _judge(chosen, levels, lifted)
    environment = pytest.MonkeyPatch()
    try:
        for source in SOURCES:
            environment.setenv(source.env or "", "a password")
        held, cluster.controller.policies = cluster.controller.policies, None
        for request in data.draw(foreign_requests(_seen(cluster)), label="others"):
            cluster.execute([request], validate_only=False, principal="User:someone")
        state = _seen(cluster)
        desired = data.draw(projects(TEAMS[0], None, state, users=True), label="desired")
        desired = replace(desired, safety=Safety(replication_throttle=0))
        plan = planned(desired, cluster)
        assume(not plan.verdict.stops)
        cluster.controller.policies = held
        plan = judge_plan(plan, judge, state, desired, bundle)
        yield Policed(cluster=cluster, clock=clock, plan=plan, policies=OpenPolicies(bundle, judge))
    finally:
        environment.undo()
        cluster.close()


def _seen(cluster: EmbeddedCluster) -> ClusterState:
    return with_users(cluster)


def _judge(
    chosen: Sequence[Configurable], levels: Sequence[Level], lifted: Sequence[Waiver]
) -> InProcessEvaluator:
    rules = [
        PythonRule(f"policy-{number}", level, policy)
        for number, (level, policy) in enumerate(zip(levels, chosen, strict=True))
    ]
    return InProcessEvaluator(rules, lifted)


def _bundle(levels: Sequence[Level], lifted: Sequence[Waiver]) -> Bundle:
    named = [
        PythonPolicy(name=f"policy-{number}", level=level, digest="", class_="a:B")
        for number, level in enumerate(levels)
    ]
    return Bundle(policies=tuple(named), waivers=tuple(lifted), today=TODAY)


def _has_users(plan: Plan) -> bool:
    return any(
        isinstance(planned.request, AlterUserScramCredentialsRequest) for planned in plan.requests
    )


seen: Counter[str] = Counter()
"""How often each thing happened: a law that is only tried where it is easy says nothing."""


def what_a_plan_lets_pass_its_apply_lets_pass(data: st.DataObject) -> None:
    """Neither the second look nor any broker denies what was reviewed, on the same cluster."""
    lifted = data.draw(st.lists(waivers, max_size=1), label="waivers")
    with policed(data, lifted) as world:
        if world.plan.verdict.stops or not world.plan.changes:
            return
        seen["applied"] += 1
        seen["user applied"] += _has_users(world.plan)
        workspace = open_workspace(Selection(cluster="embedded:"))
        apply = Apply(cluster=world.cluster, clock=world.clock)
        apply.recheck = build_recheck(workspace, world.policies, apply._context, resumed=False)
        result = apply.plan(world.plan)
        assert result.failed == ()
        assert result.not_attempted == ()
        topics = world.cluster.read_state().topics
        for created in (planned.request for planned in world.plan.requests):
            if isinstance(created, CreateTopicRequest):
                # What policies saw of the placement is what there is (P201-34).
                assert topics[created.topic].assignment == created.requested_state.assignment


def brokers_deny_what_the_plan_denies(data: st.DataObject) -> None:
    """An apply that no gate held back: of what it sends exactly that is refused."""
    _brokers_deny(data, policies)


def brokers_deny_users_that_the_plan_denies(data: st.DataObject) -> None:
    """The same where all policies are on users: few of all plans have one that is denied."""
    _brokers_deny(data, user_policies)


def _brokers_deny(data: st.DataObject, of: st.SearchStrategy[Configurable]) -> None:
    with policed(data, (), of=of) as world:
        denied = {
            row.request for change in world.plan.changes for row in change.policies if row.stops
        }
        held_back = {
            name for planned in world.plan.requests for name in planned.depends_on if name in denied
        }
        # Of what depends on a denied request the plan tells, and no broker is asked.
        assume(world.plan.changes and not held_back)
        # A row is the first of those alike: what else has the same wrong is denied as well.
        assume(all(len(change.requests) == 1 for change in world.plan.changes if change.denied))
        seen["denied" if denied else "nothing denied"] += 1
        seen["user denied"] += any(
            planned.id in denied and isinstance(planned.request, AlterUserScramCredentialsRequest)
            for planned in world.plan.requests
        )
        ungated = replace(
            world.plan,
            changes=tuple(replace(change, policies=()) for change in world.plan.changes),
        )
        apply = Apply(cluster=world.cluster, clock=world.clock)
        result = apply.plan(sealed_now(ungated, world.clock))
        assert {failure.step for failure in result.failed} == denied
        assert result.not_attempted == ()


@pytest.mark.hypothesis
def test_what_a_plan_lets_pass_its_apply_lets_pass() -> None:
    """P201-11, P201-34, P201-41."""
    seen.clear()
    settings(max_examples=examples(150))(
        given(st.data())(what_a_plan_lets_pass_its_apply_lets_pass)
    )()
    if is_full():
        assert seen["applied"] > 20
        assert seen["user applied"] > 10


@pytest.mark.hypothesis
def test_brokers_deny_what_the_plan_denies() -> None:
    """P201-11, P201-41, P201-65: request by request."""
    seen.clear()
    settings(max_examples=examples(200))(given(st.data())(brokers_deny_what_the_plan_denies))()
    settings(max_examples=examples(200))(
        given(st.data())(brokers_deny_users_that_the_plan_denies)
    )()
    if is_full():
        assert seen["denied"] > 5
        assert seen["nothing denied"] > 5
        assert seen["user denied"] > 5


@pytest.mark.slow
def test_a_plan_judged_in_another_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approval, "in_waves", lambda requests: list(reversed(requests)))
    assert_caught(brokers_deny_what_the_plan_denies)


@pytest.mark.slow
def test_a_plan_that_forgets_what_it_accepted_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cap that many topics pass together (P201-41)."""
    monkeypatch.setattr(
        InProcessEvaluator, "judge_all", lambda self, requests: list(map(self.judge, requests))
    )
    assert_caught(brokers_deny_what_the_plan_denies)


@pytest.mark.slow
def test_a_plan_that_takes_a_waiver_for_all_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = approval.judge_changes

    def lenient(*words: object, **named: object) -> object:
        found = real(*words, **named)  # type: ignore[arg-type]
        calm = {
            name: [replace(ruling, level=Level.INFO) for ruling in said]
            for name, said in found.by_request.items()
        }
        return replace(found, by_request=calm)

    monkeypatch.setattr(approval, "judge_changes", lenient)
    assert_caught(what_a_plan_lets_pass_its_apply_lets_pass)
