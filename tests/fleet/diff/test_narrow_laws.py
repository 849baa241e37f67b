"""A fleet's plan is the planner's: what both sides leave out changes not one word of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from builders import ALL_CAPABILITIES
from fleet.both_ways import told_by_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.chains import Turn, assert_caught, obey
from msgspec.structs import replace
from strategies import TEAMS
from tiers import examples

from kgitops.desired.state import DesiredState
from kgitops.fleet.diff import masks
from kgitops.fleet.diff import narrow as reduced
from kgitops.fleet.diff.inputs import side_from_manifests, side_from_rows
from kgitops.fleet.diff.narrow import NarrowedSides, narrow_sides
from kgitops.fleet.tables import state_rows, unchanged
from kgitops.fleet.tables.desired_header import DesiredPlace
from kgitops.fleet.tables.desired_rows import open_desired, write_desired
from kgitops.fleet.tables.hydrating import open_state, read_state
from kgitops.fleet.tables.state_rows import write_state
from kgitops.fleet.tables.unchanged import UnchangedObjects
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import declared_object
from kgitops.model.source import Source
from kgitops.plan.document.plan import Plan
from kgitops.plan.planner import make_plan

ROWS_AT_ONCE = (1_000_000, 2)
"""A huge cluster is compared in ranges of buckets, which must make no difference."""


def reduce_all(desired: DesiredState, state: ClusterState) -> list[NarrowedSides]:
    """By what was compiled to a file, and by what was just built, in one range and in many."""
    with TemporaryDirectory() as folder:
        there, declared = Path(folder, "state.parquet"), Path(folder, "desired.parquet")
        write_state(state, there)
        write_desired(desired, declared)
        assert read_state([there], "prod") == state
        rows = open_state([there], "prod")
        both = (side_from_rows(open_desired([declared], "p", "prod")), side_from_manifests(desired))
        found = []
        for size in ROWS_AT_ONCE:
            with patch.object(reduced, "ROWS_AT_ONCE", size):
                found += [narrow_sides(side, rows) for side in both]
        return found


def planned(turn: Turn, found: NarrowedSides) -> Plan:
    # What one run asks for is no part of what is declared, so a file does not hold it.
    desired = replace(found.desired, scope=turn.desired.scope, safety=turn.desired.safety)
    plan = make_plan(
        desired,
        found.current,
        target_name="local",
        capabilities=ALL_CAPABILITIES,
        unchanged_counts=found.unchanged,
    )
    return replace(plan, base=turn.plan.base)


def as_told(plan: Plan) -> object:
    """As rows tell it, which know no order of the lines that findings are told in."""
    told = told_by_rows(plan)
    for rows in (told["findings"], told["warnings"], told["verdict"]["reasons"]):
        rows.sort(key=lambda row: row.get("problem") or row["sentence"])
    return told


def a_fleet_plans_the_same(turn: Turn, _: Sequence[Turn]) -> None:
    """The same changes, requests, risk codes, drift, warnings, refusals and verdict."""
    told = as_told(turn.plan)
    for found in reduce_all(turn.desired, turn.before):
        plan = planned(turn, found)
        assert as_told(plan) == told
        what_is_left_alone_is_counted(turn, found, plan)


def what_is_left_alone_is_counted(turn: Turn, found: NarrowedSides, plan: Plan) -> None:
    """As many objects of others, and of nobody, as the planner lists one by one."""
    if turn.plan.refusals and not turn.plan.changes:
        return  # a plan that concludes nothing lists nothing
    if turn.plan.takeovers:
        assert turn.plan.kept == plan.kept == ()
        return
    for rule in ("foreign", "unmanaged"):
        here = sum(row.rule == rule for row in plan.kept)
        whole = sum(row.rule == rule for row in turn.plan.kept)
        assert here + found.kept.get(rule, 0) == whole


@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_fleet_plans_what_the_planner_plans(data: st.DataObject) -> None:
    """VC-410, the law *fleet and planner agree*: dirty clusters, several teams, chains of plans."""
    obey(data, [a_fleet_plans_the_same], TEAMS, resources=False)


# Each part of the reduction is needed: without it the law is broken


def see_no_context(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reduced, "with_dependencies", lambda keys, found, about: found)


def forget_the_other_side(patch: pytest.MonkeyPatch) -> None:
    """What is looked at on one side is not looked at on the other: it seems removed."""
    patch.setattr(masks, "on_both_sides", lambda keys, some, also=(): some)


def trust_what_drifted(patch: pytest.MonkeyPatch) -> None:
    """Everything that anybody applied is taken for unchanged."""

    def every(state: ClusterState) -> UnchangedObjects:
        known = unchanged.unchanged_objects(state)
        owners = state.registry.owners if state.registry else {}
        objects = {
            address: declared_object(address, owner.last_applied, DesiredPlace(Source("", 1, 1)))
            for address, owner in owners.items()
            if not owner.spent
        }
        return replace(known, objects=objects)

    patch.setattr(state_rows, "unchanged_objects", every)


def count_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reduced, "counted_as", lambda kind: "Nothing")


def forget_tombstones(patch: pytest.MonkeyPatch) -> None:
    real = reduced.differing_rows
    patch.setattr(reduced, "differing_rows", lambda keys, identity, also: real(keys, identity, ()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutate",
    [see_no_context, forget_the_other_side, trust_what_drifted, count_nothing, forget_tombstones],
)
def test_the_law_catches_a_fleet_that_would(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)

    def attempt(data: st.DataObject) -> None:
        try:
            obey(data, [a_fleet_plans_the_same], TEAMS, resources=False)
        except Exception as error:
            raise AssertionError from error

    assert_caught(attempt)
