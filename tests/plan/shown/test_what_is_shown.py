"""A plan shows what it does: change one shown value, seal the file again, and it is refused."""

import copy
from collections.abc import Iterator

import pytest
from apply.faults import FakeClock
from apply.forging import World, make_world, resealed
from apply.plans import sealed_now
from builders import (
    IN_ENVIRONMENT,
    a_cluster,
    a_consumer_group,
    a_desired,
    a_topic,
    a_topic_state,
    an_owner,
    plan_of,
    some_broker_configs,
    some_client_metrics,
    some_configs,
    with_configs,
)
from plan.plan_json import sealed_to_json

from kgitops.model.cluster_state import TopicUsage, Usage
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.json.declared import DeletionPolicy, OffsetReset
from kgitops.model.json.layout import json_text
from kgitops.model.registry import Json
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import Kind
from kgitops.plan.document.plan import Plan
from kgitops.plan.reading import read_plan
from kgitops.plan.shown import add_usage

SESSION = "consumer.session.timeout.ms"
DELETE = DeletionPolicy.DELETE


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(str(IN_ENVIRONMENT.env), "a password")
        yield make_world(tmp_path_factory.mktemp("world"))


def of_many_kinds(world: World) -> Plan:
    """All changes of the world, with what brokers measured of its topics."""
    usage = TopicUsage(
        log_start_offsets=(1, 0, 0),
        high_watermarks=(101, 0, 7),
        size_bytes=(2048, 0, 70),
        active_groups=("billing",),
    )
    names = ["mine.alter", "mine.buried", "mine.gone", "mine.log", "mine.move"]
    return add_usage(world.plan, Usage(topics=dict.fromkeys(names, usage)))


def of_groups_and_metrics(world: World) -> Plan:
    """Changes of the kinds that the world has none of."""
    del world
    orders = a_topic_state("orders", partitions=2)
    usage = TopicUsage(log_start_offsets=(10, 0), high_watermarks=(20, 5))
    gone = a_consumer_group("gone", configs={SESSION: "50000"}, deletion_policy=DELETE)
    left = some_client_metrics("left", deletion_policy=DELETE)
    kept = a_consumer_group("billing", configs={SESSION: "50000"})
    held = {SESSION: "50000"}
    state = a_cluster(
        orders,
        FoundGroup(name="gone", known=True, offsets={("orders", 0): 3}, configs=held),
        FoundGroup(name="billing", known=True, offsets={("orders", 0): 15}, configs=held),
        owners={it.address: an_owner(it) for it in (gone, left, kept)},
        usage={"orders": usage},
    )
    metrics = ConfigResourceType.CLIENT_METRICS
    state = with_configs(
        state,
        some_configs(metrics, "left", {"interval.ms": "60000"}),
        some_configs(metrics, "found", {"interval.ms": "2000"}),
        some_configs(ConfigResourceType.BROKER, "<default>", {"log.retention.ms": "2000"}),
    )
    reset = OffsetReset(version="1", position="earliest", topics=("orders",))
    desired = a_desired(
        a_consumer_group("billing", configs={SESSION: "45000"}, reset=reset),
        a_consumer_group("new", configs={SESSION: "60000"}),
        some_client_metrics("new"),
        some_client_metrics("found", interval_ms="1000"),
        some_broker_configs(log_retention_ms="1000"),
        some_broker_configs("1"),
        a_topic("orders", partitions=2),
    )
    return plan_of(desired, state)


PLANS = [of_many_kinds, of_groups_and_metrics]


@pytest.fixture(scope="module", params=PLANS, ids=lambda make: make.__name__)
def document(world: World, request: pytest.FixtureRequest) -> dict[str, Json]:
    plan = request.param(world)
    assert not plan.verdict.stops, plan.verdict.reasons
    found: dict[str, Json] = sealed_to_json(sealed_now(plan, FakeClock(), "shown"))
    return found


def test_there_are_changes_of_every_kind(world: World) -> None:
    changes = [change for make in PLANS for change in make(world).changes]
    assert {change.kind for change in changes} == set(Kind)
    assert len(changes) > 40


def test_an_honest_plan_is_read(document: dict[str, Json]) -> None:
    assert read_plan(json_text(document), "plan.json")


