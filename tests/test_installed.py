"""A machine that lacks what tests need is told so in one line; nothing is left out unsaid."""

import os
import subprocess
import sys
from pathlib import Path

import installed
import pytest

PAGES = Path(__file__).parent / "report" / "html" / "test_html_page.py"


def collected(folder: Path, **env: str) -> str:
    """What pytest says of the tests of a page where the path has no browser."""
    kept = {key: value for key, value in os.environ.items() if key != "CHROMEWEBDRIVER"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "--collect-only", PAGES],
        env={**kept, installed.INSIST: "", "PATH": str(folder), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


def test_without_a_browser_its_tests_are_left_out_and_one_line_says_so(tmp_path: Path) -> None:
    said = collected(tmp_path)
    (line,) = [line for line in said.splitlines() if "left out" in line]
    assert line == (
        "The tests that look at reports in a browser are left out: there is no Chrome and driver "
        "here. Install Debian's chromium and chromium-driver, or set CHROMEWEBDRIVER to the "
        "folder of a driver."
    )
    assert "::test_a_thousand_changes_are_seen" not in said
    assert "deselected" in said


def test_ci_insists_on_the_browser(tmp_path: Path) -> None:
    said = collected(tmp_path, **{installed.INSIST: "required"})
    assert "::test_a_thousand_changes_are_seen" in said
    assert "left out" not in said
    run = (Path(__file__).parents[1] / ".ci" / "run").read_text()
    assert f"{installed.INSIST}=required uv run pytest" in run


def test_missing_packages_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed.missing_packages() == ""
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "pyspark" else name)
    assert installed.missing_packages() == (
        "the tests need pyspark, which uv run does not install by itself; run uv sync "
        "--all-groups once, and then uv run pytest"
    )
