"""Whole trees of processes, timed, and their memory sampled by what each process is.

Resident memory is what the operating system says of each process, so what workers share is counted
in each of them: the sums are too large rather than too small.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

EVERY_S = 0.1
_CACHE = Path(tempfile.gettempdir()) / "kgitops-benchmark-bytecode"


@dataclass(slots=True)
class Tree:
    """One run: wall seconds, what it printed, and peaks of resident memory in MB.

    ``total`` is the peak of the sum; ``root`` that of the process itself, ``java`` of its JVM,
    ``workers`` of the sum of all others, and ``worker`` of the largest of these.
    """

    wall: float = 0.0
    stdout: str = ""
    exit: int = 0
    peaks: dict[str, float] = field(default_factory=dict)


def run_tree(words: list[str], *, exits: tuple[int, ...] = (0,), timeout_s: float = 3600) -> Tree:
    """Run Python with these words and watch all that it starts."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = str(_CACHE)
    tree, ended = Tree(), threading.Event()
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )
    watcher = threading.Thread(target=_watch, args=(process.pid, tree, ended))
    watcher.start()
    try:
        tree.stdout, stderr = process.communicate(timeout=timeout_s)
        tree.wall = time.perf_counter() - started
    finally:
        process.kill()
        ended.set()
        watcher.join()
    tree.exit = process.returncode
    if tree.exit not in exits:
        raise SystemExit(f"{' '.join(words[:6])} exited {tree.exit}: {stderr[-2000:]}")
    return tree


def _watch(root: int, tree: Tree, ended: threading.Event) -> None:
    while not ended.wait(EVERY_S):
        now = dict.fromkeys(("total", "root", "java", "workers", "worker"), 0.0)
        for process in _family(root):
            try:
                megabytes = process.memory_info().rss / 2**20
                java = process.name() == "java"
            except psutil.Error:
                continue  # it has ended meanwhile
            kind = "root" if process.pid == root else "java" if java else "workers"
            now[kind] += megabytes
            now["total"] += megabytes
            if kind == "workers":
                now["worker"] = max(now["worker"], megabytes)
        tree.peaks = {kind: max(now[kind], tree.peaks.get(kind, 0.0)) for kind in now}


def _family(root: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(root)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []
