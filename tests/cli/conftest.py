"""Commands run as a user runs them, in a folder of their own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli.processes import PausedApply
from cli.projects import Project
from msgspec import Struct

from kgitops.cli.main import main


class Ran(Struct, frozen=True):
    """What came of a command; ``said`` is all that it printed, on one line."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return " ".join(f"{self.out}\n{self.err}".split())


Kgitops = Callable[..., Ran]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def project(here: Path) -> Project:
    """A project's folder, nothing in it yet."""
    return Project(here / "payments")


@pytest.fixture
def kgitops(capsys: pytest.CaptureFixture[str]) -> Kgitops:
    """Runs a command in this process."""

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def process(here: Path) -> Kgitops:
    """Runs a command in a process of its own."""

    def run(*words: object, **given: object) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "kgitops", *map(str, words)],
            cwd=here,
            env={**os.environ, "PYTHONWARNINGS": "error", **dict(given.pop("env", {}))},  # type: ignore[call-overload]
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **given,  # type: ignore[call-overload]
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def paused(here: Path) -> Iterator[Callable[..., PausedApply]]:
    """Runs a command in another process, held up when its first change is done."""
    started: list[PausedApply] = []

    def start(*words: object) -> PausedApply:
        started.append(PausedApply(here / f"gate-{len(started)}", *words))
        return started[-1]

    yield start
    for apply in started:
        apply.stop()
