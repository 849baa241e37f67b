"""`kgitops registry check|repair`: what can't be read is named, and blocks nobody for ever."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, quota, topic

from kgitops.cli.main import main
from kgitops.cluster.embedded.store.store import checksum

DOCUMENTS = (topic("orders"), topic("audit"), acl(), quota())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was applied; only for copies."""
    project = Project(tmp_path_factory.mktemp("made") / "payments").write(*DOCUMENTS)
    assert main(["apply", str(project.folder), "--auto-approve"]) == 0
    return project.folder


@pytest.fixture
def applied(made: Path, project: Project) -> Project:
    shutil.copytree(made, project.folder)
    return project


def put(project: Project, key: str, text: str, *, sound: bool = True) -> int:
    """Write a record as no kgitops would; its offset."""
    with closing(project.connect()) as cluster:
        offset = cluster.registry.append([(key, {})])
    with closing(sqlite3.connect(project.store)) as store:
        crc = checksum(offset, key, text) + (0 if sound else 1)
        store.execute(
            "UPDATE registry SET value = ?, timestamp_ms = 0, crc = ? WHERE key = ?",
            (text, crc, key),
        )
        store.commit()
    return offset


def owner(**changes: object) -> str:
    return json.dumps({"schema_version": 1, "project": "x", **changes})


GARBAGE = {
    "no JSON": ("own/topic/orders", "hello", "topic/orders has no owner any more"),
    "no object": ("own/topic/orders", "[1]", "topic/orders has no owner any more"),
    "no version": ("own/topic/orders", "{}", "topic/orders has no owner any more"),
    "half an owner": ("own/topic/orders", owner(), "topic/orders has no owner any more"),
    "no address": ("own/", "{}", " has no owner any more"),
    "a project": ("project/x", '{"schema_version": 1}', "is lost until its next apply"),
    "a virtual cluster": ("vcs/emea", "7", "its record of virtual clusters is lost"),
    "a run": ("run/x", '{"schema_version": 1}', "its run can't be resumed"),
    "a batch": ("run/x/1", '{"schema_version": 1}', "its run can't be resumed"),
    "a piece of a plan": ("run/x/plan/0", '{"schema_version": 1}', "can't be resumed"),
    "a nonce": ("nonce/x", "spent", "its plan counts as applied for ever"),
    "a claim": ("lock/x", '{"schema_version": 1}', "the claim is dropped"),
    "the mark": ("meta", "hello", "it is written again"),
    "a stranger": ("hello", "world", "kgitops did not write it"),
    "a stranger's object": ("hello", "{}", "kgitops did not write it"),
}


@pytest.mark.parametrize("case", GARBAGE)
def test_garbage_is_named_then_mended_and_the_rest_is_as_it_was(
    applied: Project, kgitops: Kgitops, case: str
) -> None:
    key, text, remedy = GARBAGE[case]
    offset = put(applied, key, text)

    checked = kgitops("registry", "check", applied.folder)
    assert checked.code == 5, checked
    assert f"  offset {offset}  '{key}' " in checked.out
    assert remedy in checked.out
    tried = kgitops("registry", "repair", applied.folder, "--dry-run")
    assert (tried.code, tried.out) == (5, checked.out)
    asked = kgitops("registry", "repair", applied.folder)
    assert asked.code == 64
    assert kgitops("registry", "check", applied.folder).out == checked.out

    mended = kgitops("registry", "repair", applied.folder, "--auto-approve")
    assert mended.code == 0, mended
    assert "Mended: 1." in mended.out
    assert kgitops("registry", "check", applied.folder).code == 0
    plan = json.loads(kgitops("plan", applied.folder, "--format", "json").out)
    lost = key == "own/topic/orders"
    assert [(change["address"], change["actions"]) for change in plan["changes"]] == (
        [("topic/orders", ["adopt"])] if lost else []
    )
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    assert kgitops("plan", applied.folder, "--detailed-exitcode").code == 0


@pytest.mark.parametrize("key", ["own/topic/orders", "nonce/x", "hello", "meta"])
def test_a_record_that_the_disk_damaged_is_mended_too(
    applied: Project, kgitops: Kgitops, key: str
) -> None:
    put(applied, key, "{}", sound=False)
    ran = kgitops("plan", applied.folder)
    assert ran.code == 5
    assert "kgitops registry check" in ran.said
    assert kgitops("registry", "repair", applied.folder, "--auto-approve").code == 0
    assert kgitops("plan", applied.folder).code == 0


def test_what_is_lost_is_never_deleted(applied: Project, kgitops: Kgitops) -> None:
    """Nobody owns it: not even a Delete policy of a document that goes takes it along."""
    applied.write(topic("orders", deletionPolicy="Delete"), *DOCUMENTS[1:])
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    put(applied, "own/topic/orders", "hello")
    assert kgitops("registry", "repair", applied.folder, "--auto-approve").code == 0
    applied.write(*DOCUMENTS[1:])
    assert kgitops("apply", applied.folder, "--auto-approve").code == 0
    with closing(applied.connect()) as cluster:
        assert "orders" in cluster.read_state().topics


def test_a_spent_plan_stays_spent(applied: Project, kgitops: Kgitops) -> None:
    applied.write(*DOCUMENTS, topic("late"))
    assert kgitops("plan", applied.folder, "-o", applied.plan_file).code == 0
    nonce = json.loads(applied.plan_file.read_text())["envelope"]["nonce"]
    put(applied, f"nonce/{nonce}", "hello")
    assert kgitops("registry", "repair", applied.folder, "--auto-approve").code == 0
    ran = kgitops("apply", applied.plan_file)
    assert ran.code == 9
    assert "already applied" in ran.said


def test_what_a_newer_kgitops_wrote_is_not_touched(applied: Project, kgitops: Kgitops) -> None:
    put(applied, "own/topic/orders", '{"schema_version": 3}')
    put(applied, "hello", "world")
    ran = kgitops("registry", "repair", applied.folder, "--auto-approve")
    assert ran.code == 5
    assert "so nothing was mended; use a newer kgitops" in ran.said
    assert "'hello'" in kgitops("registry", "check", applied.folder).out


def test_a_claim_that_can_not_be_read_may_be_of_somebody_at_work(
    applied: Project, kgitops: Kgitops
) -> None:
    put(applied, "lock/x", "hello")
    with closing(sqlite3.connect(applied.store)) as store:
        store.execute(
            "UPDATE registry SET timestamp_ms = CAST(strftime('%s') AS INTEGER) * 1000"
            " WHERE key = 'lock/x'"
        )
        store.commit()
    ran = kgitops("registry", "repair", applied.folder, "--auto-approve")
    assert ran.code == 7
    assert "its holder may be at work" in ran.said


def test_the_repair_is_written_down(applied: Project, kgitops: Kgitops) -> None:
    offset = put(applied, "own/topic/orders", "hello")
    assert kgitops("registry", "repair", applied.folder, "--auto-approve").code == 0
    with closing(applied.connect()) as cluster:
        (record,) = [e for e in cluster.registry.read() or () if e.key.startswith("repair/")]
    assert record.value is not None
    assert record.value["records"] == [
        {
            "offset": str(offset),
            "key": "own/topic/orders",
            "remedy": "topic/orders has no owner any more: it is kept; declare it to adopt it",
        }
    ]


def test_a_sound_registry_and_none_at_all(project: Project, kgitops: Kgitops) -> None:
    project.write(*DOCUMENTS)
    assert kgitops("registry", "check", project.folder).out == "There is no registry.\n"
    assert kgitops("registry", "repair", project.folder).code == 0
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    ran = kgitops("registry", "check", project.folder)
    assert ran.code == 0
    assert ran.out.endswith(" records, all of them sound.\n")
    before = project.records()
    assert kgitops("registry", "repair", project.folder, "--auto-approve").code == 0
    assert project.records() == before
