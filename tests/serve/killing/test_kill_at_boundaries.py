"""``kill -9`` of a served cluster at the boundaries of a client's writes (kill_serve_driver.py)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from serve.killing.boundaries import ACKNOWLEDGES_EARLY, WITHOUT_TRANSACTIONS

TESTS = Path(__file__).parents[2]
SOME = 13
"""Of so many boundaries one is tried by default; a prime, so that steps don't all lose the same."""

KINDS = (
    *("before link", "after link", "before close", "after close"),
    *("before COMMIT", "after COMMIT", "before an answer", "after an answer"),
    *("INSERT INTO log", "INSERT INTO snapshot", "INSERT INTO batch", "DELETE FROM batch"),
    *("CREATE TABLE", "CREATE INDEX", "PRAGMA user_version", "PRAGMA synchronous = NORMAL"),
)


def drive(folder: Path, every: int, *mutant: str) -> subprocess.CompletedProcess[str]:
    driver = Path(__file__).with_name("kill_serve_driver.py")
    return subprocess.run(
        [sys.executable, driver, folder, str(every), *mutant],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("every", [SOME, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_keeps_what_was_answered_and_parts_nothing(tmp_path: Path, every: int) -> None:
    """F590-03, VC-320: what was not answered is there whole, or not at all, and can be repeated.

    Topics, partitions, configs, ACLs, quotas, SCRAM users, records, offsets, transactions, and
    their deletions; also when a store is created, closed, recovered and compacted.
    """
    done = drive(tmp_path, every)
    assert done.returncode == 0, done.stdout + done.stderr
    *where, counts = done.stdout.splitlines()
    of_program, of_restart = map(int, counts.split())
    assert of_program > 300
    assert of_restart > 15
    if every == 1:
        assert len(where) > of_program + of_restart
        assert {kind for kind in KINDS if any(kind in line for line in where)} == set(KINDS)


@pytest.mark.parametrize(
    ("mutant", "violation"),
    [
        (ACKNOWLEDGES_EARLY, r"ViolationError: boundary \d+, (before|after) .* is .*, not "),
        (WITHOUT_TRANSACTIONS, r"ViolationError: boundary \d+, before .*( is .*, not |differ)"),
    ],
)
def test_a_store_that_breaks_its_promise_is_caught(
    tmp_path: Path, mutant: str, violation: str
) -> None:
    """One that commits after it has answered, and one whose statements are writes by themselves."""
    done = drive(tmp_path, SOME, mutant)
    assert done.returncode == 1
    assert re.search(violation, done.stderr), done.stderr
