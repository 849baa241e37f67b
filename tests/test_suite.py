"""The suite itself: fixtures for files in any order, and time for wide tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import WIDE_UNTIL

ROOT = Path(__file__).parents[1]


def pytest_run(*words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """A run in one process of its own."""
    kept = {name: value for name, value in os.environ.items() if name != WIDE_UNTIL}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        env={**kept, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_files_in_any_order_have_the_fixtures_of_their_folder() -> None:
    """A folder's conftest.py is found again after a file of the folder above."""
    files = ("tests/cli/test_labels.py", "tests/test_library.py", "tests/cli/test_vc_command.py")
    done = pytest_run("--setup-plan", *files)
    assert (done.returncode, "not found" in done.stdout) == (0, False), done.stdout[-2000:]


@pytest.mark.parametrize(
    ("until", "left_out"), [("0", True), ("99999999999", False), (None, False)]
)
def test_wide_tests_are_left_out_when_their_time_is_over(until: str | None, left_out: bool) -> None:
    """They are counted, and others run at any time."""
    environ = {} if until is None else {WIDE_UNTIL: until}
    done = pytest_run("tests/comparison/test_comparing.py", **environ)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert ("1 skipped" in done.stdout) is left_out
