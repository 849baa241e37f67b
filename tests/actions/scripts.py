"""Runs one script of the actions as a step would, or imports it."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

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
    """A module of the scripts, imported as they import each other, and forgotten after.

    Tests have packages of the same names: what is loaded of them is put aside meanwhile.
    """
    scripts = {path.stem for path in SCRIPTS.glob("*.py")}
    aside = {name: sys.modules.pop(name) for name in scripts & set(sys.modules)}
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(SCRIPTS))
        for script in scripts & set(sys.modules):
            del sys.modules[script]
        sys.modules.update(aside)


def script(
    repository: Repository, name: str, event: str = "{}", **env: str
) -> subprocess.CompletedProcess[str]:
    """One script in a process of its own, with this environment; its waits are a hundredth."""
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
    return subprocess.run(
        [sys.executable, "-c", _HURRIED, str(SCRIPTS), str(SCRIPTS / name)],
        cwd=repository.root,
        env=dict(given),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
