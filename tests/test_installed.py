"""A machine that lacks what tests need is told so in one line; nothing is left out unsaid."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import installed
import pytest
import tiers

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PAGES = TESTS / "report" / "html" / "test_html_page.py"


def collected(folder: Path, *words: str, **env: str) -> str:
    """What pytest says of the tests of a page where the path has no browser."""
    kept = {key: value for key, value in os.environ.items() if key != "CHROMEWEBDRIVER"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "--collect-only", *words, PAGES],
        env={**kept, installed.INSIST: "", "PATH": str(folder), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without Selenium and PySpark."""
    monkeypatch.setattr(
        installed, "find_spec", lambda name: None if name in ("selenium", "pyspark") else name
    )
    installed.missing_packages.cache_clear()
    yield
    installed.missing_packages.cache_clear()


@pytest.mark.browser
def test_a_tier_that_is_not_run_is_named_in_one_line(tmp_path: Path) -> None:
    said = collected(tmp_path)
    (line,) = [line for line in said.splitlines() if "eft out" in line]
    command = "uv run --group test pytest -m browser"
    assert re.match(rf"Left out: \d+ browser\. `{command}` runs one tier; ", line)
    assert "there is no Chrome and driver here: install Debian's chromium" in line
    assert "::test_a_thousand_changes_are_seen" not in said
    assert "deselected" in said


@pytest.mark.browser
def test_without_a_browser_its_tests_are_left_out_even_if_they_are_asked_for(
    tmp_path: Path,
) -> None:
    said = collected(tmp_path, "-m", "browser")
    assert "::test_a_thousand_changes_are_seen" not in said
    assert "there is no Chrome and driver here" in said


@pytest.mark.browser
def test_ci_insists_on_the_browser(tmp_path: Path) -> None:
    said = collected(tmp_path, "-m", "browser", **{installed.INSIST: "required"})
    assert "::test_a_thousand_changes_are_seen" in said
    assert "eft out" not in said
    assert f"export {installed.INSIST}=required" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("file", "lacks"),
    [
        (PAGES, True),
        (TESTS / "report" / "html" / "test_html_access.py", True),
        (TESTS / "report" / "test_injection.py", False),
        (Path(__file__), False),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_file_is_not_collected_where_its_imports_lack_a_package(file: Path, lacks: bool) -> None:
    assert installed.lacks_packages(file) is lacks


@pytest.mark.usefixtures("without")
def test_packages_that_are_missing_are_named_with_the_command() -> None:
    assert tiers.left_out_sentence({"files": 3, "slow": 2}).startswith(
        "Left out: 2 slow, 3 files that need pyspark, selenium. `uv run --group test pytest -m "
        "slow` runs one tier, `uv sync --all-groups` brings the packages"
    )
    assert list(filter(installed.can_not_run, tiers.TIERS)) == ["spark", "browser"]


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    assert tiers.left_out_sentence({}) == ""


def test_a_command_of_kgitops_installs_nothing_for_tests() -> None:
    """Without this list uv would install the group ``dev``."""
    assert (
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["default-groups"] == []
    )


def test_ci_runs_the_command_of_the_readme_first_and_then_every_tier() -> None:
    """Each test runs in one of the two: what neither chooses would go unproved."""
    assert "$ uv run --group test pytest\n" in (ROOT / "README.md").read_text()
    run = (ROOT / ".ci" / "run").read_text().replace("\\\n", "")
    default, rest = re.findall(r"^uv run --group test pytest(.*)$", run, re.MULTILINE)
    assert default == ""
    assert f"--hypothesis-profile={tiers.SHARE}" in rest
    assert f"export {tiers.WIDE_SHARE}=" in run.partition("\nuv run --group test pytest\n")[2]
    (chosen,) = re.findall(r'-m "(.*)"', rest)
    kafka, *others = chosen.split(" or ")
    assert kafka == "(kafka and not default_kafka)"
    assert others == [*[*tiers.TIERS][1:], "hypothesis"]
