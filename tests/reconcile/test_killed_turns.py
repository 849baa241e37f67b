"""A turn is killed at each of its boundaries; the next one ends where an undisturbed one ends."""

import os
import subprocess
import sys
from pathlib import Path

from cli.projects import acl, topic
from reconcile.kill_driver import take
from reconcile.turning import Turns

from kgitops.apply.journal.reading import latest_values, unfinished_runs
from kgitops.plan.reading import read_plan
from kgitops.reconcile.status import TurnOutcome

TESTS = Path(__file__).parents[1]
DRIVER = Path(__file__).with_name("kill_driver.py")
RIGHT = acl(resource={"type": "topic", "name": "new"})
ZSTD = {"compression.type": "zstd"}


def test_the_next_turn_ends_what_a_killed_one_began(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "payments")
    turns.declare(topic("orders", configs=ZSTD), topic("old", deletionPolicy="Delete")).take()
    turns.declare(topic("orders", configs=ZSTD), topic("new"), topic("other"), RIGHT)
    turns.set_behind("orders", compression_type="gzip")
    killed = tmp_path / "killed"
    boundaries = kill_at_each_boundary(turns, killed)
    assert boundaries > 20
    resumed = 0
    for boundary in range(boundaries):
        folder = killed / str(boundary)
        result = take(folder, ahead_s=1800, pass_boundary=lambda *_: None)
        assert result.outcome is TurnOutcome.PENDING, (boundary, result)
        resumed += result.resumed_run is not None
        check_end(folder, boundary)
        again = take(folder, ahead_s=3600, pass_boundary=lambda *_: None)
        assert (again.outcome, again.applied) == (TurnOutcome.PENDING, None), boundary
        assert again.pending is not None
        assert result.pending is not None
        assert again.pending.digest == result.pending.digest
    assert resumed > 5, "many left a run behind"


def check_end(folder: Path, boundary: int) -> None:
    """All that is permitted is done, the rest waits, and the journal is closed."""
    found = Turns(folder)
    assert found.topics() == {"orders", "old", "new", "other"}, boundary
    assert found.configs("orders")["compression.type"] == "zstd", boundary
    cluster = found.project.connect()
    try:
        latest = latest_values(cluster.registry.read() or ())
        assert not unfinished_runs(latest, [found.project.uid]), boundary
        assert not [key for key in latest if key.startswith("lock/")], boundary
        assert len(cluster.read_state().acls) == 1
    finally:
        cluster.close()
    (waiting,) = (folder / "plans").rglob("*.json")
    plan = read_plan(waiting.read_text(encoding="utf-8"), str(waiting)).plan
    assert [change.address for change in plan.changes] == ["topic/old"]


def test_a_deletion_that_was_begun_by_somebody_is_left_to_them(tmp_path: Path) -> None:
    """The mode auto began it and was killed; by the mode converge, nobody may go on but a person.

    Nor is anything else applied, which would close the run as superseded.
    """
    turns = Turns(tmp_path / "payments", mode="auto")
    turns.declare(topic("orders"), topic("old", deletionPolicy="Delete")).take()
    turns.declare(topic("orders"))
    killed = tmp_path / "killed"
    boundaries = kill_at_each_boundary(turns, killed)
    left = 0
    for boundary in range(boundaries):
        folder = killed / str(boundary)
        found = Turns(folder)
        found.declare(topic("orders"), topic("new"))
        before = found.topics()
        result = take(folder, ahead_s=1800, pass_boundary=lambda *_: None)
        if result.unfinished_run is None:
            continue
        if result.resumed_run is not None:
            assert "old" not in before, "only the end of the run was left to write"
            continue
        left += 1
        assert result.outcome is TurnOutcome.REFUSED, (boundary, result)
        assert "topic/old" in result.reasons[0].sentence
        assert found.topics() == before
    assert left > 0


def kill_at_each_boundary(turns: Turns, killed: Path) -> int:
    killed.mkdir()
    done = subprocess.run(
        [sys.executable, DRIVER, turns.project.folder, killed],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
