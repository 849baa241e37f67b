"""States are compared object by object and value by value."""

from typing import TypeVar

import pytest
from builders import a_cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from report.plans import create_topic, judged_plan, make_plan, sealed
from tiers import examples

from kgitops.comparison.comparing import (
    ComparedState,
    Comparison,
    Presence,
    StateKind,
    ValueDifference,
    compare,
)
from kgitops.comparison.reading import plan_objects, snapshot_objects
from kgitops.model.errors import UsageError
from kgitops.model.registry import Json
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.users import ScramMechanism, found_users
from kgitops.model.source import Source
from kgitops.plan.document.plan import LoadedPolicy, Plan, PolicyResult

S = TypeVar("S", PolicyResult, LoadedPolicy)
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "1,2", "é"])
NAMES = st.sampled_from(["a", "b", "c.d", "retention.ms"])
# No list is empty here: beside the values of an object in its place it is not told, see below.
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS | st.lists(st.integers(0, 3), min_size=1, max_size=3),
    lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["topic/a", "topic/b", "acl/c"]),
    st.dictionaries(NAMES, VALUES, max_size=3),
    max_size=3,
)


def state(objects: dict[str, Json], kind: StateKind = StateKind.SNAPSHOT) -> ComparedState:
    return ComparedState(kind=kind, name="a.json", objects=objects)


def compared(old: dict[str, Json], new: dict[str, Json]) -> Comparison:
    return compare(state(old), state(new))


def differences(old: Json, new: Json) -> dict[str, tuple[Json, Json]]:
    """The differing values of one object, by path."""
    found = compared({"topic/a": old}, {"topic/a": new}).objects
    return {value.path: (value.old, value.new) for item in found for value in item.values}


@settings(max_examples=examples(300))
@given(OBJECTS, OBJECTS)
def test_what_differs_leads_from_one_state_to_the_other(
    old: dict[str, Json], new: dict[str, Json]
) -> None:
    """Each object is the same or told, each value of a changed one, too, and nothing else is."""
    comparison = compared(old, new)
    assert not compared(old, old).objects
    told = {item.address: item for item in comparison.objects}
    for address in old.keys() | new.keys():
        if old.get(address) == new.get(address) and address in old and address in new:
            assert address not in told
            continue
        item = told[address]
        assert item.presence is (
            Presence.ADDED
            if address not in old
            else Presence.REMOVED
            if address not in new
            else Presence.CHANGED
        )
        assert all(value.old != value.new or value.old == () for value in item.values)
        assert patched(old.get(address, {}), item.values) == flat(new.get(address, {}))
    assert comparison.same + len(told) == len(old.keys() | new.keys())
    back = compared(new, old)
    assert [item.address for item in back.objects] == [item.address for item in comparison.objects]


def flat(value: Json, path: str = "") -> dict[str, Json]:
    """The values by path, told independently: by the longest way down."""
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Json] = {}
    for key, inner in value.items():
        found |= flat(inner, f"{path}.{key}" if path else key)
    return found


def patched(old: Json, values: tuple[ValueDifference, ...]) -> dict[str, Json]:
    result = flat(old)
    for value in values:
        if value.new == ():
            del result[value.path]
        else:
            result[value.path] = value.new
    return result


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            {"configs": {"retention.ms": "1"}},
            {"configs": {"retention.ms": "2", "flush.ms": "3"}},
            {"configs.retention.ms": ("1", "2"), "configs.flush.ms": ((), "3")},
        ),
        ({"a": None}, {}, {"a": (None, ())}),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"a": ([1, 2], [2, 1])}),
        (
            {"policies": [{"policy": "p", "outcome": "passed"}, {"policy": "q", "outcome": "x"}]},
            {"policies": [{"policy": "q", "outcome": "x"}, {"policy": "p", "outcome": "denied"}]},
            {"policies.p.outcome": ("passed", "denied")},
        ),
        (
            {"rows": [{"name": "a", "at": 1}, {"name": "a", "at": 2}]},
            {"rows": [{"name": "a", "at": 1}, {"name": "a", "at": 3}]},
            {"rows.a#2.at": (2, 3)},
        ),
        (
            {"rows": [{"name": "a#b", "at": 1}, {"name": "a#b", "at": 2}]},
            {"rows": [{"name": "a#b", "at": 1}, {"name": "a#b", "at": 3}]},
            {"rows.a#b#2.at": (2, 3)},
        ),
        ({"a": {}}, {}, {"a": ({}, ())}),
        (
            {"a": {}, "b": []},
            {"a": {"x": 1}, "b": [{"name": "y"}]},
            {
                "a.x": ((), 1),
                "b.y.name": ((), "y"),
            },
        ),
        ({"a.b": {"c": 1}, "a": {"b.c": 2}}, {"a.b": {"c": 1}, "a": {}}, {"a.b.c": (2, ())}),
        ({"rows": [{"name": "a"}, {"name": "b"}]}, {"rows": [{"name": "b"}, {"name": "a"}]}, {}),
    ],
)
def test_values_are_told_by_their_paths(
    old: Json, new: Json, expected: dict[str, tuple[Json, Json]]
) -> None:
    assert differences(old, new) == expected


