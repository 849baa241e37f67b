"""Runs are found, put in the order of time, and refused where they can't be trusted."""

from pathlib import Path

import pytest
from report.fleet.fleets import a_history, a_run, a_unit

from kgitops.fleet.output.runs import MOST_RUNS, newest_run, read_history
from kgitops.fleet.summary import RunSummary
from kgitops.fleet.summary_json import run_to_text
from kgitops.model.errors import UntrustedPlanError, UsageError
from kgitops.model.verdict import ExitCode


def _save(run: RunSummary, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "fleet.json").write_text(run_to_text(run), encoding="utf-8")


def _on(day: int) -> RunSummary:
    return a_run(a_unit(drift=day), created=f"2026-{day // 28 + 1:02}-{day % 28 + 1:02}T03:00:00Z")


def test_a_folder_with_a_summary_is_one_run(tmp_path: Path) -> None:
    _save(_on(3), tmp_path / "run")
    _save(_on(4), tmp_path / "run" / "within")
    assert read_history(tmp_path / "run") == a_history(_on(3))
    assert newest_run(tmp_path / "run") == tmp_path / "run"


def test_a_folder_of_runs_is_in_the_order_of_time_whatever_they_are_called(tmp_path: Path) -> None:
    for name, day in (("a", 9), ("b", 2), ("c", 40)):
        _save(_on(day), tmp_path / name)
    _save(_on(50), tmp_path / ".a.kgitops-run-0000000000000000")
    (tmp_path / "notes").mkdir()
    (tmp_path / "readme.txt").touch()
    assert read_history(tmp_path) == a_history(_on(2), _on(9), _on(40))
    assert newest_run(tmp_path) == tmp_path / "c"


def test_of_very_many_runs_the_newest_are_read(tmp_path: Path) -> None:
    for day in range(MOST_RUNS + 7):
        _save(_on(day), tmp_path / f"run-{day}")
    # An old one is not even looked into.
    (tmp_path / "run-0" / "fleet.json").write_text(run_to_text(_on(0))[:60], encoding="utf-8")
    history = read_history(tmp_path)
    assert (len(history.runs), history.left_out) == (MOST_RUNS, 7)
    assert history.latest == _on(MOST_RUNS + 6)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b'{"kind":"kgitops.plan"}', b'{"created":"2027-01-01T00:00:00Z"}'],
)
def test_a_damaged_run_is_refused_and_never_left_out(tmp_path: Path, content: bytes) -> None:
    """Also where there are so many that old ones are not read: its time is not known."""
    for day in range(MOST_RUNS + 2):
        _save(_on(day + 1), tmp_path / f"run-{day}")
    (tmp_path / "run-3" / "fleet.json").write_bytes(content)
    with pytest.raises(UntrustedPlanError, match=r"run-3/fleet\.json") as refused:
        read_history(tmp_path)
    assert "\n" not in str(refused.value)
    assert refused.value.exit is ExitCode.UNTRUSTED


def test_a_summary_of_tomorrow_says_who_can_read_it(tmp_path: Path) -> None:
    _save(_on(1), tmp_path / "run")
    file = tmp_path / "run" / "fleet.json"
    file.write_text(file.read_text().replace('"format_version":"1.0"', '"format_version":"2.0"'))
    with pytest.raises(UntrustedPlanError, match=r"'2\.0'.* use the kgitops that wrote it"):
        read_history(tmp_path)


@pytest.mark.parametrize("make", ["nothing", "file", "empty", "folder for a summary"])
def test_where_there_is_no_run_the_next_step_is_told(tmp_path: Path, make: str) -> None:
    place = tmp_path / "fleet-plan"
    match make:
        case "file":
            place.touch()
        case "empty":
            place.mkdir()
        case "folder for a summary":
            (place / "fleet.json").mkdir(parents=True)
    for read in (read_history, newest_run):
        with pytest.raises(UsageError, match=r"fleet-plan .*; name a folder that kgitops fleet"):
            read(place)


def test_what_can_not_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "fleet.json").symlink_to("/proc/self/mem")
    with pytest.raises(UsageError, match=r"can't be read: .*; name a folder that"):
        read_history(tmp_path)
    with pytest.raises(UsageError, match=r"fleet\.json can't be read: input/output error; name"):
        read_history(tmp_path / "run")
