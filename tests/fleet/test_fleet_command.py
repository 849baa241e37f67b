"""``kgitops fleet plan`` on fleets of which something is broken, and what becomes of its plans."""

import re
import shutil
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import EXAMPLES, document, topic
from fleet import breaking, fleet_commands
from fleet.breaking import Breaks
from fleet.fleet_commands import BROKEN, CLUSTERS, DECLARED, EDITED, Fleet, Plans
from fleet.spark import failing_work

from kgitops.fleet import pipeline
from kgitops.fleet.output.publish import run_folder
from kgitops.model.requests import DeleteTopicRequest

applied_fleet = fleet_commands.applied_fleet
fleet = fleet_commands.fleet
kgitops = fleet_commands.kgitops
on_shared_spark = fleet_commands.on_shared_spark
plans = fleet_commands.plans


def check_others_are_planned(fleet: Fleet) -> None:
    for cluster in CLUSTERS:
        if cluster != BROKEN:
            unit = fleet.unit(cluster)
            assert (unit["exit"], unit["actions"]) == (2, {"update": 1}), unit
    assert "delete" not in fleet.result()["units"][0]["actions"]


def check_broken_has_no_plan(fleet: Fleet, code: int, sentence: str) -> None:
    """It says why, and nothing that could be taken for a change is anywhere."""
    unit = fleet.unit(BROKEN)
    (reason,) = unit["reasons"]
    assert re.search(sentence, reason["sentence"]), reason
    assert (unit["planned"], unit["exit"], reason["exit"]) == (False, code, code)
    assert (unit["changes"], unit["actions"], unit["requests"]) == ({}, {}, {})
    assert fleet.files(BROKEN) == ["plans"]


CUT, LOST = breaking.cut, breaking.without_last_row
BROKEN_FILES: list[tuple[str, Breaks, int, str]] = [
    ("state", CUT, 8, "north.parquet: it is not a whole Parquet file; make"),
    ("state", LOST, 5, "its header says 4 rows, but there are 3"),
    ("declared", CUT, 8, "it is not a whole Parquet file; compile it again"),
    ("declared", LOST, 5, "its header says 4 rows, but there are 3"),
]
"""One for each exit; tables/test_refused_tables.py has all ways to break them."""


@pytest.mark.parametrize(("side", "breaks", "code", "sentence"), BROKEN_FILES)
def test_a_broken_file_is_the_only_one_that_is_not_planned(
    side: str,
    breaks: Breaks,
    code: int,
    sentence: str,
    fleet: Fleet,
    plans: Plans,
    kgitops: Kgitops,
) -> None:
    """Whatever is missing of what is declared would otherwise be deleted."""
    fleet.as_rows()
    assert kgitops("fleet", "compile", "payments", "-o", "rows").code == 0
    (rows,) = Path("rows").rglob(f"cluster={BROKEN}/**/*.parquet")
    breaks({"state": fleet.states / f"{BROKEN}.parquet", "declared": rows}[side])
    ran = plans(desired=["rows"])
    assert (ran.code, ran.err) == (code, "")
    check_broken_has_no_plan(fleet, code, sentence)
    check_others_are_planned(fleet)
    assert f"{BROKEN}/payments" in ran.said


def test_rows_beside_manifests_of_the_same_uid_are_refused(
    fleet: Fleet, plans: Plans, kgitops: Kgitops
) -> None:
    """Each of the two would remove what the other declares."""
    fleet.as_rows()
    assert kgitops("fleet", "compile", "payments", "-o", "rows").code == 0
    local = {"url": "embedded:.kgitops/east.db", "brokers": 3}
    fleet.project.write_file(metadata={"name": "billing"}, clusters={"east": local})
    ran = plans(desired=["rows", "payments"])
    assert ran.code == 1
    uid = fleet.project.uid
    assert f"east/billing and east/payments are one project by their uid {uid}" in ran.said
    assert not fleet.out.exists()


def test_a_lost_part_of_either_side_is_no_empty_cluster(
    fleet: Fleet, plans: Plans, kgitops: Kgitops
) -> None:
    fleet.as_rows()
    assert kgitops("fleet", "compile", "payments", "-o", "rows").code == 0
    (file,) = Path("rows").rglob(f"cluster={BROKEN}/**/*.parquet")
    rows = breaking.in_parts(file, file.parent / "parts")
    state = fleet.states / f"{BROKEN}.parquet"
    states = breaking.in_parts(state, fleet.states / f"cluster={BROKEN}")
    assert plans(desired=["rows"]).code == 0
    assert fleet.unit(BROKEN)["actions"] == {"update": 1}
    for lost in (states[2], rows[2]):
        kept = lost.read_bytes()
        lost.unlink()
        assert plans(desired=["rows"]).code == 5
        check_broken_has_no_plan(fleet, 5, "its header says 4 rows")
        check_others_are_planned(fleet)
        lost.write_bytes(kept)


def test_a_cluster_without_a_state_is_an_error_and_no_plan(fleet: Fleet, plans: Plans) -> None:
    (fleet.states / f"{BROKEN}.json").unlink()
    ran = plans()
    assert ran.code == 1
    said = f"there is no state of the cluster {BROKEN}, which the project payments is for"
    assert said in ran.said
    assert [unit["cluster"] for unit in fleet.result()["units"]] == ["east", "west"]
    assert fleet.files(BROKEN) == []
    check_others_are_planned(fleet)


def test_a_state_that_no_project_is_for_is_told_and_left_alone(fleet: Fleet, plans: Plans) -> None:
    shutil.copy(fleet.states / f"{BROKEN}.json", fleet.states / "south.json")
    ran = plans()
    assert ran.code == 0
    assert fleet.result()["unplanned"] == ["south"]
    assert "south" in ran.said
    assert fleet.files("south") == []
    check_others_are_planned(fleet)


def test_where_nothing_meets_there_is_no_result(fleet: Fleet, plans: Plans) -> None:
    assert plans().code == 0
    before = (fleet.out / "fleet.json").read_bytes()
    for cluster in CLUSTERS:
        (fleet.states / f"{cluster}.json").rename(fleet.states / f"other-{cluster}.json")
    ran = plans()
    assert ran.code == 1
    assert "there is no state of the cluster east" in ran.said
    assert (fleet.out / "fleet.json").read_bytes() == before


# A slice is an ordinary plan


def test_a_slice_is_applied_once_to_the_cluster_that_it_came_from(
    fleet: Fleet, plans: Plans, kgitops: Kgitops
) -> None:
    fleet.as_rows()
    assert plans().code == 0
    for cluster in CLUSTERS:
        file = f"{cluster}.json"
        assert kgitops("fleet", "summary", "out", "--cluster", cluster, "-o", file).code == 0
        applied = kgitops("apply", file)
        assert applied.code == 0, applied.said
        after = kgitops("plan", "payments", "-c", cluster, "--detailed-exitcode")
        assert (after.code, "No changes" in after.out) == (0, True)
        again = kgitops("apply", file)
        assert again.code == 9, again.said
        assert kgitops("fleet", "summary", "out", "--cluster", cluster, "-o", file).code == 0
        assert kgitops("apply", file).code == 9, "converted twice it is still one plan"


def test_a_slice_is_stale_where_its_cluster_has_changed(
    fleet: Fleet, plans: Plans, kgitops: Kgitops
) -> None:
    assert plans().code == 0
    assert kgitops("fleet", "summary", "out", "--cluster", "east", "-o", "plan.json").code == 0
    project = fleet.project
    changed = [topic("orders", deletionPolicy="Delete", configs={"retention.ms": "5"})]
    project.write(*DECLARED[1:], *changed)
    fleet.write(*DECLARED[1:], *changed)
    assert kgitops("apply", "payments", "-c", "east", "--auto-approve").code == 0
    fleet.write(*EDITED)
    ran = kgitops("apply", "plan.json")
    assert ran.code == 4, ran.said


@pytest.mark.parametrize("example", ["quickstart", "virtual-clusters"])
def test_a_slice_of_an_example_is_applied(
    example: str, tmp_path: Path, plans: Plans, kgitops: Kgitops
) -> None:
    """From nothing to a whole cluster, with virtual clusters and without."""
    del tmp_path
    leave = shutil.ignore_patterns(".kgitops")
    shutil.copytree(EXAMPLES / example, example, ignore=leave)
    shutil.rmtree("states")
    Path("states").mkdir()
    where = (example, "-c", "local")
    assert kgitops("snapshot", *where, "-o", "states/local.json").code == 0
    plans(desired=[example])
    assert kgitops("fleet", "summary", "out", "-c", "local", "-o", "plan.json").code == 0
    applied = kgitops("apply", "plan.json")
    assert applied.code == 0, applied.said
    assert kgitops("plan", *where, "--detailed-exitcode").code == 0


