"""The suite itself: fixtures for files in any order, and a share of wide tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import SLOW_TESTS, WIDE_SHARE, slow_files, unlisted

ROOT = Path(__file__).parents[1]


def pytest_run(*words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """A run in one process of its own."""
    kept = {name: value for name, value in os.environ.items() if name != WIDE_SHARE}
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


def test_a_share_of_wide_tests_is_drawn_by_its_seed_and_the_others_are_counted() -> None:
    place = ("--collect-only", "-m", "", "tests/report/fleet/test_fleet_injection.py")
    runs = [pytest_run(*place, **{WIDE_SHARE: share}) for share in ("", "a/3", "b/3")]
    every, one, other = ({line for line in run.stdout.splitlines() if "::" in line} for run in runs)
    assert one < every
    assert other < every
    assert one != other
    left_out = len(every) - len(one)
    assert [f"{left_out} wide" in run.stdout for run in runs[:2]] == [False, True]


def test_each_file_with_slow_tests_is_there_and_stands_below_one_reason() -> None:
    _, *reasons = SLOW_TESTS.read_text().split("\n\n")
    paths = [path for reason in reasons for path in reason.splitlines()[1:]]
    assert sorted(slow_files()) == sorted(f"tests/{path}" for path in paths)
    assert [path for path in paths if not (ROOT / "tests" / path).is_file()] == []


def test_a_slow_test_without_a_reason_is_named() -> None:
    def report(test: str, duration: float) -> pytest.TestReport:
        where = (test.partition("::")[0], None, "")
        return pytest.TestReport(test, where, {}, "passed", None, "call", duration=duration)

    listed, other = min(slow_files()), "tests/test_quick.py"
    reports = [report(f"{listed}::test_a", 9), report(f"{other}::test_b", 1)]
    assert unlisted(reports) == []
    assert unlisted([*reports, report(f"{other}::test_c", 3)]) == [f"    3.0 s  {other}::test_c"]