def _other(value: Json) -> Iterator[Json]:
    """Values in the place of this one."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield f"{value}0"
            yield ""
        case None:
            yield "1"
        case list():
            yield value[1:] if value else ["1"]
            yield [*value, *value[:1]] or ["x"]
        case dict():
            for key in value:
                yield {name: value[name] for name in value if name != key}
                for item in _other(value[key]):
                    yield {**value, key: item}
            yield {**value, "more": "1"}


def _lies(change: dict[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """The change with one shown value changed, and the name of the value."""
    for at, field in enumerate(change["fields"]):
        for part in ("path", "before", "after", "code", "note"):
            for value in _other(field.get(part)):
                lied = copy.deepcopy(change)
                lied["fields"][at][part] = "KG100" if part == "code" else value
                yield f"fields[{at}].{part}", lied
        rest = [it for it in change["fields"] if it is not field]
        yield f"fields[{at}]", {**change, "fields": rest}
    invented = {**dict.fromkeys(["code", "note"]), "path": "configs.x", "before": "1", "after": "2"}
    yield "fields", {**change, "fields": [*change["fields"], invented]}
    for risks in ([*change["risks"][1:]], [*change["risks"], "KG131"], ["KG131"]):
        if risks and risks != change["risks"]:
            reason = {**change["reason"], "code": risks[0], "level": _LEVELS.get(risks[0], "safe")}
            yield "risks", {**change, "risks": risks, "reason": reason}
    for because in ("it is declared, and safe", f"{change['reason']['because']} "):
        yield "because", {**change, "reason": {**change["reason"], "because": because}}
    for key in ("impact", "after"):
        for value in _other(change[key]):
            yield key, {**change, key: value}
    for actions in (["create"], ["update"], ["delete"], ["forget"], ["adopt"], ["adopt", "update"]):
        if actions != change["actions"]:
            yield "actions", {**change, "actions": actions}
    basis = change.get("basis") or {}
    for key in basis:
        yield f"basis.{key}", {**change, "basis": {it: basis[it] for it in basis if it != key}}


_LEVELS = {"KG131": "safe"}


def _refusals(document: dict[str, Json], step: int) -> dict[str, int]:
    """Read the plan with each ``step``-th lie; count them by the name of the value."""
    tried: dict[str, int] = {}
    number = 0
    for at, change in enumerate(document["changes"]):
        for name, lied in _lies(change):
            number += 1
            if number % step:
                continue
            changes = [*document["changes"][:at], lied, *document["changes"][at + 1 :]]
            said = None
            try:
                read_plan(resealed({**document, "changes": changes}), "plan.json")
            except UntrustedPlanError as error:
                said = error
            assert said is not None, (change["address"], name, lied)
            kind = name.partition("[")[0].partition(".")[0]
            tried[kind] = tried.get(kind, 0) + 1
    return tried


SHOWN = {"fields", "risks", "because", "impact", "after", "actions"}


def test_shown_values_are_held_to_what_the_plan_does(document: dict[str, Json]) -> None:
    assert _refusals(document, 17 if len(document["changes"]) > 20 else 3).keys() >= SHOWN


@pytest.mark.slow
def test_each_shown_value_is_held_to_what_the_plan_does(document: dict[str, Json]) -> None:
    assert min(_refusals(document, 1).values()) >= 2


def _changed(document: dict[str, Json], address: str) -> dict[str, Json]:
    return next(change for change in document["changes"] if change["address"] == address)


def _refused(document: dict[str, Json]) -> str:
    with pytest.raises(UntrustedPlanError) as caught:
        read_plan(resealed(document), "plan.json")
    return str(caught.value)


def test_what_was_there_is_what_the_cluster_is_asked_for(world: World) -> None:
    """A cut of the retention can't be shown as a rise: an apply checks the precondition."""
    document = sealed_to_json(sealed_now(world.plan, FakeClock(), "shown"))
    change = _changed(document, "topic/mine.alter")
    (field,) = [it for it in change["fields"] if it["path"] == "configs.retention.bytes"]
    change["before"]["configs"]["retention.bytes"] = field["before"] = "2"
    said = _refused(document)
    assert "topic/mine.alter" in said


def test_a_plan_is_valid_for_seven_days_at_most(world: World) -> None:
    document = sealed_to_json(sealed_now(world.plan, FakeClock(), "shown"))
    assert read_plan(resealed(document), "plan.json")
    year = int(document["envelope"]["created"][:4]) + 1
    document["envelope"]["expires"] = f"{year}{document['envelope']['created'][4:]}"
    assert "valid for at most 7 days" in _refused(document)


def test_a_plan_of_another_version_is_refused_as_one(world: World) -> None:
    document = sealed_to_json(sealed_now(world.plan, FakeClock(), "shown"))
    document["tool"]["version"] = "0.0.1"
    assert read_plan(resealed(document), "plan.json")
    document["changes"][0]["reason"]["because"] = "it was said in other words then"
    assert "was made by kgitops 0.0.1" in _refused(document)


def test_a_refusal_knows_that_another_build_may_have_made_the_plan(world: World) -> None:
    """Two builds can have one version, and then nothing tells an upgrade from a forged plan."""
    document = sealed_to_json(sealed_now(world.plan, FakeClock(), "shown"))
    change = document["changes"][0]
    change["reason"]["because"] = "it was said in other words then"
    assert _refused(document) == (
        "plan.json shows something else than this kgitops derives from it: the reason of "
        f"{change['address']} is not the one that follows from its records; make a new plan. If "
        "no other build of kgitops made this one, find out who changed it"
    )
