"""A fleet's verdicts are the planner's: on what differs alone, with the rest in its files."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fleet.policies.large_policies import cel, packed, telling
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.chains import Turn, assert_caught, obey
from strategies import TEAMS
from tiers import examples

from kgitops.approval import judge_plan
from kgitops.desired.state import DesiredState
from kgitops.fleet.diff.inputs import side_from_manifests
from kgitops.fleet.diff.narrow import narrow_sides
from kgitops.fleet.policies import lazy_state as module
from kgitops.fleet.policies.lazy_state import lazy_cluster_state
from kgitops.fleet.tables.hydrating import open_state, read_state
from kgitops.fleet.tables.state_rows import write_state
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.plan import Plan
from kgitops.policy.evaluate.bundle import Bundle, Waiver
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.loading import load_rules

POLICIES = (
    telling("Counts"),
    telling("Names"),
    telling("Walks"),
    telling("Rights"),
    telling("Others"),
    packed("PartitionBudget", max="14", prefixes="a=6"),
    packed("MassDeleteGuard", max="1"),
    cel("small", "requested.partitions < 3", "CreateTopic", "AlterTopic"),
    cel("budget", "cluster.partitions + cluster.topics < 12", "CreateTopic"),
)


def waiver(address: str) -> Waiver:
    return Waiver(
        name=f"for {address}",
        policy="small",
        address=address,
        owner="me",
        reason="for now",
        ticket="OPS-1",
        expires=date(2026, 12, 1),
    )


def judged(turn: Turn, desired: DesiredState, state: ClusterState, chosen: Sequence[int]) -> object:
    """All that a plan says of policies and waivers."""
    # A waiver may name what there is, what is declared, or nothing.
    known = sorted({*turn.desired.addresses, *(f"topic/{name}" for name in turn.before.topics)})
    bundle = Bundle(
        policies=tuple(POLICIES[index] for index in chosen),
        waivers=tuple(map(waiver, [*known[:3], "topic/nothing"])),
        today=date(2026, 11, 22),
    )
    judge = InProcessEvaluator(load_rules(bundle.policies), bundle.waivers)
    plan: Plan = judge_plan(turn.plan, judge, state, desired, bundle)
    return plan_to_json(plan)


def a_fleet_says_the_same(choose: Callable[[], Sequence[int]]) -> Callable[..., None]:
    def law(turn: Turn, _: Sequence[Turn]) -> None:
        chosen = choose()
        with TemporaryDirectory() as folder:
            file = Path(folder, "state.parquet")
            write_state(turn.before, file)
            found = narrow_sides(side_from_manifests(turn.desired), open_state([file], "prod"))
            large = lazy_cluster_state(found.current, found.desired, [file], "prod")
            whole = read_state([file], "prod")
            here = judged(turn, found.desired, large, chosen)
            assert here == judged(turn, turn.desired, whole, chosen)

    return law


def try_out(data: st.DataObject) -> None:
    which = st.lists(st.sampled_from(range(len(POLICIES))), min_size=1, max_size=4, unique=True)
    obey(data, [a_fleet_says_the_same(lambda: data.draw(which, label="policies"))], TEAMS)


@settings(max_examples=examples(60))
@given(st.data())
def test_a_fleet_judges_as_the_planner_does(data: st.DataObject) -> None:
    """P201-42: on random chains of plans, whichever policies ask first, and of waivers too."""
    try_out(data)


# Without a part of what is shown the law is broken


def show_only_what_differs(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "lazy_cluster_state", lambda current, *_: current)


def take_all_for_absent(patch: pytest.MonkeyPatch) -> None:
    real = module.LazyTopics
    names = frozenset("abcdefghijklmnopqrstuvwxyz")
    patch.setattr(module, "LazyTopics", lambda stored, _, absent: real(stored, {}, absent))
    patch.setattr(real, "_may_exist", lambda self, name: name in names)


@pytest.mark.slow
@pytest.mark.parametrize("mutate", [show_only_what_differs, take_all_for_absent])
def test_the_law_catches_a_fleet_that_would(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)

    def attempt(data: st.DataObject) -> None:
        try:
            try_out(data)
        except Exception as error:
            raise AssertionError from error

    assert_caught(attempt)
