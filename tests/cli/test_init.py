"""The workflow of ``kgitops init`` installs what is pinned, or says what to fill in."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli.conftest import Kgitops
from installed import BASH

from kgitops.workflow.project import new_project

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def workflow(folder: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((folder / ".github/workflows/kgitops.yaml").read_text()))


def install(folder: Path, repository: str, commit: str) -> tuple[int, str, list[str]]:
    """The step that installs, with a pip that only writes down what it is asked for."""
    (step,) = [
        step
        for step in workflow(folder)["jobs"]["plan"]["steps"]
        if step.get("name") == "install kgitops"
    ]
    bins = folder / "bin"
    bins.mkdir()
    (bins / "pip").write_text(f'#!/bin/sh\necho "$@" >>{bins}/asked\n')
    (bins / "pip").chmod(0o755)
    done = subprocess.run(
        [BASH, "-e", "-c", step["run"]],
        cwd=folder,
        env={"PATH": f"{bins}:{os.environ['PATH']}", "REPOSITORY": repository, "COMMIT": commit},
        capture_output=True,
        text=True,
        check=False,
    )
    asked = bins / "asked"
    return done.returncode, done.stdout, asked.read_text().splitlines() if asked.exists() else []


@pytest.mark.parametrize(
    ("repository", "commit"),
    [
        ("", ""),
        ("https://git.example/kgitops", ""),
        ("https://git.example/kgitops", "main"),
        ("https://git.example/kgitops", COMMIT + "0"),
        ("kgitops", COMMIT),
        ("git://git.example/kgitops", COMMIT),
    ],
)
def test_until_it_is_filled_in_the_workflow_says_so_and_installs_nothing(
    repository: str, commit: str, here: Path, kgitops: Kgitops
) -> None:
    """A name alone would install whatever somebody else puts on an index."""
    assert kgitops("init").code == 0
    code, said, asked = install(here, repository, commit)
    assert (code, asked) == (1, [])
    assert said == (
        "::error title=kgitops::Fill in KGITOPS_REPOSITORY and KGITOPS_COMMIT at the top of "
        ".github/workflows/kgitops.yaml: where kgitops is installed from, and the commit of it "
        "that you reviewed.\n"
    )


def test_it_installs_one_commit_and_what_is_pinned_with_hashes(
    here: Path, kgitops: Kgitops
) -> None:
    assert kgitops("init").code == 0
    code, _, asked = install(here, "https://git.example/kgitops", COMMIT)
    assert (code, asked) == (
        0,
        [
            "install --require-hashes --requirement .github/kgitops-requirements.txt",
            "install --no-deps --no-build-isolation "
            f"kgitops @ git+https://git.example/kgitops@{COMMIT}",
        ],
    )
    pins = (here / ".github/kgitops-requirements.txt").read_text()
    assert "confluent-kafka==" in pins
    assert "hatchling==" in pins
    assert "--hash=sha256:" in pins


def test_who_installed_from_a_repository_has_nothing_to_fill_in(
    here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = ("https://git.example/kgitops", COMMIT)
    monkeypatch.setattr(new_project, "repository", lambda: known)
    assert kgitops("init").code == 0
    env = workflow(here)["env"]
    assert (env["KGITOPS_REPOSITORY"], env["KGITOPS_COMMIT"]) == known
