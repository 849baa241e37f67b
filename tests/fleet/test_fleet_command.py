"""``kgitops fleet plan`` on fleets of which something is broken, and what becomes of its plans."""

import json
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


STATES: list[tuple[str, Breaks, int, str]] = [
    ("cut", breaking.cut, 8, "north.parquet: it is not a whole Parquet file; make"),
    ("column", breaking.without_column("fingerprint"), 5, "has no column 'fingerprint'"),
    ("version", breaking.of_another_version, 5, "has format version 9.0, this kgitops knows"),
    ("twice", breaking.with_a_row_twice, 5, "it has more than one row of "),
    ("instead", breaking.with_a_row_in_place_of_another, 5, "it has more than one row of "),
    ("row lost", breaking.without_last_row, 5, "its header says 4 rows, but there are 3"),
    ("header lost", breaking.without_header, 5, "it has 0 header rows"),
    ("all lost", breaking.without_any_row, 5, "it has 0 header rows"),
]


@pytest.mark.parametrize(
    ("breaks", "code", "sentence"),
    [case[1:] for case in STATES],
    ids=[case[0] for case in STATES],
)
def test_a_broken_state_is_the_only_one_that_is_not_planned(
    breaks: Breaks, code: int, sentence: str, fleet: Fleet, plans: Plans
) -> None:
    fleet.as_rows()
    breaks(fleet.states / f"{BROKEN}.parquet")
    ran = plans()
    assert (ran.code, ran.err) == (code, "")
    check_broken_has_no_plan(fleet, code, sentence)
    check_others_are_planned(fleet)
    assert f"{BROKEN}/payments" in ran.said


def without_registry(file: Path) -> None:
    content = json.loads(file.read_text())
    del content["registry"]
    file.write_text(json.dumps(content))


def of_version_nine(file: Path) -> None:
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "format_version": "9.0"}))


@pytest.mark.parametrize(
    ("breaks", "code", "sentence"),
    [
        (breaking.cut, 8, "it is not complete JSON"),
        (of_version_nine, 5, "has format version 9.0, this kgitops knows"),
        (without_registry, 5, "has no registry part"),
    ],
)
def test_a_broken_state_in_json_is_told_alike(
    breaks: Breaks, code: int, sentence: str, fleet: Fleet, plans: Plans
) -> None:
    breaks(fleet.states / f"{BROKEN}.json")
    assert plans().code == code
    check_broken_has_no_plan(fleet, code, sentence)
    check_others_are_planned(fleet)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_part_of_a_state_is_no_empty_cluster(lost: int, fleet: Fleet, plans: Plans) -> None:
    fleet.as_rows()
    parts = breaking.in_parts(
        fleet.states / f"{BROKEN}.parquet", fleet.states / f"cluster={BROKEN}"
    )
    assert plans().code == 0
    assert fleet.unit(BROKEN)["actions"] == {"update": 1}
    parts[lost].unlink()
    assert plans().code == 5
    check_broken_has_no_plan(fleet, 5, "it has 0 header rows|its header says 4 rows")
    check_others_are_planned(fleet)


ROWS: list[tuple[str, Breaks, int, str]] = [
    ("cut", breaking.cut, 8, "it is not a whole Parquet file; compile it again"),
    ("column", breaking.without_column("declared"), 5, "has no column 'declared'"),
    ("version", breaking.of_another_version, 5, "has format version 9.0, this kgitops knows"),
    ("twice", breaking.with_a_row_twice, 5, "it has more than one row of "),
    ("instead", breaking.with_a_row_in_place_of_another, 5, "it has more than one row of "),
    ("row lost", breaking.without_last_row, 5, "its header says 4 rows, but there are 3"),
    ("header lost", breaking.without_header, 5, "it has 0 header rows"),
    ("all lost", breaking.without_any_row, 5, "it has 0 header rows"),
]


@pytest.mark.parametrize(
    ("breaks", "code", "sentence"), [case[1:] for case in ROWS], ids=[case[0] for case in ROWS]
)
def test_rows_that_are_not_whole_remove_nothing(
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
    (file,) = Path("rows").rglob(f"cluster={BROKEN}/**/*.parquet")
    breaks(file)
    assert plans(desired=["rows"]).code == code
    check_broken_has_no_plan(fleet, code, sentence)
    check_others_are_planned(fleet)


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


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_part_of_what_is_declared_removes_nothing(
    lost: int, fleet: Fleet, plans: Plans, kgitops: Kgitops
) -> None:
    fleet.as_rows()
    assert kgitops("fleet", "compile", "payments", "-o", "rows").code == 0
    (file,) = Path("rows").rglob(f"cluster={BROKEN}/**/*.parquet")
    whole = shutil.copy(file, "whole.parquet")
    file.unlink()
    parts = breaking.in_parts(Path(whole), file.parent / "parts")
    parts[lost].unlink()
    assert plans(desired=["rows"]).code == 5
    check_broken_has_no_plan(fleet, 5, "it has 0 header rows|its header says 4 rows")
    check_others_are_planned(fleet)


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
