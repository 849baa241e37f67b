"""The suite itself: files in any order have their fixtures."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_files_in_any_order_have_the_fixtures_of_their_folder() -> None:
    """A folder's conftest.py is found again after a file of the folder above."""
    files = ("tests/cli/test_labels.py", "tests/test_library.py", "tests/cli/test_diff.py")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n0",
            "-q",
            "--setup-plan",
            "-p",
            "no:cacheprovider",
            *files,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "not found" in done.stdout) == (0, False), done.stdout[-2000:]
