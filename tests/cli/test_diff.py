"""``kgitops diff``: snapshots, plans and runs of a fleet."""

import json
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, acl, quota, topic
from fleet.output.fleet_results import committed, unit
from report.plans import judged_plan, no_changes, twelve_changes


@pytest.fixture
def snapshots(project: Project, kgitops: Kgitops) -> tuple[Path, Path]:
    """Two days of a cluster: a topic changes, an ACL comes, a quota goes."""
    old, new = project.folder / "monday.json", project.folder / "tuesday.json"
    project.write(topic(), quota())
    assert kgitops("apply", project.folder, "--auto-approve").code == 0
    assert kgitops("snapshot", project.folder, "-o", old).code == 0
    project.write(topic(configs={"retention.ms": 1000}), acl())
    assert (
        kgitops("apply", project.folder, "--auto-approve", "--allow-deletes", "ClientQuota=9").code
        == 0
    )
    assert kgitops("snapshot", project.folder, "-o", new).code == 0
    return old, new


def test_snapshots_side_by_side(snapshots: tuple[Path, Path], kgitops: Kgitops) -> None:
    old, new = snapshots
    ran = kgitops("diff", old, new, "--detailed-exitcode")
    assert ran.code == 2
    assert "~ topic/orders\n      configs.retention.ms  (none) -> 1000\n" in ran.out
    assert "+ acl/" in ran.out
    assert "- quota/" in ran.out
    assert "Diff: 1 added, 1 removed, 1 changed, " in ran.out
    assert kgitops("diff", old, new).code == 0
    same = kgitops("diff", old, old, "--detailed-exitcode")
    assert (same.code, "Diff: 0 added, 0 removed, 0 changed" in same.out) == (0, True)


def test_what_others_deleted_is_removed_though_the_registry_has_it(
    snapshots: tuple[Path, Path], kgitops: Kgitops
) -> None:
    old = snapshots[1]
    new = old.with_name("wednesday.json")
    document = json.loads(old.read_text())
    new.write_text(json.dumps({**document, "acls": [], "topics": []}))
    gone = kgitops("diff", old, new, "--detailed-exitcode")
    assert gone.code == 2
    assert "- acl/" in gone.out
    assert "- topic/orders\n" in gone.out
    assert "+ registry/topic/orders\n" in gone.out
    assert "+ acl/" in kgitops("diff", new, old).out


def test_it_works_without_a_cluster(
    snapshots: tuple[Path, Path], project: Project, kgitops: Kgitops
) -> None:
    project.store.unlink()
    assert kgitops("diff", *snapshots).code == 0
    assert not project.store.exists()


def test_json_has_every_value(snapshots: tuple[Path, Path], kgitops: Kgitops) -> None:
    told = json.loads(kgitops("diff", *snapshots, "--format", "json").out)
    assert (told["kind"], told["compares"]) == ("kgitops.diff", "snapshot")
    changed = [item for item in told["objects"] if item["presence"] == "changed"]
    assert changed == [
        {
            "address": "topic/orders",
            "presence": "changed",
            "values": [{"path": "configs.retention.ms", "new": "1000"}],
        }
    ]
    assert told["summary"] | {"same": 0} == {"added": 1, "removed": 1, "changed": 1, "same": 0}


def test_markdown_is_a_fence(snapshots: tuple[Path, Path], kgitops: Kgitops) -> None:
    lines = kgitops("diff", *snapshots, "--format", "markdown").out.splitlines()
    assert lines[0].startswith("**kgitops diff** of the snapshots `")
    assert (lines[2], lines[-1]) == ("```diff", "```")
    assert "! topic/orders" in lines
    assert "+     configs.retention.ms: 1000" in lines


def test_full_shows_what_was_added_and_removed(
    snapshots: tuple[Path, Path], kgitops: Kgitops
) -> None:
    shown = kgitops("diff", *snapshots, "--full").out
    assert "      quotas." in shown


