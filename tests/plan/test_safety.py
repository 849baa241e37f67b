"""Limits on what one plan may delete, and on what an empty load may mean (contract §2)."""

import pytest
from builders import (
    UID,
    a_binding,
    a_cluster,
    a_desired,
    a_tombstone,
    a_topic,
    an_acl,
    an_owner,
    applied,
    on_cluster,
    plan_of,
)

from kgitops.desired.state import Safety
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject, DesiredTopic
from kgitops.model.resources.kinds import Kind
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action, Plan

KEPT = a_topic("kept")


def topics(count: int) -> list[DesiredTopic]:
    return [a_topic(f"t{n}", deletion_policy=DeletionPolicy.DELETE) for n in range(count)]


def acls(count: int) -> list[DesiredObject]:
    return [an_acl(a_binding(name=f"t{n}")) for n in range(count)]


def deleting(
    count: int,
    *,
    of: int,
    safety: Safety | None = None,
    allow: dict[str, int] | None = None,
    kind: str = "topic",
) -> Plan:
    """The plan that deletes ``count`` of ``of`` managed objects of a kind."""
    made = {"topic": topics, "acl": acls}[kind](of)
    keep = made[count:]
    safety = safety or Safety(allow_deletes=allow or {})
    elsewhere = [] if kind == "topic" else [KEPT]
    stand_in = [] if keep or elsewhere else [an_acl()]
    return plan_of(
        a_desired(*keep, *elsewhere, *stand_in, safety=safety),
        applied(*made, *elsewhere, *stand_in),
    )


@pytest.mark.parametrize("count", range(1, 51))
def test_deleting_everything_passes_only_below_five(count: int) -> None:
    """N of N at the defaults: from 5 deletions on 100 % is more than 20 %, past 10 it is a lot."""
    plan = deleting(count, of=count)
    assert plan.count(Action.DELETE) == count
    assert plan.verdict.exit is (ExitCode.CHANGES if count < 5 else ExitCode.REFUSED)
    if count >= 5:
        limit = "maxDeletePercent is 20" if count <= 10 else "maxDeletes is 10"
        sentence = plan.verdict.reasons[0].sentence
        assert limit in sentence
        assert f"--allow-deletes Topic={count}" in sentence


@pytest.mark.parametrize(
    ("count", "of", "refused"),
    [
        (4, 4, False),
        (5, 25, False),
        (5, 24, True),
        (10, 50, False),
        (10, 49, True),
        (11, 1000, True),
        (9, 45, False),
    ],
)
def test_the_limits_are_ten_and_a_fifth_from_five_on(count: int, of: int, refused: bool) -> None:
    """A4-68: a plan that removes much at once is refused."""
    assert deleting(count, of=of).verdict.stops is refused


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [({}, True), ({"Topic": 11}, True), ({"Topic": 12}, False), ({"Acl": 50}, True)],
)
def test_the_only_way_past_names_the_kind_and_enough_of_them(
    allowed: dict[str, int], refused: bool
) -> None:
    plan = deleting(12, of=12, allow=allowed)
    assert plan.verdict.stops is refused
    assert plan.allow_deletes == allowed


def test_each_kind_has_its_own_count() -> None:
    plan = deleting(4, of=4, kind="acl")
    assert not plan.verdict.stops
    refused = deleting(11, of=200, kind="acl").verdict
    assert "kind Acl" in refused.reasons[0].sentence


def test_a_project_may_set_its_own_limits() -> None:
    assert deleting(1, of=50, safety=Safety(max_deletes=0)).verdict.stops
    assert deleting(2, of=50, safety=Safety(max_deletes=1)).verdict.stops
    loose = Safety(max_deletes=20, max_delete_percent=100)
    assert not deleting(20, of=20, safety=loose).verdict.stops


def test_tombstoned_objects_count() -> None:
    made = topics(11)
    desired = a_desired(KEPT, *(a_tombstone(item, name=f"drop-{item.name}") for item in made))
    plan = plan_of(desired, applied(KEPT, *made))
    assert plan.verdict.exit is ExitCode.REFUSED
    assert "maxDeletes" in plan.verdict.reasons[0].sentence


def test_what_is_only_forgotten_does_not_count() -> None:
    made = [a_topic(f"t{n}", deletion_policy=DeletionPolicy.ORPHAN) for n in range(50)]
    plan = plan_of(a_desired(KEPT), applied(KEPT, *made))
    assert plan.count(Action.FORGET) == 50
    assert not plan.verdict.stops


def test_the_percentage_is_of_this_projects_managed_objects() -> None:
    """Others' objects, unmanaged and spent ones make no room."""
    mine = topics(5)
    others = [a_topic(f"other{n}") for n in range(95)]
    state = a_cluster(
        *map(on_cluster, (*mine, *others)),
        owners={item.address: an_owner(item) for item in mine}
        | {item.address: an_owner(item, project="theirs") for item in others[::2]}
        | {item.address: an_owner(item, spent=True) for item in others[1::2]},
    )
    plan = plan_of(a_desired(an_acl()), state)
    assert plan.managed_counts == {Kind.TOPIC: 5, Kind.ACL: 0, Kind.QUOTA: 0}
    assert plan.verdict.exit is ExitCode.REFUSED


def test_a_refused_plan_still_shows_what_it_would_delete() -> None:
    """Contract §4: a refused plan is still rendered and saved."""
    assert deleting(12, of=12).count(Action.DELETE) == 12


# An empty load


def test_a_whole_project_that_declares_nothing_is_refused_and_plans_nothing() -> None:
    plan = plan_of(a_desired(), applied(a_topic(), an_acl()))
    assert plan.verdict.exit is ExitCode.REFUSED
    assert not plan.changes
    assert "manages 2 objects" in plan.verdict.reasons[0].sentence


@pytest.mark.parametrize(
    "current", [a_cluster(), applied(a_topic(), project="theirs")], ids=["new", "others only"]
)
def test_an_empty_project_that_manages_nothing_is_no_danger(current: ClusterState) -> None:
    plan = plan_of(a_desired(), current)
    assert plan.verdict.exit is ExitCode.SUCCESS


def test_a_part_that_declares_nothing_removes_nothing_and_is_fine() -> None:
    plan = plan_of(a_desired(whole=False), applied(a_topic()))
    assert plan.verdict.exit is ExitCode.SUCCESS
    assert not plan.changes


def test_a_tombstone_alone_is_a_project() -> None:
    plan = plan_of(a_desired(a_tombstone(an_acl())), applied(an_acl()))
    assert plan.count(Action.DELETE) == 1
    assert not plan.verdict.stops
    assert plan.desired.identity == UID
