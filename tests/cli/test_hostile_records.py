"""Records that no kgitops wrote: ``plan`` refuses what ``registry check`` names, and only that."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import UID, Project, acl, quota, topic

from kgitops.apply.journal.reading import latest_values
from kgitops.cli.main import main
from kgitops.cluster.embedded.store.store import checksum
from kgitops.model.registry import Json

OTHER = "0c6a5ab0-1111-4a52-9d2b-0d7f3f1b9a22"
ORDERS = "own/topic/orders"
DEEP = f"{'[' * 900}{']' * 900}"
OWNER: dict[str, Json] = {
    "schema_version": 2,
    "project": OTHER,
    "topic_id": None,
    "adopted": False,
    "spent": False,
    "last_applied": {
        "kind": "Topic",
        "name": "stranger",
        "partitions": 1,
        "replicationFactor": 1,
        "assignments": None,
        "configs": {},
        "configsPolicy": "Declared",
        "deleteRecordsBefore": {},
        "deletionPolicy": "Delete",
        "deletionPolicyWritten": True,
    },
}
RUN: dict[str, Json] = {"schema_version": 2, "project": UID, "status": "running"}


def record(**fields: Json) -> str:
    return json.dumps({"schema_version": 2, **fields})


def owner(**fields: Json) -> str:
    return json.dumps({**OWNER, **fields})


def applied_as(**fields: Json) -> str:
    return owner(last_applied={**OWNER["last_applied"], **fields})


STRANGER = "own/topic/stranger"
HOSTILE: dict[str, tuple[str, str | bytes]] = {
    "NaN": (STRANGER, owner(topic_id=1).replace("1", "NaN", 1)),
    "NaN in a declaration": (STRANGER, owner().replace('"partitions": 1', '"partitions": NaN')),
    "infinity": (STRANGER, owner().replace('"partitions": 1', '"partitions": -Infinity')),
    "an overflow": (STRANGER, owner().replace('"partitions": 1', '"partitions": 1e999')),
    "a fraction": (STRANGER, owner().replace('"partitions": 1', '"partitions": 1.5')),
    "a huge number": (STRANGER, owner().replace('"partitions": 1', f'"partitions": {"9" * 400}')),
    "beyond 2^53": (STRANGER, owner().replace('"partitions": 1', f'"partitions": {2**63}')),
    "too many digits": (
        STRANGER,
        owner().replace('"partitions": 1', f'"partitions": {"9" * 9_000}'),
    ),
    "a key twice": (STRANGER, owner().replace("{", '{"project": "x", ', 1)),
    "half a pair": (STRANGER, owner(project="\ud800")),
    "half a pair in a key": (STRANGER, applied_as(configs={"\ud800": "1"})),
    "deep": (STRANGER, owner().replace('"configs": {}', f'"configs": {DEEP}')),
    "deeper": (STRANGER, owner().replace('"configs": {}', f'"configs": {"[" * 10**6}')),
    "deep beside": (STRANGER, owner(more=0).replace('"more": 0', f'"more": {DEEP}')),
    "not UTF-8": (STRANGER, owner().encode().replace(b"stranger", b"\xff\xfe")),
    "no key": ("", owner()),
    "no object": (STRANGER, "[]"),
    "no JSON": (STRANGER, "own"),
    "cut": (STRANGER, owner()[:-9]),
    "large": (STRANGER, f'["{"x" * 5_000_000}"]'),
    "no version": (STRANGER, owner().replace('"schema_version": 2, ', "")),
    "version as text": (STRANGER, owner(schema_version="2")),
    "version true": (STRANGER, owner(schema_version=True)),
    "version 0": (STRANGER, owner(schema_version=0)),
    "a newer version": (STRANGER, owner(schema_version=3)),
    "an unknown kind of record": ("novel/x", record()),
    "an unknown kind of record without a version": ("novel/x", "{}"),
    "an owner without a project": (STRANGER, owner().replace('"project"', '"owner"')),
    **{f"an owner's {name}": (STRANGER, owner(**{name: [1]})) for name in OWNER},
    "no declaration": (STRANGER, owner(last_applied={})),
    **{
        f"a declaration's {name}": (STRANGER, applied_as(**{name: [{}]}))
        for name in OWNER["last_applied"]
    },
    "own declaration": (ORDERS, owner(project=UID, last_applied={"kind": "Topic"})),
    "own partitions": (
        ORDERS,
        owner(project=UID, last_applied={**OWNER["last_applied"], "partitions": "3"}),
    ),
    "own policy": (
        ORDERS,
        owner(project=UID, last_applied={**OWNER["last_applied"], "deletionPolicy": "Keep"}),
    ),
    "another kind's declaration": ("own/acl/x", owner(project=UID)),
    "an address of nothing": ("own/", owner()),
    "an address of a slash": ("own//", owner()),
    "an unknown kind of object": ("own/novel/x", owner()),
    "a project without a name": (f"project/{OTHER}", record()),
    "a project's name": (f"project/{OTHER}", record(name=7)),
    "a project's former names": (f"project/{OTHER}", record(name="x", formerly="y")),
    "a release": (f"release/{OTHER}", record(to=7, at="", holder="")),
    "a release of nobody": ("release/", record(to=OTHER, at="", holder="")),
    "a takeover": ("takeover/x/0", record(project=OTHER)),
    "a run": ("run/x", record()),
    "a run's project": ("run/x", record(project=7)),
    "a run's status": ("run/x", json.dumps({**RUN, "status": 7})),
    "a run of this project": ("run/x", json.dumps(RUN)),
    "a run of another project": ("run/x", json.dumps({**RUN, "project": OTHER})),
    "a batch": ("run/x/1", record()),
    "a piece": ("run/x/plan/0", record(text=7)),
    "a nonce": ("nonce/x", record()),
    "a nonce's end": ("nonce/x", record(expires=7)),
    "a claim": ("lock/x", record()),
    "a claim's lease": ("lock/x", record(holder="x", since="x", lease_ms="x")),
    "a suspension": ("suspend", record()),
    "a suspension's end": ("suspend", record(by="x", since="x", reason="", until=7)),
    "a suspension of a project": (f"suspend/{OTHER}", record(by="x")),
    "a suspension until never": (
        "suspend",
        record(by="x", since="x", reason="", until="never"),
    ),
    "a confirmation": ("confirm", record()),
    "a confirmation of a project": (f"confirm/{UID}", record(by=7)),
    "an import": ("import/x", record()),
    "a repair": ("repair/x", record()),
    "a virtual cluster": ("vcs/vc/x", record()),
    "a virtual cluster's options": ("vcs/vc/x", record(options=7)),
    "a link": ("vcs/link/x/y", record(topic="t", topic_id=None, status="ODD")),
    "a link of nothing": ("vcs/link/x/y", record(topic="t", topic_id=None, status="ACTIVE")),
    "an unknown kind of virtual cluster's": ("vcs/novel/x", record()),
    "the mark": ("meta", record(kind="other")),
    "the mark's version": ("meta", record(schema_version=9)),
    "no mark": ("meta", "null"),
}


def put(project: Project, key: str, content: str | bytes) -> int:
    """Write a record as no kgitops would, long ago; return its offset."""
    with closing(project.connect()) as cluster:
        offset = cluster.registry.append([(key or "none", {})])
    text = content if isinstance(content, str) else content.decode("latin-1")
    with closing(sqlite3.connect(project.store)) as store:
        store.execute(
            "UPDATE registry SET key = ?, value = CAST(? AS TEXT), timestamp_ms = 0, crc = ?"
            " WHERE log_offset = ?",
            (key, content, checksum(offset, key, text), offset),
        )
        store.commit()
    return offset


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was applied and then changed; only for copies."""
    project = Project(tmp_path_factory.mktemp("made") / "payments")
    project.write(topic("orders"), topic("refunds", deletionPolicy="Delete"), acl(), quota())
    assert main(["apply", str(project.folder), "--auto-approve"]) == 0
    project.write(topic("orders", configs={"retention.ms": 1000}), acl(), quota())
    return project.folder


