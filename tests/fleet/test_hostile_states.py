"""States that no kgitops wrote: each is one refused unit that names its cluster, never the end."""

import json
import os
import re
from collections.abc import Callable, Sequence

import pytest
from fleet import fleet_commands
from fleet.fleet_commands import CLUSTERS, Fleet, Plans

from kgitops.fleet import auditing, compiling, planning
from kgitops.fleet.output.publish import run_folder
from kgitops.fleet.pipeline import run_units
from kgitops.fleet.units.discovery import find_units
from kgitops.model.errors import UsageError
from kgitops.model.json.codec import encode, to_json
from kgitops.model.registry import Json

applied_fleet = fleet_commands.applied_fleet
fleet = fleet_commands.fleet
kgitops = fleet_commands.kgitops
on_shared_spark = fleet_commands.on_shared_spark
plans = fleet_commands.plans

LONE = "\ud800"
Spoils = Callable[[dict[str, Json]], object]
TOPIC = {"partition_count": 3}


def _registry(state: dict[str, Json]) -> dict[str, Json]:
    return dict.__getitem__(state, "registry")


def _owner(state: dict[str, Json]) -> dict[str, Json]:
    return dict.__getitem__(_registry(state)["owners"], "topic/orders")


HOSTILE: dict[str, Spoils] = {
    "lone-in-topic": lambda state: state["topics"][0].update(name=LONE),
    "lone-in-config": lambda state: state["topics"][0]["configs"].update({"retention.ms": LONE}),
    "lone-in-config-key": lambda state: state["topics"][0]["configs"].update({LONE: "1"}),
    "lone-in-principal": lambda state: state["acls"][0].update(principal=f"User:{LONE}"),
    "lone-in-quota": lambda state: state["quotas"][0].update(entity={"user": LONE}),
    "lone-in-cluster-id": lambda state: state.update(cluster_id=LONE),
    "lone-in-time": lambda state: state.update(captured_at=LONE),
    "lone-in-version": lambda state: state.update(format_version=LONE),
    "lone-in-kind": lambda state: state.update(kind=LONE),
    "lone-in-unknown-key": lambda state: state.update({LONE: 1}),
    "lone-in-broker": lambda state: state["brokers"][0].update(rack=LONE),
    "lone-in-setting": lambda state: state["broker_defaults"].update({"x": LONE}),
    "lone-in-address": lambda state: _registry(state)["owners"].update({LONE: _owner(state)}),
    "lone-in-declaration": lambda state: _owner(state)["last_applied"].update(labels={"a": LONE}),
    "lone-in-project": lambda state: _registry(state)["projects"].update({"x": LONE}),
    "huge-number": lambda state: state.update(controller_id=10**400),
    "huge-in-declaration": lambda state: _owner(state)["last_applied"].update(partitions=10**400),
    "negative-partitions": lambda state: state["topics"][0].update(assignment=-1),
    "fraction": lambda state: state.update(controller_id=1.5),
    "fraction-in-declaration": lambda state: _owner(state)["last_applied"].update(partitions=1.5),
    "text-for-number": lambda state: state.update(controller_id="1"),
    "number-for-text": lambda state: state["topics"][0].update(name=1),
    "null-topic": lambda state: state["topics"].append(None),
    "null-topics": lambda state: state.update(topics=None),
    "list-for-object": lambda state: _registry(state).update(owners=[]),
    "list-for-declaration": lambda state: _owner(state).update(last_applied=[]),
    "wrong-in-declaration": lambda state: _owner(state)["last_applied"].update(partitions=[{}]),
    "configs-of-numbers": lambda state: state["topics"][0].update(configs={"retention.ms": 1}),
    "topic-twice": lambda state: state["topics"].append(state["topics"][0]),
    "unknown-enum": lambda state: state["acls"][0].update(operation="Everything"),
    "no-registry": lambda state: state.pop("registry"),
    "no-topics": lambda state: state.pop("topics"),
    "huge-offset": lambda state: _registry(state).update(offset="9" * 400),
    "another-version": lambda state: state.update(format_version="9.0"),
    "record-version": lambda state: _registry(state).update(schema_version=10**30),
}
"""What each does to the parsed snapshot."""

