"""setup installs the commit that it is used at, with uv or pip, and nothing else is on the path."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path

import pytest
import yaml
from actions.step_runner import ACTIONS, ROOT, read_outputs
from installed import BASH

import kgitops

(_, INSTALL) = yaml.safe_load((ACTIONS / "setup" / "action.yml").read_text())["runs"]["steps"]


PINNED = ROOT / "kgitops" / "workflow" / "pinned"
WITH_SYSTEM = f"{os.environ['PATH']}:{os.defpath}"  # the step calls bash by its name
PIN = re.compile(r"^([a-z][\w.-]*)==(\S+)", re.MULTILINE)


def distributions(site: Path) -> Iterator[Distribution]:
    """What is installed in this folder."""
    return iter(Distribution.discover(path=[str(site)]))


def setup(temp: Path, path: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = ("HOME", "XDG_", "SSL_", "UV_", "PIP_", "HTTP", "NO_PROXY")  # how to reach packages
    return subprocess.run(
        [BASH, "-e", "-o", "pipefail", "-c", INSTALL["run"]],
        cwd=temp,
        env={
            **{name: value for name, value in os.environ.items() if name.startswith(kept)},
            "PATH": path,
            "RUNNER_TEMP": str(temp / "temp"),
            "GITHUB_ACTION_PATH": str(ACTIONS / "setup"),
            "GITHUB_PATH": str(temp / "path"),
            "GITHUB_OUTPUT": str(temp / "output"),
            "PYTHON": sys.executable,
            "INPUT_EXTRAS": "",
            **more,
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_setup_installs_this_commit_and_what_is_pinned(tool: str, tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    bins = tmp_path / "bin"
    bins.mkdir()
    if tool == "uv":
        (bins / "uv").symlink_to(os.environ.get("UV") or str(shutil.which("uv")))
    done = setup(tmp_path, f"{bins}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert read_outputs((tmp_path / "output").read_text()) == {"version": kgitops.__version__}
    (added,) = (tmp_path / "path").read_text().splitlines()
    assert [path.name for path in Path(added).iterdir()] == ["kgitops"]
    program = Path(added) / "kgitops"
    assert program.resolve().is_relative_to(tmp_path / "temp")
    ran = subprocess.run([program, "--version"], capture_output=True, text=True, env={}, check=True)
    assert ran.stdout == f"kgitops {kgitops.__version__}\n"
    site = next((tmp_path / "temp" / "kgitops").glob("lib/*/site-packages"))
    pinned = dict(PIN.findall((PINNED / "requirements.txt").read_text()))
    got = {found.name.lower().replace("_", "-"): found.version for found in distributions(site)}
    assert {name: got[name] for name in set(got) & set(pinned)} == {
        name: pinned[name] for name in set(got) & set(pinned)
    }
    assert set(got) - set(pinned) <= {"kgitops", "pip", "setuptools"}


def test_an_extra_that_is_none_fails_the_step(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    done = setup(tmp_path, WITH_SYSTEM, INPUT_EXTRAS="../fleet")
    assert done.returncode != 0
    assert "neither empty nor fleet" in done.stdout
    assert not (tmp_path / "path").exists()


def test_a_file_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    action = tmp_path / "copy" / ".github" / "actions" / "setup"
    shutil.copytree(ACTIONS / "setup", action)
    folder = tmp_path / "copy" / "kgitops" / "workflow" / "pinned"
    folder.mkdir(parents=True)
    text = (PINNED / "requirements.txt").read_text()
    forged = re.sub(r"(?<=sha256:)[0-9a-f]{64}", "0" * 64, text)
    (folder / "requirements.txt").write_text(forged)
    done = setup(tmp_path, WITH_SYSTEM, GITHUB_ACTION_PATH=str(action))
    assert done.returncode != 0
    assert re.search("hash", done.stderr, re.IGNORECASE)
    assert not (tmp_path / "path").exists()


@pytest.mark.parametrize("name", ["requirements", "requirements-fleet"])
def test_pins_are_those_of_the_project(name: str) -> None:
    """Run .ci/pin-packages where this fails."""
    text = (PINNED / f"{name}.txt").read_text()
    pinned = dict(PIN.findall(text))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = dict(word.split("==") for word in project["tool"]["uv"]["constraint-dependencies"])
    assert {key: wanted.get(key, version) for key, version in pinned.items()} == pinned
    needed = list(project["project"]["dependencies"])
    if "fleet" in name:
        needed += project["project"]["optional-dependencies"]["fleet"]
    needed += project["build-system"]["requires"]
    names = {re.split(r"[\[<>=]", word)[0] for word in needed}
    assert names <= set(pinned)
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "://" not in text
    for block in re.split(r"\n(?=[a-z])", text)[1:]:
        assert "--hash=sha256:" in block, block
