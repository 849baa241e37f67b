"""Forgeries over many fields that agree with each other: none alters what is not the project's."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path

import pytest
from apply.forging import MINE, THEIRS, World, honest, make_world, resealed, with_digests
from apply.rights.test_forged_plans import Attacked, check_harmless, executed, password
from builders import a_binding
from msgspec.structs import replace
from plan.plan_json import plan_from_json
from tiers import examples

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import (
    acl_address,
    member_address,
    quota_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.virtual_clusters import EntityType, VirtualCluster
from kgitops.plan.access import with_rights_lost
from kgitops.plan.document.documents import plan_to_json
from kgitops.plan.document.file import read_sealed_plan
from kgitops.plan.shown import with_shown

__all__ = ["password"]

CHUNKS = 20
A_CHUNK = 500


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, password: None) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def attacked(world: World, tmp_path: Path) -> Iterator[Attacked]:
    found = Attacked(world, tmp_path)
    yield found
    found.cluster.close()


Changes = list[dict[str, Json]]
Forging = Callable[[random.Random, Changes, World], Changes]


def _names(world: World) -> list[str]:
    """Names of topics, users, ACLs and members of all sides, and ids."""
    text = json.dumps([change.address for change in world.plan.changes])
    words = [part for address in json.loads(text) for part in str(address).split("/") if part]
    ids = [*world.ids, *world.ids.values()]
    others = [word.replace("mine", "theirs") for word in words]
    every = {*words, *others, *ids, "nobody", "found.topic", "User:nobody", MINE, THEIRS}
    owners = ("mine", "theirs", "found", "nobody", "Stays", "Inner", "Name", "Added", "etl", *ids)
    return sorted(name for name in every if any(owner in name for owner in owners))


def rename(rng: random.Random, changes: Changes, world: World) -> Changes:
    """One name becomes another, in all of a change: address, requests, record and expectations."""
    names, index = _names(world), rng.randrange(len(changes))
    text = json.dumps(changes[index])
    present = [name for name in names if name in text] or ["reason"]
    old, new = rng.choice(present), rng.choice(names)
    return [*changes[:index], json.loads(text.replace(old, new)), *changes[index + 1 :]]


def rename_everywhere(rng: random.Random, changes: Changes, world: World) -> Changes:
    """The same in all changes, so that dependent ones agree as well."""
    names, text = _names(world), json.dumps(changes)
    old = rng.choice([name for name in names if name in text])
    renamed: Changes = json.loads(text.replace(old, rng.choice(names)))
    return renamed


def to_theirs(rng: random.Random, changes: Changes, world: World) -> Changes:
    """A change becomes that of the other project's twin, with its ids and its owner."""
    index = rng.randrange(len(changes))
    text = json.dumps(changes[index]).replace("mine", "theirs")
    for mine, theirs in world.ids.items():
        text = text.replace(mine, theirs)
    if rng.random() < 0.5:
        text = text.replace("11111111-theirs", MINE)
    return [*changes[:index], json.loads(text), *changes[index + 1 :]]


def transplant(rng: random.Random, changes: Changes, world: World) -> Changes:
    """Parts of one change come into another, under the other's name."""
    del world
    index, other = rng.randrange(len(changes)), rng.choice(changes)
    change = dict(changes[index])
    parts = [key for key in other if key in change and key != "address"]
    for key in rng.sample(parts, rng.randint(1, len(parts))):
        text = json.dumps(other[key])
        renames = rng.random() < 0.5
        value = text.replace(str(other["address"]), str(change["address"])) if renames else text
        change[key] = json.loads(value)
    return [*changes[:index], change, *changes[index + 1 :]]


def double(rng: random.Random, changes: Changes, world: World) -> Changes:
    """A change comes twice, or a second time under another name."""
    copy = rng.choice(changes)
    (copied,) = rename(rng, [copy], world) if rng.random() < 0.7 else [copy]
    return [*changes, copied]


def drop(rng: random.Random, changes: Changes, world: World) -> Changes:
    """A change is left out."""
    del world
    index = rng.randrange(len(changes))
    return [*changes[:index], *changes[index + 1 :]] or changes


def exchange_ids(rng: random.Random, changes: Changes, world: World) -> Changes:
    """The ids, names or addresses of two changes are exchanged, of another kind too."""
    del world
    one, two = rng.randrange(len(changes)), rng.randrange(len(changes))
    pairs = [
        (str(changes[one]["address"]), str(changes[two]["address"])),
        (_id(changes[one]), _id(changes[two])),
    ]
    texts = [json.dumps(changes[one]), json.dumps(changes[two])]
    for first, second in pairs:
        if first and second:
            texts = [
                text.replace(first, "\0").replace(second, first).replace("\0", second)
                for text in texts
            ]
    result = list(changes)
    result[one], result[two] = map(json.loads, texts)
    return result


def _id(change: Mapping[str, Json]) -> str:
    requests: list[Mapping[str, Json]] = change.get("requests") or [{}]
    return str((requests[0].get("request") or requests[0]).get("topic_id") or "")


FORGINGS: tuple[Forging, ...] = (
    rename, rename, rename_everywhere, to_theirs, to_theirs, transplant, double, drop, exchange_ids
)  # fmt: skip


def consistent(rng: random.Random, document: dict[str, Json], world: World) -> str | None:
    """The honest plan, forged in one to four ways; what follows from the rest is derived again."""
    changes: Changes = json.loads(json.dumps(document["changes"]))
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        changes = rng.choice(FORGINGS)(rng, changes, world)
    return consistent_of(document, changes)


