"""``kgitops diff`` finds the values that DeepDiff finds in whole documents, but for two tables.

DeepDiff compares all that the files hold. A new part of a file is so compared by ``kgitops diff``,
too, or gets a row in a table with the reason why not.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from builders import a_cluster, a_topic_state
from comparison.edits import (
    plan_pairs,
    plans_one_edit_apart,
    snapshot_json,
    snapshot_pairs,
    snapshots_one_edit_apart,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.chains import turns
from msgspec.structs import replace
from report.plans import judged_plan, sealed, twelve_changes
from report.tenant_plans import golden_plan
from strategies import TEAMS
from tiers import examples

from kgitops.comparison.comparing import ComparedState, Presence, StateKind, compare
from kgitops.comparison.reading import plan_objects, snapshot_objects
from kgitops.model.cluster_state import ClusterState, NotChecked
from kgitops.model.json.layout import json_line
from kgitops.model.json.objects import read_binding, read_entity
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    group_address,
    quota_address,
    topic_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.users import ScramMechanism, found_users
from kgitops.plan.document.documents import RunToResume
from kgitops.plan.document.file import to_text
from kgitops.plan.document.plan import Plan

Path = tuple[str, ...]
"""The address of an object, and the keys down to a value."""
Sides = tuple[Json, Json]
"""A value in the old and in the new state; an empty tuple where there is none."""

NOT_IN_SNAPSHOTS: Mapping[Path, str] = {
    ("cluster", "captured_at"): "a time",
    ("cluster", "controller_id"): "brokers elect another one, and no object changes",
    ("cluster", "usage"): "the sizes of logs and their readers change all the time",
    ("cluster", "lowered"): "the physical side of ACLs and quotas that are compared",
    ("cluster", "registry", "topic_id"): "the place of the registry, not its content",
    ("cluster", "registry", "offset"): "counts records, like a time",
    ("cluster", "registry", "schema_version"): "the form of the records",
    ("cluster", "registry", "runs"): "times of applies",
    ("cluster", "registry", "takeovers"): "times of takeovers; owners are compared",
    ("cluster", "registry", "virtual_clusters"): "the records behind what is compared",
}
NOT_IN_PLANS: Mapping[Path, str] = {
    ("plan", "envelope"): "times, a nonce and a digest",
    ("plan", "plan_digest"): "a digest",
    ("plan", "unfinished_run"): "a run that was found, and no part of the plan",
    ("plan", "base"): "digests, and defaults that fields show",
    ("plan", "desired", "digest"): "a digest",
    ("plan", "desired", "git_sha"): "a digest",
    ("plan", "desired", "dirty"): "about the git_sha",
    ("plan", "target", "unpinned"): "a place, which moves with the lines above it",
    ("plan", "managed_counts"): "counts of what the registry holds",
    ("plan", "summary"): "counts of what is compared",
    ("plan", "verdict", "reasons"): "findings, denials and refusals again, with their places",
    ("plan", "takeovers", "*", "last_run"): "a time",
    ("plan", "*", "*", "source"): "a place",
    ("*", "kind"): "is in the address",
    ("*", "source"): "a place",
    ("*", "derived_from"): "declarations that are the reason, which `reason` has",
    ("*", "origins"): "places",
    ("*", "fields"): "before, after and ownership again",
    ("*", "basis"): "facts behind risks, reason and impact",
    ("*", "preconditions"): "before and ownership again",
    ("*", "policies", "*", "source"): "a place",
    ("*", "requests", "*", "id"): "counts",
    ("*", "requests", "*", "depends_on"): "ids",
    ("*", "requests", "*", "undoes"): "an id",
    ("*", "requests", "*", "expects"): "before again",
    ("*", "requests", "*", "validated"): "the side that checked, not what is done",
}
REQUESTS = ("requests",)
"""They count if nothing else of their object differs: they follow from all the rest."""
DECLARATIONS = (
    ("owner", "last_applied"),
    ("ownership", "before", "last_applied"),
    ("ownership", "after", "last_applied"),
)
"""A value in these counts if the value of that name in the object itself does not differ."""
KNOWN_BY = ("address", "name", "object", "policy", "group", "api", "topic")
"""The row of a list is known by these; a list of rows has no order beyond that of like rows."""
UNFINISHED = RunToResume(
    run_id="r-1", started="", holder="ci", done=0, locked_by=None, resume="kgitops apply --resume"
)


@settings(max_examples=examples(300))
@given(snapshot_pairs)
def test_snapshots(pair: tuple[ClusterState, ClusterState]) -> None:
    check_snapshots(*pair)


@settings(max_examples=examples(300))
@given(plan_pairs)
def test_plans(pair: tuple[Plan, Plan]) -> None:
    check_plans(*pair)


def test_each_part_of_a_snapshot() -> None:
    bare = a_cluster(owners={})
    assert bare.registry is not None
    state = replace(
        bare,
        settings={"authorizer.class.name": "x"},
        broker_defaults={"retention.ms": "1"},
        not_checked=(NotChecked(problem="no rights", advice="grant some"),),
        registry=replace(bare.registry, formerly={"uid": ("pay",)}, releases={"uid": "other"}),
        topics={"orders": a_topic_state("orders")},
        group_offsets={"etl": {("orders", 0): 3}},
    ).with_objects(found_users({"app": {ScramMechanism.SHA_512: 4096}}), Kind.USER)
    edited = list(snapshots_one_edit_apart(state, bare))
    for other in edited:
        check_snapshots(state, other)
    assert len(edited) > 20


def test_each_part_of_a_plan() -> None:
    judged, golden = judged_plan(), golden_plan()
    labelled = replace(judged.changes[0], labels={"team": "sales"})
    plan = replace(judged, changes=(labelled,), allow_takeover=("legacy",))
    lowered = replace(golden, changes=golden.changes[:1])
    for old, donor in ((plan, twelve_changes()), (lowered, plan)):
        edited = list(plans_one_edit_apart(old, donor))
        for other in edited:
            check_plans(old, other)
        assert len(edited) > 50


@settings(max_examples=examples(60))
@given(st.data())
def test_what_plans_made_of_a_cluster(data: st.DataObject) -> None:
    """Snapshots before and after each apply, and each plan beside the one before it."""
    made = list(turns(data, TEAMS, 2))
    for turn in made:
        if turn.after is not None:
            check_snapshots(turn.before, turn.after)
    for old, new in pairwise(made):
        check_plans(old.plan, new.plan)


def test_numbers_of_one_value_are_the_same() -> None:
    """DeepDiff tells ``1``, ``1.0`` and ``true`` apart; files have one type in each place."""
    states = [
        ComparedState(kind=StateKind.PLAN, name="a.json", objects={"plan": {"a": one, "b": [one]}})
        for one in (1, 1.0, True)
    ]
    for old, new in pairwise(states):
        assert not compare(old, new).objects
        assert not deepdiff_leaves(old.objects, new.objects)


def check_snapshots(old: ClusterState, new: ClusterState) -> None:
    trees = [snapshot_tree(snapshot_json(state)) for state in (old, new)]
    if None in (old.users, new.users):  # nothing is known of users
        for tree in trees:
            for address in [key for key in tree if key.startswith(("user/", "registry/user/"))]:
                del tree[address]
    states = [snapshot_objects(state, "a.json") for state in (old, new)]
    check(trees, states, NOT_IN_SNAPSHOTS)


def check_plans(old: Plan, new: Plan) -> set[Path]:
    files = [sealed(old), replace(sealed(new, "n-2"), unfinished_run=UNFINISHED)]
    trees = [plan_tree(json.loads(to_text(file))) for file in files]
    check(trees, [plan_objects(file, "a.json") for file in files], NOT_IN_PLANS)


def check(trees: list[Json], states: list[ComparedState], table: Mapping[Path, str]) -> None:
    """``kgitops diff`` finds what DeepDiff finds and the table does not leave out."""
    expected: dict[str, dict[Path, Sides]] = {}
    for (address, *path), sides in deepdiff_leaves(*unequal(*trees)).items():
        if not any(within((address, *path), row) for row in table):
            expected.setdefault(address, {})[tuple(path)] = sides
    told = {item.address: item for item in compare(*states).objects}
    assert told.keys() == expected.keys()
    old, new = trees
    for address, item in told.items():
        assert (item.presence is Presence.ADDED) is (address not in old)
        assert (item.presence is Presence.REMOVED) is (address not in new)
        wanted = [(".".join(path), *sides) for path, sides in shown(expected[address]).items()]
        values = [(value.path, value.old, value.new) for value in item.values]
        assert sorted(values, key=repr) == sorted(wanted, key=repr)


def unequal(old: Json, new: Json, depth: int = 2) -> tuple[Json, Json]:
    """Both without the objects and fields that are equal, where DeepDiff finds nothing."""
    if not depth or not isinstance(old, dict) or not isinstance(new, dict):
        return old, new
    pruned = {
        key: unequal(old[key], new[key], depth - 1)
        for key in old.keys() & new.keys()
        if repr(old[key]) != repr(new[key])  # 1, 1.0 and True are equal
    }
    olds = {key: old[key] for key in old.keys() - new.keys()}
    news = {key: new[key] for key in new.keys() - old.keys()}
    return (
        olds | {key: sides[0] for key, sides in pruned.items()},
        news | {key: sides[1] for key, sides in pruned.items()},
    )


def within(path: Path, row: Path) -> bool:
    return len(path) >= len(row) and all(
        key in ("*", step) for step, key in zip(path, row, strict=False)
    )


def shown(values: dict[Path, Sides]) -> dict[Path, Sides]:
    """The values without what says again what others of them say."""
    values = {path: sides for path, sides in values.items() if path}
    requests = {path for path in values if within(path, REQUESTS)}
    declared = {
        path: path[len(part) :] for path in values for part in DECLARATIONS if within(path, part)
    }
    own = values.keys() - requests - declared.keys()
    repeated = {
        path
        for path, inner in declared.items()
        if any(each[-len(inner) :] == inner for each in own)
    }
    if own or declared:
        repeated |= requests
    return {path: sides for path, sides in values.items() if path not in repeated}


# What DeepDiff compares: everything in the documents, below the addresses that it is told by.


def snapshot_tree(document: Json) -> dict[str, Json]:
    whole = dict(document)
    objects: dict[str, Json] = {"cluster": whole}
    for topic in whole.pop("topics"):
        objects[topic_address(topic.pop("name"))] = by_partition(topic, "assignment")
    for broker in whole.pop("brokers"):
        objects[broker_address(broker.pop("id"))] = broker
    for binding in whole.pop("acls"):
        objects[acl_address(read_binding(binding, "acls"))] = {}
    for quota in whole.pop("quotas"):
        objects[quota_address(read_entity(quota.pop("entity"), "quotas"))] = quota
    for cluster in whole.pop("virtual_clusters", ()):
        objects[virtual_cluster_address(cluster.pop("name"))] = cluster
    for group, offsets in whole.pop("group_offsets", {}).items():
        objects[group_address(group)] = {"offsets": offsets}
    users = whole.pop("users", None)
    whole["users_read"] = users is not None
    for user, iterations in (users or {}).items():
        objects[user_address(user)] = {"scram": iterations}
    for address, owner in (whole["registry"] or {"owners": {}}).pop("owners").items():
        key = address if address in objects else f"registry/{address}"
        objects.setdefault(key, {})["owner"] = owner
    return by_name(objects)


def plan_tree(document: Json) -> dict[str, Json]:
    """A null before or after is none, as for an object that is added; an owner's, too."""
    objects = {
        change.pop("address"): {
            key: by_partition(value, "assignments") if key in ("before", "after") else value
            for key, value in change.items()
            if value is not None or key not in ("before", "after")
        }
        | {"ownership": {key: it for key, it in change["ownership"].items() if it is not None}}
        for change in document["changes"]
    }
    rest = {key: value for key, value in document.items() if key != "changes"}
    return by_name({"plan": rest, **objects})


