"""Processes by their pid, never another one's that got the same number."""

import time
from contextlib import suppress

import psutil

_STARTING_S = 1.0
_LOOK_EVERY_S = 0.01


def find_process(pid: int, mark: str) -> psutil.Process | None:
    """The running process with this pid, if ``mark`` is a word of its command line.

    A command line is empty for a moment after the process was started, so it is read again.
    """
    deadline = time.monotonic() + _STARTING_S
    try:
        process = psutil.Process(pid)
        while not (words := process.cmdline()) and is_running(process):
            if time.monotonic() > deadline:
                return None
            time.sleep(_LOOK_EVERY_S)
        return process if mark in words and is_running(process) else None
    except psutil.Error:
        return None


def is_running(process: psutil.Process) -> bool:
    """Whether it is, and not just waiting to be looked at by its starter."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def kill(process: psutil.Process) -> None:
    """SIGKILL, and wait until it is gone."""
    with suppress(psutil.Error):
        process.kill()
        process.wait()


def terminate(process: psutil.Process) -> None:
    """SIGTERM, without waiting."""
    with suppress(psutil.Error):
        process.terminate()
