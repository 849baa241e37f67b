"""What stands around a command: environment variables, words of other tools, files left behind."""

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, topic

import kgitops as package
from kgitops.cli.running.streams import wants_colour

ROOT = Path(__file__).parents[2]


def test_kgitops_project_stands_in_for_a_path(
    here: Path, project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(topic())
    assert kgitops("plan").code == 64
    monkeypatch.setenv("KGITOPS_PROJECT", str(project.folder))
    for words in (("plan",), ("validate",), ("apply", "--auto-approve"), ("drift",)):
        assert kgitops(*words).code == 0, words
    assert project.records()
    other = Project(here / "other", name="other", uid="other-1")
    other.write(topic())
    assert kgitops("apply", "other", "--auto-approve").code == 0
    assert other.records(), "a PATH wins over the variable"


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_kgitops_project_without_a_project_is_a_mistake(
    folder: str, here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGITOPS_PROJECT", folder)
    ran = kgitops("plan")
    assert ran.code == 64
    assert f"KGITOPS_PROJECT is {folder}, where there is no kgitops.yaml; set it to" in ran.err
    assert list(here.iterdir()) == []


def test_kgitops_cluster_stands_in_for_the_option(
    project: Project, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(topic())
    monkeypatch.setenv("KGITOPS_CLUSTER", "prod")
    assert "has no cluster 'prod'" in kgitops("plan", "payments").err
    assert kgitops("plan", "payments", "-c", "local").code == 0, "the option wins"
    monkeypatch.setenv("KGITOPS_CLUSTER", "")
    assert kgitops("plan", "payments", "-o", "plan.json").code == 0, "empty is as not set"
    monkeypatch.setenv("KGITOPS_CLUSTER", "prod")
    assert kgitops("apply", "plan.json").code == 0, "a saved plan has its cluster"


@pytest.mark.parametrize(
    ("variables", "no_color", "colour"),
    [
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_can_be_forced_where_no_terminal_is(
    variables: dict[str, str], no_color: bool, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(io.StringIO(), no_color=no_color) == colour


def test_help_and_version_are_commands_too(kgitops: Kgitops) -> None:
    assert kgitops("version").out == f"kgitops {package.__version__}\n"
    assert kgitops("help").out == kgitops("--help").out
    assert kgitops("help", "plan").out == kgitops("plan", "--help").out
    assert kgitops("help", "sandbox", "stop").out == kgitops("sandbox", "stop", "--help").out


def test_help_takes_the_width_that_there_is(
    kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = {}
    for columns in ("60", "110", "400"):
        monkeypatch.setenv("COLUMNS", columns)
        longest[columns] = max(map(len, kgitops("plan", "--help").out.splitlines()))
    assert longest["60"] <= 60
    assert 80 < longest["110"] <= 110
    assert longest["400"] <= 120


def test_what_the_readme_runs_leaves_nothing_to_commit(here: Path, kgitops: Kgitops) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout

    git("init", "-q")
    shutil.copy(ROOT / ".gitignore", here)
    shutil.copytree(ROOT / "examples", here / "examples", ignore=shutil.ignore_patterns(".kgitops"))
    git("add", "-A")
    assert kgitops("apply", "examples/quickstart", "--auto-approve").code == 0
    assert kgitops("plan", "examples/quickstart", "-o", "plan.json").code == 0
    assert kgitops("plan", "examples/virtual-clusters").code == 0
    assert (here / "plan.json").exists()
    assert git("status", "--porcelain", "--untracked-files=all").count("??") == 0