def by_partition(topic: Json, key: str) -> Json:
    """The replicas of each partition are a value, and the number of partitions is one."""
    if not isinstance(topic.get(key), list):
        return topic
    lists = {str(partition): replicas for partition, replicas in enumerate(topic[key])}
    return {**topic, key: lists, "partitions": len(lists)}


def by_name(value: Json) -> Json:
    """Rows of lists by what they are known by; like ones are counted, ``NAME#2``."""
    if isinstance(value, dict):
        return {key: by_name(inner) for key, inner in value.items()}
    if not isinstance(value, list) or not value or any(not isinstance(row, dict) for row in value):
        return value
    counts: Counter[str] = Counter()
    rows: dict[str, Json] = {}
    for row in value:
        known = " ".join(row[key] for key in KNOWN_BY if isinstance(row.get(key), str))
        name = known or json_line(
            {key: row[key] for key in row if key not in ("source", "last_run")}
        )
        counts[name] += 1
        rows[name if counts[name] == 1 else f"{name}#{counts[name]}"] = by_name(row)
    return rows


def deepdiff_leaves(old: Json, new: Json) -> dict[Path, Sides]:
    """The values that DeepDiff finds; a list of plain values is one, as are empty ones.

    An empty list or mapping that has something in the other state differs by what that is. Equal
    numbers of two types are the same.
    """
    from deepdiff import DeepDiff

    found = DeepDiff(
        old,
        new,
        view="tree",
        verbose_level=2,
        ignore_private_variables=False,
        threshold_to_diff_deeper=0,
        zip_ordered_iterables=True,
    )
    leaves: dict[Path, Sides] = {}
    for level in (level for levels in found.values() for level in levels):
        path, sides = level.path(output_format="list"), (level.t1, level.t2)
        if numbers := [at for at, key in enumerate(path) if isinstance(key, int)]:
            path = path[: numbers[0]]
            sides = (at(old, path), at(new, path))
        was, now = (dict(below(side, tuple(path))) for side in sides)
        for one, other in ((was, now), (now, was)):
            for leaf in [leaf for leaf, value in one.items() if value in ({}, [])]:
                if any(len(inner) > len(leaf) and within(inner, leaf) for inner in other):
                    del one[leaf]
        leaves |= {leaf: (was.get(leaf, ()), now.get(leaf, ())) for leaf in was.keys() | now.keys()}
    return {leaf: (old, new) for leaf, (old, new) in leaves.items() if old != new}


def below(value: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from below(inner, (*path, key))
    elif type(value).__name__ != "NotPresent":
        yield path, value


def at(value: Json, path: list[str]) -> Json:
    for key in path:
        value = value[key]
    return value