@pytest.fixture
def applied(made: Path, project: Project) -> Project:
    shutil.copytree(made, project.folder)
    return project


@pytest.mark.parametrize("case", HOSTILE)
def test_plan_and_check_agree(applied: Project, kgitops: Kgitops, case: str) -> None:
    key, content = HOSTILE[case]
    offset = put(applied, key, content)
    checked = kgitops("registry", "check", applied.folder)
    verdicts = {command: kgitops(command, applied.folder).code for command in ("plan", "drift")}
    applied_code = kgitops("apply", applied.folder, "--auto-approve", "--allow-deletes", "Topic=9")
    print(checked.out, verdicts, applied_code)
    sound = checked.code == 0
    assert checked.code in (0, 5)
    assert verdicts == dict.fromkeys(verdicts, 0 if sound else 5)
    assert (applied_code.code == 0) is sound
    assert "where it should not" not in applied_code.said
    if not sound:
        assert f"  offset {offset}  " in checked.out


@pytest.mark.parametrize("case", ["a suspension", "a suspension's end", "a confirmation"])
def test_a_damaged_record_for_loops_is_repaired_to_apply_less(
    applied: Project, kgitops: Kgitops, case: str
) -> None:
    key, content = HOSTILE[case]
    earlier = {
        "suspend": record(by="x", since="x", reason="x", until="2020-01-01T00:00:00Z"),
        "confirm": record(by="x", at="x", cluster_id="x", registry_topic_id="x", nonce="x"),
    }
    put(applied, key, earlier[key])
    assert kgitops("registry", "check", applied.folder).code == 0
    offset = put(applied, key, content)
    checked = kgitops("registry", "check", applied.folder)
    assert checked.code == 5
    assert f"offset {offset} '{key}' can't be understood" in checked.said
    assert kgitops("registry", "repair", applied.folder, "--auto-approve").code == 0
    assert kgitops("registry", "check", applied.folder).code == 0
    assert kgitops("plan", applied.folder).code == 0
    with closing(applied.connect()) as cluster:
        value = latest_values(cluster.registry.read() or ()).get(key)
    if key == "confirm":
        assert value is None
    else:
        assert value is not None
        assert (value["until"], value["reason"]) == (None, "its record was damaged")


@pytest.mark.parametrize("key", ["suspend", "confirm", f"suspend/{UID}"])
def test_a_damaged_record_for_loops_is_written_again_by_resume(
    applied: Project, kgitops: Kgitops, key: str
) -> None:
    put(applied, key, record(by=7))
    assert kgitops("plan", applied.folder).code == 5
    every = [] if "/" in key else ["--all-projects"]
    assert kgitops("reconcile", "resume", applied.folder, *every).code == 0
    assert kgitops("plan", applied.folder).code == 0
