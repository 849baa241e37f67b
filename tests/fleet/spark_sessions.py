"""Spark for tests: one session a process, and drivers of their own where that would not do.

A test that uses ``local_spark`` runs with all others that do in one process, as a JVM takes seconds
to start and memory. One that starts a Spark of its own bears ``pytest.mark.spark``. What executors
call must stand in a module below ``tests/``, such as ``fleet.spark.spark_work``.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from fleet.spark_archive import driver_options
from msgspec import Struct

from kgitops.fleet.spark.session import Session, session

TESTS = Path(__file__).parents[1]
DRIVER = TESTS / "fleet" / "spark" / "spark_driver.py"
# So that executors can import what tests give them to do.
IMPORTING_TESTS = {"spark.executorEnv.PYTHONPATH": str(TESTS)}
PATIENCE_S = 240
LOCAL = "local[2]"


@pytest.fixture(scope="session")
def local_spark() -> Iterator[Session]:
    """The session that the tests of this process share: two cores, 1 GiB."""
    conf = {"spark.driver.memory": "1g", **driver_options(), **IMPORTING_TESTS}
    with session(LOCAL, None, conf) as started:
        started.engine()
        yield started


class Driven(Struct, frozen=True, kw_only=True):
    """What a driver in a process of its own answered and said."""

    answers: tuple[str, ...]
    error: str | None
    kind: str | None
    progress: tuple[tuple[int, int, int], ...]
    stdout: str
    stderr: str


class Driver:
    """A process that runs tasks on Spark as ``kgitops fleet`` would. End it with ``finish``."""

    def __init__(
        self,
        folder: Path,
        work: Callable[[str], str],
        specs: Sequence[str],
        *,
        master: str | None = None,
        remote: str | None = None,
        conf: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        first_task_timeout_s: float = 600.0,
        warm: bool = False,
    ) -> None:
        # The Java of another environment is another one, which can't use the archive of this one's.
        sooner = driver_options() if env is None else {}
        self._result = folder / "result.json"
        self._order = folder / "order.json"
        order = {
            "master": master,
            "remote": remote,
            "conf": dict(conf or {}) | ({} if remote else sooner | IMPORTING_TESTS),
            "work": work.__name__,
            "specs": list(specs),
            "result": str(self._result),
            "first_task_timeout_s": first_task_timeout_s,
            "warm": warm,
        }
        self._order.write_text(json.dumps(order))
        self.process = subprocess.Popen(
            [sys.executable, DRIVER, self._order],
            env={**(os.environ if env is None else env), "PYTHONPATH": str(TESTS)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def interrupt(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def finish(self) -> Driven:
        try:
            stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        assert self._result.exists(), f"no result; it said: {stdout}{stderr}"
        result = json.loads(self._result.read_text())
        return Driven(
            answers=tuple(result["answers"]),
            error=result["error"],
            kind=result["kind"],
            progress=tuple(tuple(step) for step in result["progress"]),
            stdout=stdout,
            stderr=stderr,
        )


def bare_environment(folder: Path) -> dict[str, str]:
    """That of a machine that has a shell's commands and no Java."""
    commands = folder / "commands"
    commands.mkdir()
    for name in ("bash", "sh", "env", "dirname", "ps", "uname", "ls", "cat", "readlink"):
        found = shutil.which(name)
        if found:
            (commands / name).symlink_to(found)
    assert shutil.which("java", path=str(commands)) is None
    kept = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    return {**kept, "PATH": str(commands), "VIRTUAL_ENV": sys.prefix}
