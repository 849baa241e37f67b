"""A result replaces the one before as a whole, or not at all, whatever happens on the way."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from fleet.output import killed_commit
from fleet.output.fleet_results import committed, run, unit, written
from msgspec.structs import replace
from report.plans import make_plan, twelve_changes, update_topic

from kgitops.fleet.output import replacing
from kgitops.fleet.output.publish import commit, recover, run_folder
from kgitops.fleet.output.runs import read_history
from kgitops.fleet.output.slices import read_slice
from kgitops.fleet.output.tables import SCHEMAS, Table
from kgitops.model.errors import KgitopsError, LockedError, UsageError
from kgitops.plan.document.plan import Plan

TESTS = Path(__file__).parents[2]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A place for a result, with nothing of anybody else's beside it."""
    folder = tmp_path / "night"
    folder.mkdir()
    return folder / "out"


def plan(name: str) -> Plan:
    return make_plan(update_topic(name))


def address(out: Path) -> str:
    """Of the one change of the result, which is read whole."""
    (change,) = read_slice(out, "prod-eu").plan.changes
    return change.address


def beside(out: Path) -> set[str]:
    """What lies beside the result, the lock left out."""
    return {path.name for path in out.parent.iterdir()} - {".out.kgitops-lock"}


def test_a_second_run_replaces_the_first(out: Path) -> None:
    committed(out, (unit(), plan("a")), (unit("other"), plan("a")))
    committed(out, (unit(), plan("b")))

    assert address(out) == "topic/b"
    assert [found.name for found in read_history(out).latest.units] == ["prod-eu/payments"]
    assert not list(out.rglob("cluster=other"))
    assert beside(out) == {"out"}


def test_what_a_second_attempt_wrote_is_not_counted(out: Path) -> None:
    """Spark may run a task twice, even at a time: one of its answers is taken."""
    with run_folder(out) as private:
        written(plan("lost"), private)
        kept = written(plan("kept"), private)
        written(plan("lost"), private, unit("nowhere"))
        commit(private, out, run(kept))

    assert {path.relative_to(out).as_posix() for path in out.rglob("*-*.parquet")} == set(
        kept.files
    )
    assert not list(out.rglob("cluster=nowhere"))


def test_every_table_can_be_queried_where_it_has_no_rows(out: Path) -> None:
    committed(out, (unit(), make_plan()))
    for table in Table:
        (file,) = out.glob(f"{table}/cluster=prod-eu/*.parquet")
        assert pq.read_schema(file).equals(SCHEMAS[table])
        rows = duckdb.read_parquet(f"{out}/{table}/*/*.parquet").fetchall()
        assert len(rows) == (table is Table.PLANS)
    assert read_slice(out, "prod-eu").plan.changes == ()


def test_a_run_without_all_of_its_files_leaves_the_old_result(out: Path) -> None:
    """As where executors write to file systems of their own."""
    committed(out, (unit(), plan("a")))
    with run_folder(out) as private:
        summary = written(plan("b"), private)
        (private / summary.files[0]).unlink()
        with pytest.raises(KgitopsError, match=r"is missing.*all of them share"):
            commit(private, out, run(summary))
    assert address(out) == "topic/a"
    assert beside(out) == {"out"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_does_not_come_to_its_end_leaves_the_old_result(
    error: type[BaseException], out: Path
) -> None:
    committed(out, (unit(), plan("a")))

    def stopped() -> None:
        with run_folder(out) as private:
            written(plan("b"), private)
            raise error

    with pytest.raises(error):
        stopped()
    assert address(out) == "topic/a"
    assert beside(out) == {"out"}


@pytest.mark.parametrize("call", [1, 2])
def test_an_interrupt_between_the_renames_leaves_a_result(
    call: int, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault injection: an interrupt just before each of the two renames."""
    committed(out, (unit(), plan("a")))
    real, calls = Path.rename, [call]

    def interrupted(path: Path, target: Path) -> Path:
        calls[0] -= 1
        if calls[0] == 0:
            raise KeyboardInterrupt
        return real(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        committed(out, (unit(), plan("b")))
    assert address(out) == "topic/a"
    assert beside(out) == {"out"}


@pytest.fixture
def killed(out: Path) -> Iterator[Callable[[str, int], int]]:
    """Replaces the result in another process, which is killed at a call; how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", killed_commit.__name__, out],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    reader, writer = process.stdout, process.stdin

    def replace_result(name: str, at: int) -> int:
        writer.write(f"{name} {at}\n")
        writer.flush()
        return int(reader.readline())

    yield replace_result
    process.communicate(timeout=60)


@pytest.mark.slow
def test_a_kill_at_any_point_leaves_the_old_result_or_the_new(
    out: Path, killed: Callable[[str, int], int]
) -> None:
    """SIGKILL before every call of the file system in turn; the next run tidies up."""
    committed(out, (unit(), plan("start")))
    latest, replaced, ended = "start", [], -signal.SIGKILL
    while ended == -signal.SIGKILL:
        name = f"run{len(replaced)}"
        ended = killed(name, len(replaced) + 1)
        recover(out)
        found = address(out).removeprefix("topic/")
        assert found in (latest, name), len(replaced)
        replaced.append(found == name)
        latest = found
    assert ended == 0
    assert replaced == sorted(replaced)  # from some call on it is the new one, and stays so
    assert 5 < replaced.index(True) < len(replaced) - 3
    committed(out, (unit(), plan("end")))
    assert address(out) == "topic/end"
    assert beside(out) == {"out"}


def test_a_reader_finds_the_old_result_where_a_swap_was_cut(out: Path) -> None:
    committed(out, (unit(), plan("a")))
    out.rename(out.with_name(".out.kgitops-old"))
    assert address(out) == "topic/a"
    assert beside(out) == {"out"}


def test_one_run_at_a_time(out: Path) -> None:
    committed(out, (unit(), plan("a")))
    refusals: list[BaseException] = []

    def second() -> None:
        try:
            committed(out, (unit(), plan("b")))
        except LockedError as error:
            refusals.append(error)

    with run_folder(out) as private:
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        commit(private, out, run(written(plan("c"), private)))
    (refusal,) = refusals
    assert "wait for it, or give another --out" in str(refusal)
    assert address(out) == "topic/c"


def test_leftovers_of_other_results_stay(out: Path) -> None:
    """They may be those of a run that goes on."""
    other = out.with_name(".out2.kgitops-run-0123456789abcdef")
    mine = out.with_name(".out.kgitops-run-notes")
    killed = out.with_name(".out.kgitops-run-0123456789abcdef")
    for folder in (other, mine, killed):
        folder.mkdir()
        (folder / "x").touch()
    committed(out, (unit(), plan("a")))
    assert beside(out) == {"out", other.name, mine.name}


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("notes.txt", r"holds notes.txt and no fleet.json.*name another folder"),
        ("plans/plan.json", r"holds plans and no fleet.json"),
    ],
    ids=["file", "folder"],
)
def test_a_folder_of_the_users_is_never_replaced(file: str, said: str, out: Path) -> None:
    path = out / file
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(UsageError, match=said):
        committed(out, (unit(), plan("a")))
    assert path.read_text() == "mine"
    assert beside(out) == {"out"}


