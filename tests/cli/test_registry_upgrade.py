"""A registry of schema version 1 is used as before; what raises its version says so."""

import json
from contextlib import closing

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, quota, topic
from older_registry import make_version_1, versions

from kgitops.apply.journal import damage
from kgitops.cluster.registry import META_KEY
from kgitops.model.json import records

ANNOUNCED = "raises the registry of this cluster from schema version 1 to 2"
TOLD = "the registry of this cluster now has schema version 2: older versions of kgitops refuse"


@pytest.fixture
def older(project: Project, kgitops: Kgitops) -> Project:
    """A project that kgitops of schema version 1 applied."""
    project.write(topic("orders"), acl(), quota())
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    with closing(project.connect()) as cluster:
        make_version_1(cluster.registry)
    return project


def meta_version(project: Project) -> int:
    with closing(project.connect()) as cluster:
        return versions(cluster.registry.read())[META_KEY]


def test_what_only_reads_leaves_the_version_and_announces_nothing_without_changes(
    older: Project, kgitops: Kgitops
) -> None:
    for words in (
        ("plan", older.folder, "--detailed-exitcode"),
        ("drift", older.folder, "--detailed-exitcode"),
        ("registry", "check", older.folder),
        ("apply", older.folder, "--auto-approve"),
        ("apply", older.folder, "--resume"),
    ):
        ran = kgitops(*words)
        assert ran.code == 0, ran
        assert "schema version" not in ran.said
    assert meta_version(older) == 1


def test_a_plan_announces_it_and_the_apply_tells_it_once(older: Project, kgitops: Kgitops) -> None:
    older.write(topic("orders"), topic("audit"), acl(), quota())
    planned = kgitops("plan", older.folder, "-o", older.plan_file)
    assert planned.code == 0
    assert ANNOUNCED in planned.said
    assert meta_version(older) == 1
    for format_ in ("markdown", "html", "json", "github"):
        assert ANNOUNCED in kgitops("show", older.plan_file, "--format", format_).said
    applied = kgitops("apply", older.plan_file)
    assert applied.code == 0, applied
    assert applied.said.count(TOLD) == 1
    assert meta_version(older) == 2
    again = kgitops("plan", older.folder, "--detailed-exitcode")
    assert (again.code, "schema version" in again.said) == (0, False)


def test_programs_are_told_by_an_event_before_any_step(older: Project, kgitops: Kgitops) -> None:
    older.write(topic("orders"), topic("audit"), acl(), quota())
    ran = kgitops("apply", older.folder, "--auto-approve", "--format", "json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    kinds = [event.get("type") for event in events]
    assert kinds.index("registry_upgraded") < kinds.index("step_started")
    upgrade = events[kinds.index("registry_upgraded")]
    assert (upgrade["before"], upgrade["after"]) == (1, 2)
    assert upgrade["sentence"].startswith(TOLD)


def test_a_suspension_is_a_write_too(older: Project, kgitops: Kgitops) -> None:
    ran = kgitops("reconcile", "suspend", older.folder, "--reason", "a migration")
    assert ran.code == 0, ran
    assert TOLD in ran.said
    assert meta_version(older) == 2


def test_a_release_is_a_write_too(older: Project, kgitops: Kgitops) -> None:
    """An older kgitops would not honour it."""
    other = "6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11"
    ran = kgitops("registry", "release", older.folder, "--to", other)
    assert ran.code == 0, ran
    assert TOLD in ran.said
    assert meta_version(older) == 2


def test_a_repair_is_a_write_too_and_repairs_records_of_version_1(
    older: Project, kgitops: Kgitops
) -> None:
    with closing(older.connect()) as cluster:
        cluster.registry.append([("hello", {})])
    ran = kgitops("registry", "repair", older.folder, "--auto-approve")
    assert ran.code == 0, ran
    assert TOLD in ran.said
    assert meta_version(older) == 2
    assert kgitops("plan", older.folder, "--detailed-exitcode").code == 0


def test_a_loop_tells_it_with_its_turn(older: Project, kgitops: Kgitops) -> None:
    older.write_file(reconcile={"mode": "converge"})
    assert kgitops("reconcile", older.folder, "--once").code == 0
    assert meta_version(older) == 1
    older.write(topic("orders"), topic("audit"), acl(), quota())
    older.write_file(reconcile={"mode": "converge"})
    ran = kgitops("reconcile", older.folder, "--once", "--format", "json")
    turn = next(json.loads(line) for line in ran.out.splitlines() if '"turn"' in line)
    assert turn["notes"][0].startswith(TOLD)
    assert meta_version(older) == 2


def test_a_snapshot_has_the_version_and_one_of_an_older_kgitops_is_of_version_1(
    older: Project, kgitops: Kgitops
) -> None:
    file = older.folder / "state.json"
    assert kgitops("snapshot", older.folder, "-o", file).code == 0
    assert "schema_version" not in json.loads(file.read_text())["registry"]
    older.write(topic("orders"), topic("audit"), acl(), quota())
    assert ANNOUNCED in kgitops("plan", older.folder, "--snapshot", file).said
    assert kgitops("apply", older.folder, "--auto-approve").code == 0
    assert kgitops("snapshot", older.folder, "-o", file).code == 0
    state = json.loads(file.read_text())
    assert state["registry"]["schema_version"] == 2
    state["registry"]["schema_version"] = 3
    file.write_text(json.dumps(state))
    refused = kgitops("plan", older.folder, "--snapshot", file)
    assert refused.code == 5
    assert "use a newer kgitops" in refused.said


@pytest.mark.parametrize(
    "words",
    [
        ("plan",),
        ("drift",),
        ("apply", "--auto-approve"),
        ("apply", "--resume"),
        ("reconcile", "--once"),
        ("registry", "check"),
        ("registry", "repair", "--auto-approve"),
        ("registry", "export"),
        ("snapshot",),
    ],
    ids=" ".join,
)
def test_a_kgitops_that_knows_version_1_refuses_an_upgraded_registry(
    older: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """This kgitops stands in for an older one, which checks versions in the same places."""
    older.write(topic("orders"), topic("audit"), acl(), quota())
    older.write_file(reconcile={"mode": "auto"})
    assert kgitops("apply", older.folder, "--auto-approve").code == 0
    older.write(topic("orders"), topic("audit"), topic("late"), acl())
    older.write_file(reconcile={"mode": "auto"})
    before = older.records()
    monkeypatch.setattr(records, "SCHEMA_VERSIONS", range(1, 2))
    monkeypatch.setattr(records, "SCHEMA_VERSION", 1)
    monkeypatch.setattr(damage, "SCHEMA_VERSION", 1)
    ran = kgitops(*words, older.folder)
    assert ran.code == 5, ran
    assert "use a newer kgitops" in ran.said
    assert older.records() == before
