"""The set-up of the process that runs policies: its pipes, its life and its memory."""

import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def take_pipes() -> tuple[int, int]:
    """Move the two pipes of our parent to descriptors that no policy finds by chance.

    The output of policies goes to stderr, and their standard input is empty.
    """
    messages, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    # A policy that forks must not answer twice.
    os.register_at_fork(after_in_child=lambda: os.closerange(messages, answers + 1))
    return messages, answers


def end_with_supervisor() -> None:
    """End this process soon after the supervisor, even in an endless policy; ignore Ctrl-C.

    On Linux the system ends it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "linux":
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def enable_debug_log() -> None:
    """Log as ``--log-level debug`` does in the parent; else only warnings are shown."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, format=form)
    logging.getLogger("kgitops").setLevel(logging.DEBUG)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)


MEMORY_IS_LIMITED = sys.platform == "linux"


def limit_memory(more: int) -> None:
    """Limit the process to ``more`` bytes above its memory now; beyond them comes MemoryError."""
    if MEMORY_IS_LIMITED:
        _set(_held() + more)


def lift_limit() -> None:
    """Remove the limit, for work that is not the policies'."""
    if MEMORY_IS_LIMITED:
        _set(resource.RLIM_INFINITY)


@contextmanager
def above_limit() -> Iterator[None]:
    """Raise the limit by the memory that the process takes meanwhile."""
    if not MEMORY_IS_LIMITED:
        yield
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    before = _held()
    lift_limit()
    try:
        yield
    finally:
        if soft != resource.RLIM_INFINITY:
            _set(soft + max(0, _held() - before))


def _held() -> int:
    # The sixth number: private pages of data and stacks, which is what RLIMIT_DATA limits.
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * resource.getpagesize()


def _set(soft: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