def test_requests_are_told_where_nothing_else_differs() -> None:
    old = {"partitions": 1, "requests": [{"api": "CreateTopic", "body": {"partitions": 1}}]}
    new = {"partitions": 2, "requests": [{"api": "CreateTopic", "body": {"partitions": 2}}]}
    assert differences(old, new) == {"partitions": (1, 2)}
    assert differences({**old, "partitions": 2}, new) == {
        "requests.CreateTopic.body.partitions": (1, 2)
    }


def test_a_record_is_told_but_for_what_its_object_says() -> None:
    """A declaration that nobody applied yet counts, and what only the registry has."""

    def topic(retention: str, recorded: str, policy: str) -> Json:
        declared = {"configs": {"retention.ms": recorded}, "deletionPolicy": policy}
        return {"configs": {"retention.ms": retention}, "owner": {"last_applied": declared}}

    old = topic("1", "1", "Orphan")
    assert differences(old, topic("2", "2", "Delete")) == {
        "configs.retention.ms": ("1", "2"),
        "owner.last_applied.deletionPolicy": ("Orphan", "Delete"),
    }
    assert differences(old, topic("1", "2", "Orphan")) == {
        "owner.last_applied.configs.retention.ms": ("1", "2")
    }


def test_states_of_two_kinds_are_not_compared() -> None:
    with pytest.raises(UsageError, match=r"is a snapshot and .* a plan; compare two of one kind"):
        compare(state({}), state({}, StateKind.PLAN))


def test_partitions_are_told_in_their_order() -> None:
    """Numbers count as numbers, and names that only look like some do no harm."""
    names = ["10", "9", "x.2", "9" * 5000, "²", "2"]
    found = compared({"topic/a": {}}, {"topic/a": dict.fromkeys(names, 1)}).objects[0].values
    assert [value.path for value in found] == ["2", "9", "10", "9" * 5000, "x.2", "²"]


def test_a_plan_whose_lines_moved_is_the_same() -> None:
    """Not even a denial's place counts, nor the sentence of the verdict that has it."""
    plan = judged_plan()
    moved = replace(
        plan,
        changes=tuple(
            replace(change, policies=tuple(map(_moved, change.policies))) for change in plan.changes
        ),
        policies_loaded=tuple(map(_moved, plan.policies_loaded)),
        target=replace(plan.target, unpinned=Source("kgitops.yaml", 9, 1)),
    )
    assert moved != plan
    assert not differing_values(plan, moved)


def _moved(row: S) -> S:
    return replace(
        row, source=replace(row.source, line=row.source.line + 1) if row.source else None
    )


def test_plans_of_two_projects_and_takeovers_differ() -> None:
    plan = judged_plan()
    other = replace(
        plan,
        desired=replace(plan.desired, project="billing"),
        allow_takeover=("legacy",),
    )
    assert differing_values(plan, other) == {"plan": {"desired.project", "allow_takeover"}}


def test_a_plan_that_only_changes_the_record_differs() -> None:
    change = create_topic("orders")
    assert change.owner_after is not None
    declared = {**change.owner_after.last_applied, "deletionPolicy": "Delete"}
    other = replace(change, owner_after=replace(change.owner_after, last_applied=declared))
    assert differing_values(make_plan(change), make_plan(other)) == {
        "topic/orders": {"ownership.after.last_applied.deletionPolicy"}
    }


def differing_values(old: Plan, new: Plan) -> dict[str, set[str]]:
    """The paths that differ, by address."""
    found = compare(*(plan_objects(sealed(plan), "a.json") for plan in (old, new))).objects
    return {item.address: {value.path for value in item.values} for item in found}


def test_settings_and_releases_of_a_cluster_count() -> None:
    bare = a_cluster(owners={})
    assert bare.registry is not None
    other = replace(
        bare,
        settings={"authorizer.class.name": ""},
        registry=replace(bare.registry, releases={"uid-payments": "uid-billing"}),
    )
    (found,) = compare(*(snapshot_objects(each, "a.json") for each in (bare, other))).objects
    assert {value.path for value in found.values} == {
        "settings.authorizer.class.name",
        "registry.releases.uid-payments",
    }


def test_users_that_were_not_read_are_not_removed() -> None:
    bare = a_cluster(owners={})
    with_users = bare.with_objects(
        found_users({"sales-app": {ScramMechanism.SHA_512: 4096}}), Kind.USER
    )
    states = [snapshot_objects(each, "a.json") for each in (with_users, bare)]
    for old, new in (states, states[::-1]):
        (found,) = compare(old, new).objects
        assert (found.address, found.presence) == ("cluster", Presence.CHANGED)
        assert [value.path for value in found.values] == ["users_read"]
    none = snapshot_objects(bare.with_objects([], Kind.USER), "a.json")
    (found,) = compare(states[0], none).objects
    assert (found.address, found.presence) == ("user/sales-app", Presence.REMOVED)