SPELT: dict[str, Callable[[str], str]] = {
    "not-a-number": lambda text: text.replace('"partitions":3', '"partitions":NaN'),
    "infinity": lambda text: text.replace('"partitions":3', '"partitions":-Infinity'),
    "overflow": lambda text: text.replace('"partitions":3', '"partitions":1e999'),
    "key-twice": lambda text: text.replace("{", '{"kind":"kgitops.snapshot",', 1),
    "deep": lambda text: text.replace('"partitions":3', f'"partitions":{"[" * 9**6}'),
    "deep-and-whole": lambda text: text.replace(
        '"partitions":3', f'"partitions":{"[" * 900}{"]" * 900}'
    ),
    "digits": lambda text: text.replace('"partitions":3', f'"partitions":{"9" * 9_999}'),
    "empty": lambda _: "",
    "cut": lambda text: text[: len(text) // 2],
    "a-number": lambda _: "1",
    "null": lambda _: "null",
    "twice": lambda text: text * 2,
}
"""What each does to the snapshot's text."""

BYTES: dict[str, Callable[[bytes], bytes]] = {
    "not-utf-8": lambda content: content.replace(b'"orders"', b'"\xff\xfe"', 1),
    "coded-surrogate": lambda content: content.replace(b'"orders"', b'"\xed\xa0\x80"', 1),
    "utf-16": lambda content: content.decode().encode("utf-16"),
    "zeros": lambda content: bytes(len(content)),
}


def spoil(fleet: Fleet) -> set[str]:
    """Add a cluster for each hostile state; return their names."""
    sound = (fleet.states / "east.json").read_bytes()
    for name, change in HOSTILE.items():
        state = json.loads(sound)
        change(state)
        (fleet.states / f"{name}.json").write_text(json.dumps(state))
    for name, respell in SPELT.items():
        text = respell(json.dumps(json.loads(sound), separators=(",", ":")))
        assert text.encode() != sound
        (fleet.states / f"{name}.json").write_text(text)
    for name, recode in BYTES.items():
        (fleet.states / f"{name}.json").write_bytes(recode(sound))
    (fleet.states / "folder.json").mkdir()
    (fleet.states / "nowhere.json").symlink_to("nothing")
    hostile = {*HOSTILE, *SPELT, *BYTES}
    names = [*CLUSTERS, *hostile, "folder", "nowhere"]
    fleet.project.write_file(
        clusters={name: {"url": f"embedded:.kgitops/{name}.db", "brokers": 3} for name in names}
    )
    return hostile


def check_units(units: Sequence[dict[str, Json]], hostile: set[str]) -> None:
    refused = {unit["cluster"]: unit for unit in units if not unit["planned"]}
    planned = [unit["cluster"] for unit in units if unit["planned"]]
    assert sorted(planned) == sorted(CLUSTERS)
    assert refused.keys() >= hostile
    for cluster in hostile:
        unit = refused[cluster]
        (reason,) = unit["reasons"]
        assert unit["exit"] in (5, 8), unit
        assert f"{cluster}.json" in reason["sentence"], unit
        assert not re.search(r"\w+Error\b", reason["sentence"]), unit


def planned_here(fleet: Fleet) -> list[dict[str, Json]]:
    """The units of a run whose tasks are in this process."""
    units = find_units((fleet.project.folder,), (fleet.states,), (), {})
    with run_folder(fleet.out) as private:
        run = run_units(units, private, lambda specs: list(map(planning.plan_task, specs)))
    return [dict(to_json(unit)) for unit in run.units]


SAID = {
    "cut": (8, "it is not complete JSON"),
    "another-version": (5, "is of format version '9.0', this kgitops knows"),
    "no-registry": (5, "has no registry part"),
}
"""The exit and a part of the sentence; others are those of tests/cluster/test_snapshot_file.py."""


def test_hostile_states_are_refused_units(fleet: Fleet) -> None:
    hostile = spoil(fleet)
    units = planned_here(fleet)
    check_units(units, hostile)
    for unit in units:
        code, sentence = SAID.get(unit["cluster"], (unit["exit"], ""))
        assert unit["exit"] == code, unit
        if sentence:
            assert sentence in unit["reasons"][0]["sentence"], unit
            assert unit["reasons"][0]["exit"] == code
            assert (unit["changes"], unit["actions"], unit["requests"]) == ({}, {}, {})


@pytest.mark.spark
def test_hostile_states_are_refused_units_of_the_run(fleet: Fleet, plans: Plans) -> None:
    hostile = spoil(fleet)
    ran = plans()
    assert ran.code == 8, ran
    check_units(fleet.result()["units"], hostile)


def failing(name: str, module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inject a fault of kgitops itself into the work on the cluster north."""
    work = getattr(module, name)

    def fails(*args: object, **more: object) -> object:
        if "north" in repr((args, more)):
            raise RuntimeError("with a value from the environment")
        return work(*args, **more)

    monkeypatch.setattr(module, name, fails)


SENTENCE = "kgitops failed where it should not: RuntimeError; run kgitops --debug "


@pytest.mark.parametrize("name", ["plan_of_unit", "write_plan"])
def test_a_fault_of_kgitops_itself_is_one_units(
    name: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(name, planning, monkeypatch)
    units = {unit["cluster"]: unit for unit in planned_here(fleet)}
    assert [unit["planned"] for unit in units.values()] == [True, False, True]
    (reason,) = units["north"]["reasons"]
    assert reason["sentence"] == f"{SENTENCE}plan -c north and report what it prints"


def test_an_audit_and_a_compilation_have_units_too(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing("_audit", auditing, monkeypatch)
    failing("write_desired", compiling, monkeypatch)
    found = find_units((fleet.project.folder,), (fleet.states,), (), {}).units
    audits = [
        json.loads(auditing.audit_task(encode(auditing.AuditTask(unit=unit, here=".")).decode()))
        for unit in found
    ]
    failed = [audit for audit in audits if audit["audit"] is None]
    assert [audit["cluster"] for audit in failed] == ["north"]
    assert failed[0]["reason"].startswith(f"{SENTENCE}policy audit -c north")
    answers = [
        json.loads(
            compiling.compile_task(
                encode(
                    compiling.CompileTask(
                        unit=unit, out=str(fleet.folder / f"{unit.cluster}.parquet"), here="."
                    )
                ).decode()
            )
        )
        for unit in found
    ]
    (finding,) = [finding for answer in answers for finding in answer]
    assert finding["problem"].startswith("payments can't be compiled for north: ")


def test_a_path_that_is_not_utf_8_is_a_finding_about_its_unit(fleet: Fleet) -> None:
    odd = fleet.states / os.fsdecode(b"\xff")
    odd.mkdir()
    (fleet.states / "north.json").rename(odd / "north.json")
    units = find_units((fleet.project.folder,), (fleet.states,), (), {})
    assert [unit["cluster"] for unit in planned_here(fleet)] == ["east", "west"]
    assert "payments can't be planned for north" in units.findings[0].problem


def test_a_folder_that_is_not_utf_8_is_a_usage_error(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = fleet.folder / os.fsdecode(b"\xff")
    odd.mkdir()
    monkeypatch.chdir(odd)
    with pytest.raises(UsageError, match="is not UTF-8"):
        planned_here(fleet)
