"""Whole processes, timed side by side; bytecode is cached, as it is for users, or is not."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

_CACHE = Path(tempfile.gettempdir()) / "kgitops-benchmark-bytecode"


class Run(Struct, frozen=True):
    """One process: wall and CPU seconds, peak memory in MB, and what it printed."""

    wall: float
    cpu: float
    megabytes: float
    lines: list[tuple[float, str]]


def run(
    words: list[str],
    *,
    exits: tuple[int, ...] = (0,),
    python: str = sys.executable,
    bytecode: bool = True,
) -> Run:
    """Run Python with these words to its end; each line of stdout with its second.

    Without ``bytecode`` everything is compiled again, as where a container's image holds none.
    """
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = str(_CACHE if bytecode else _CACHE / "none")
    if not bytecode:
        environ["PYTHONDONTWRITEBYTECODE"] = "1"
    started = time.perf_counter()
    process = subprocess.Popen(
        [python, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )
    assert process.stdout is not None
    lines = [(time.perf_counter() - started, line) for line in process.stdout]
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in exits:
        assert process.stderr is not None
        raise SystemExit(
            f"{' '.join(words[:5])} exited {process.returncode}: {process.stderr.read()}"
        )
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, lines)