LOGIN = document(
    "User",
    "sales-app",
    scram=[{"mechanism": "SCRAM-SHA-512", "password": {"env": "SALES_APP_PASSWORD"}}],
)


def test_users_are_planned_with_states_that_hold_them(
    fleet: Fleet, plans: Plans, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From manifests and from rows; without a secret, until the slice is applied."""
    fleet.write(*EDITED, LOGIN)
    assert plans().code == 8
    assert "fleet snapshot --users" in fleet.unit("east")["reasons"][0]["sentence"]
    shutil.rmtree("states")
    assert kgitops("fleet", "snapshot", "payments", "--out", "states", "--users").code == 0
    assert kgitops("fleet", "compile", "payments", "--out", "rows").code == 0
    for desired in ("rows", "payments"):
        assert plans(desired=[desired]).code == 0
        assert fleet.unit("east")["changes"]["User"] == 1
    assert kgitops("fleet", "summary", "out", "-c", "east", "-o", "plan.json").code == 0
    monkeypatch.setenv("SALES_APP_PASSWORD", "a password")
    assert kgitops("apply", "plan.json").code == 0
    assert kgitops("plan", "payments", "-c", "east", "--detailed-exitcode").code == 0
    # Where a project manages users they are in its states without the flag.
    assert kgitops("fleet", "snapshot", "payments", "--out", "states").code == 0
    assert plans().code == 8
    assert (fleet.unit("east")["exit"], fleet.unit("west")["exit"]) == (0, 8)


# A result replaces the one before, or leaves it


def kept_result(fleet: Fleet) -> dict[str, bytes]:
    return {
        str(file.relative_to(fleet.out)): file.read_bytes()
        for file in sorted(fleet.out.rglob("*"))
        if file.is_file()
    }


def test_a_second_run_replaces_the_first(fleet: Fleet, plans: Plans) -> None:
    assert plans().code == 0
    first = set(kept_result(fleet))
    (fleet.states / "east.json").unlink()
    assert plans().code == 1
    assert fleet.files("east") == []
    named = {name for unit in fleet.result()["units"] for name in unit["files"]}
    assert set(kept_result(fleet)) - fleet.placeholders() == {*named, "fleet.json"}
    assert first.isdisjoint(named)
    assert [path.name for path in fleet.folder.glob("out*")] == ["out"]


def test_a_run_without_room_leaves_the_old_result(
    fleet: Fleet, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plans().code == 0
    before = kept_result(fleet)
    monkeypatch.setattr(pipeline, "plan_task", failing_work.without_room)
    ran = plans()
    assert ran.code == 1
    assert "can't be written: file too large; make room, or choose another --out" in ran.said
    assert kept_result(fleet) == before


def test_a_run_that_fails_while_it_is_put_in_place_leaves_the_old_result(
    fleet: Fleet, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plans().code == 0
    before = kept_result(fleet)
    # Someone else's run holds the place.
    with run_folder(fleet.out):
        ran = plans()
    assert (ran.code, "another run of kgitops fleet plan" in ran.said) == (7, True)
    assert kept_result(fleet) == before


def test_a_worker_that_dies_with_its_rows_written_leaves_none_of_them_twice(
    fleet: Fleet, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "plan_task", failing_work.killed_once_with_rows_written)
    assert plans().code == 0
    markers = list(fleet.folder.glob("killed-*"))
    assert markers
    for cluster in CLUSTERS:
        assert fleet.unit(cluster)["actions"] == {"update": 1}
        assert len(list(fleet.out.glob(f"changes/cluster={cluster}/*"))) == 1
        assert len(list(fleet.out.glob(f"plans/cluster={cluster}/*"))) == 1


def test_what_one_run_deletes_is_what_manifests_no_longer_say(fleet: Fleet, plans: Plans) -> None:
    """That nothing is deleted above is no want of deletions."""
    fleet.write(*EDITED[1:])
    assert plans().code == 0
    assert all(unit["actions"] == {"delete": 1, "update": 1} for unit in fleet.result()["units"])
    assert DeleteTopicRequest.__name__.removesuffix("Request") in fleet.unit("east")["requests"]
