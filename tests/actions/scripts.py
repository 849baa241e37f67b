"""Runs one script of the actions as a step would, or imports it."""

import importlib
import os
import runpy
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from actions.conftest import MERGED, Repository
from actions.fake_github import REPOSITORY, TOKEN
from actions.step_runner import ACTIONS

SCRIPTS = ACTIONS / "scripts"
_HURRIED = """
import runpy, sys, time
sleep = time.sleep
time.sleep = lambda seconds: sleep(seconds / 100)
sys.path.insert(0, sys.argv.pop(1))
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


@contextmanager
def module(name: str) -> Iterator[ModuleType]:
    """A module of the scripts, imported as they import each other, and forgotten after."""
    with _alone():
        yield importlib.import_module(name)


@contextmanager
def _alone() -> Iterator[None]:
    """Scripts are imported as they import each other, and forgotten after.

    Tests have packages of the same names: what is loaded of them is put aside meanwhile.
    """
    scripts = {path.stem for path in SCRIPTS.glob("*.py")}
    aside = {name: sys.modules.pop(name) for name in scripts & set(sys.modules)}
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield
    finally:
        sys.path.remove(str(SCRIPTS))
        for script in scripts & set(sys.modules):
            del sys.modules[script]
        sys.modules.update(aside)


def script(
    repository: Repository, name: str, event: str = "{}", *, process: bool = False, **env: str
) -> subprocess.CompletedProcess[str]:
    """One script, with this environment alone; its waits are a hundredth.

    It runs in this process, or as steps do, in a ``process`` of its own.
    """
    repository.temp.mkdir(exist_ok=True)
    files = {key: repository.temp / key for key in ("output", "summary", "event")}
    for file in files.values():
        file.write_text("")
    files["event"].write_text(event)
    given: Mapping[str, str] = {
        "PATH": f"{repository.bin}{os.pathsep}/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "RUNNER_TEMP": str(repository.temp),
        "GITHUB_API_URL": repository.github.url,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_EVENT_PATH": str(files["event"]),
        "GITHUB_OUTPUT": str(files["output"]),
        "GITHUB_STEP_SUMMARY": str(files["summary"]),
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_RUN_ID": "42",
        "GITHUB_SHA": MERGED,
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_TOKEN": TOKEN,
        **env,
    }
    return (_process if process else _here)(SCRIPTS / name, repository.root, given)


def _process(file: Path, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _HURRIED, str(SCRIPTS), str(file)],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


def _here(file: Path, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    out = TextIOWrapper(BytesIO(), "utf-8", write_through=True)
    sleep = time.sleep
    with (
        _alone(),
        chdir(folder),
        patch.dict(os.environ, env, clear=True),
        patch.object(time, "sleep", lambda seconds: sleep(seconds / 100)),
        redirect_stdout(out),
        redirect_stderr(out),
    ):
        code = _ended(file)
    return subprocess.CompletedProcess(file, code, out.buffer.getvalue().decode())  # type: ignore[attr-defined]


def _ended(file: Path) -> int:
    """Run it as Python does, and return its exit code."""
    try:
        runpy.run_path(str(file), run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    except Exception:  # noqa: BLE001 (a bug, which ends a process with what is printed here)
        traceback.print_exc()
        return 1
    return 0
