"""A supervisor as its owner holds it: its lifeline, and what is done where it can't do its work."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from kgitops.policy.worker.supervising import END

TOKEN = "KGITOPS_POLICY_WORKER"  # noqa: S105 (the name of a variable, which marks processes)
"""The environment variable by which a worker's processes know whose they are."""


def end(pid: int, lifeline: int, wait: Callable[[], int | None], token: str) -> None:
    """Have everything below the supervisor ended, and the supervisor itself.

    ``wait`` gives it some seconds to end: its exit status, None where it goes on. Where it was
    killed or doesn't answer, the processes that bear ``token`` in their environment are ended.
    """
    with suppress(OSError):  # it is gone already
        os.write(lifeline, END)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    status = wait()
    if status is None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait()
    if status is None or status < 0:
        _end_marked(token)
    os.close(lifeline)


def _end_marked(token: str) -> None:
    import psutil

    found = True
    while found:
        found = False
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get(TOKEN) == token:
                    process.kill()
                    found = True