@pytest.mark.parametrize(
    "file",
    ["report.html", "plans/mine.json", "changes/cluster=prod-eu/notes.txt", "changes/more/x"],
)
def test_a_result_with_something_of_the_users_is_not_replaced(file: str, out: Path) -> None:
    committed(out, (unit(), plan("a")))
    (out / file).parent.mkdir(exist_ok=True)
    (out / file).write_text("mine")
    with pytest.raises(UsageError, match=r"did not write.*move that file away"):
        committed(out, (unit(), plan("b")))
    assert (out / file).read_text() == "mine"
    assert address(out) == "topic/a"


def test_what_comes_while_a_run_goes_on_is_not_replaced(out: Path) -> None:
    with run_folder(out) as private:
        summary = written(plan("b"), private)
        out.mkdir()
        (out / "mine").touch()
        with pytest.raises(UsageError, match="holds mine"):
            commit(private, out, run(summary))
    assert (out / "mine").exists()


def test_places_that_can_not_be_replaced(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out.touch()
    with pytest.raises(UsageError, match="is a file; name a folder"):
        committed(out, (unit(), plan("a")))
    with pytest.raises(UsageError, match=r"there is no folder .*; make it first"):
        committed(tmp_path / "no" / "out", (unit(), plan("a")))
    monkeypatch.chdir(out.parent)
    with pytest.raises(UsageError, match="is the folder you are in; name a folder in it"):
        committed(Path(), (unit(), plan("a")))


def test_an_empty_folder_and_its_permissions_are_taken(out: Path) -> None:
    """Who made it for others to read wants them to read the result."""
    out.mkdir(mode=0o750)
    out.chmod(0o750)
    committed(out, (unit(), plan("a")))
    committed(out, (unit(), plan("b")))
    assert out.stat().st_mode & 0o777 == 0o750
    committed(out.with_name("new"), (unit(), plan("a")))
    assert out.with_name("new").stat().st_mode & 0o777 == 0o700


def test_a_link_stays_and_leads_to_the_new_result(out: Path) -> None:
    real = out.with_name("real")
    out.symlink_to(real)
    committed(out, (unit(), plan("a")))
    committed(out, (unit(), plan("b")))
    assert out.is_symlink()
    assert address(out) == address(real) == "topic/b"


def test_all_is_on_the_disk_before_the_old_result_goes(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file and folder of the result is synced, and the summary with it."""
    synced: list[str] = []
    real = replacing._sync_one

    def noted(path: Path) -> None:
        assert not out.exists()
        synced.append(path.name)
        real(path)

    monkeypatch.setattr(replacing, "_sync_one", noted)
    monkeypatch.setattr(replacing, "_swap", lambda *_: None)
    with run_folder(out) as private:
        summary = written(twelve_changes(), private)
        commit(private, out, run(summary))
        everything = {path.name for path in private.rglob("*")}
    assert {Path(name).name for name in summary.files} | {"fleet.json"} <= set(synced)
    assert everything <= set(synced)


def test_the_summary_in_the_folder_is_the_runs(out: Path) -> None:
    found = committed(out, (unit(), twelve_changes()), (unit("x"), plan("a")))
    read = read_history(out).latest
    assert read == replace(found, units=read.units)
    assert {each.name: each for each in read.units} == {each.name: each for each in found.units}