def consistent_of(document: dict[str, Json], changes: Changes) -> str | None:
    """The plan with these changes; all that is shown of them follows from the rest."""
    forged, seal = {**document, "changes": _numbered(changes)}, resealed
    body = {key: value for key, value in forged.items() if key not in ("plan_digest", "envelope")}
    with suppress(Exception):  # what can't be derived stays as it was forged
        plan = plan_from_json(body)
        shown = with_shown(plan.changes, plan.base.defaults, plan.takeovers)
        lost = with_rights_lost(shown, plan.access_losses)
        forged = {**forged, **plan_to_json(replace(plan, changes=lost))}
        seal = with_digests  # summary and verdict follow from the changes by now
    try:
        return seal(forged)
    except Exception:  # noqa: BLE001 (so strange that nobody could write it)
        return None


def _numbered(changes: Changes) -> Changes:
    """Give each request an id of its own; dependencies stay where they can."""
    ids = [
        str(planned["id"])
        for change in changes
        for planned in change.get("requests") or ()
        if isinstance(planned, dict) and "id" in planned
    ]
    known = {name: f"r{number}" for number, name in reversed([*enumerate(ids, start=1)])}
    numbered: Changes = []
    count = 0
    for change in changes:
        requests = []
        for planned in change.get("requests") or ():
            if not isinstance(planned, dict) or "id" not in planned:
                requests.append(planned)
                continue
            count += 1
            depends = [known[name] for name in planned.get("depends_on") or () if name in known]
            again = {**planned, "id": f"r{count}", "depends_on": depends}
            if planned.get("undoes"):
                again["undoes"] = known.get(str(planned["undoes"]), planned["undoes"])
            requests.append({key: again[key] for key in planned})
        numbered.append({**change, "requests": requests} if "requests" in change else change)
    return numbered


def check_unharmed(attacked: Attacked, after: ClusterState) -> None:
    """Nothing that was there changed, unless it is this project's, or comes to it by the plan.

    Objects that nobody had may be new: the plan is then that of another document.
    """
    before, keys = attacked.before, attacked.keys
    assert before.registry
    assert after.registry
    records = (before.registry.owners, after.registry.owners)
    own = {it for owners in records for it, owner in owners.items() if owner.project == MINE}
    ids = {owners[it].topic_id for owners in records for it in own & owners.keys()}
    for address, owner in before.registry.owners.items():
        assert address in own or after.registry.owners[address] == owner
    for name, topic in before.topics.items():
        assert topic.internal or topic.topic_id in ids or after.topics[name] == topic
    kept = {acl for acl in before.acls if acl_address(acl) not in own}
    assert kept - after.acls <= {a_binding("User:mine-in", "Read", "mine.kept")}  # migrated
    for entity, quota in before.quotas.items():
        assert quota_address(entity) in own or after.quotas[entity] == quota
    for user, held in attacked.keys_before.items():
        assert user_address(user) in own or keys[user] == held
    for name, found in before.virtual_clusters.items():
        if virtual_cluster_address(name) not in own:
            assert after.virtual_clusters[name].options == found.options
        for entity_type in EntityType:
            for member in found.members(entity_type):
                if member_address(name, entity_type, member) not in own and not _is_own_link(
                    found, entity_type, member, ids
                ):
                    assert member in after.virtual_clusters[name].members(entity_type)
        for link in found.links.values():
            address = member_address(name, EntityType.TOPIC, link.name)
            if address not in own and link.topic_id not in ids:
                assert after.virtual_clusters[name].links[link.name] == link


def _is_own_link(
    found: VirtualCluster, entity_type: EntityType, member: str, ids: Set[str | None]
) -> bool:
    """Return whether it is the link of a topic of this project, which no record names."""
    return entity_type is EntityType.TOPIC and found.links[member].topic_id in ids


def attack(attacked: Attacked, seed: int, count: int) -> tuple[int, int]:
    """Apply so many forgeries; return how many of them were plans, and how many were applied."""
    world = attacked.world
    document, genuine = honest(world), executed(world.plan)
    rng = random.Random(seed)  # noqa: S311 (the same every time)
    plans = applied = 0
    for _ in range(count):
        text = consistent(rng, document, world)
        if text is None:
            continue
        try:
            sealed = read_sealed_plan(text, "forged.json")
        except UntrustedPlanError:
            continue
        if executed(sealed.plan) == genuine:
            continue
        plans += 1
        after = attacked.apply(sealed)
        if after is not None:
            applied += 1
            check_unharmed(attacked, after)
    return plans, applied


def test_a_plan_of_fewer_changes_is_applied(attacked: Attacked) -> None:
    """So that the generator's forgeries are refused for what they do, not for their form."""
    world = attacked.world
    document = honest(world)
    (index,) = [
        number
        for number, change in enumerate(document["changes"])
        if change["address"] == "topic/mine.policy"
    ]
    text = consistent_of(
        document, [*document["changes"][:index], *document["changes"][index + 1 :]]
    )
    assert text is not None
    after = attacked.apply(read_sealed_plan(text, "forged.json"))
    assert after is not None
    check_harmless(attacked, after, partly=True)


def test_a_few_consistent_forgeries_do_no_harm(attacked: Attacked) -> None:
    plans, _ = attack(attacked, seed=0, count=examples(60))
    assert plans > 10


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_consistent_forgery_does_harm(attacked: Attacked, chunk: int) -> None:
    """10,000 in all."""
    plans, applied = attack(attacked, seed=chunk + 1, count=A_CHUNK)
    assert plans > A_CHUNK // 10
    assert applied > 0