def test_plans_side_by_side(project: Project, kgitops: Kgitops) -> None:
    """Neither the time nor a line that moved is a difference."""
    one, same, other = (project.folder / f"{name}.json" for name in ("one", "same", "other"))
    project.write(topic(), acl())
    assert kgitops("plan", project.folder, "-o", one).code == 0
    project.write(acl(), topic())
    assert kgitops("plan", project.folder, "-o", same).code == 0
    project.write(topic(partitions=5))
    assert kgitops("plan", project.folder, "-o", other).code == 0
    assert kgitops("diff", one, same, "--detailed-exitcode").code == 0
    ran = kgitops("diff", one, other, "--detailed-exitcode")
    assert ran.code == 2
    assert "      after.partitions  3 -> 5\n" in ran.out
    assert "requests." not in ran.out
    assert "- acl/" in ran.out


def test_runs_of_a_fleet_side_by_side(here: Path, kgitops: Kgitops) -> None:
    old, new = here / "old", here / "new"
    committed(old, (unit("east"), judged_plan()), (unit("west"), twelve_changes()))
    committed(new, (unit("east"), judged_plan()), (unit("west"), no_changes()))
    ran = kgitops("diff", old, new, "--detailed-exitcode")
    assert ran.code == 2, ran.said
    assert "- west/" in ran.out
    assert "east/" not in ran.out
    assert kgitops("diff", old, old, "--detailed-exitcode").code == 0


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (None, 64, "can't be read: no such file or directory; name a file of kgitops snapshot -o"),
        (b"\xff", 64, "is not UTF-8; name a file of kgitops snapshot -o or plan -o"),
        (b"", 9, "is not JSON, or is cut off"),
        (b'{"kind": "kgitops.snapshot"}', 5, ""),
        (b'{"kind": "kgitops.fleet"}', 9, ""),
        (b'{"kind": "kgitops.plan"}', 9, ""),
    ],
)
def test_what_is_neither(
    content: bytes | None, code: int, says: str, snapshots: tuple[Path, Path], kgitops: Kgitops
) -> None:
    other = snapshots[0].with_name("other.json")
    if content is not None:
        other.write_bytes(content)
    ran = kgitops("diff", snapshots[0], other)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err


def test_a_snapshot_and_a_plan(
    snapshots: tuple[Path, Path], project: Project, kgitops: Kgitops
) -> None:
    plan = project.folder / "plan.json"
    assert kgitops("plan", project.folder, "-o", plan).code == 0
    ran = kgitops("diff", snapshots[0], plan)
    assert ran.code == 64
    assert "is a snapshot and" in ran.err
    assert "compare two of one kind" in ran.err


def test_an_edited_plan_is_not_compared(project: Project, kgitops: Kgitops) -> None:
    plan = project.folder / "plan.json"
    project.write(topic())
    assert kgitops("plan", project.folder, "-o", plan).code == 0
    plan.write_text(plan.read_text().replace('"partitions": 3', '"partitions": 4', 1))
    assert kgitops("diff", plan, plan).code == 9


@pytest.mark.parametrize("command", ["diff", "plan"])
def test_a_snapshot_with_half_a_surrogate_pair_is_refused_by_its_path(
    command: str, snapshots: tuple[Path, Path], project: Project, kgitops: Kgitops
) -> None:
    """It can be neither compared by its digest nor printed."""
    old, new = snapshots
    document = json.loads(new.read_text())
    document["topics"][0]["configs"]["retention.ms"] = "\ud800"
    new.write_text(json.dumps(document))
    words = {
        "diff": ("diff", old, new),
        "plan": ("plan", project.folder, "--snapshot", new),
    }
    ran = kgitops(*words[command])
    assert ran.code == 8, ran
    place = "topics[0].configs.retention.ms holds half a surrogate pair"
    assert f"{new} is not a snapshot" in ran.said
    assert place in ran.said
