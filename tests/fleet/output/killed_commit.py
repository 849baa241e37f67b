"""Replaces results, and is killed at one of its calls of the file system. Fault injection.

Started as ``killed_commit.py DIR``, it reads lines ``NAME CALL``: a process of its own then
replaces the result in DIR, and kills itself before the CALL-th call of the kinds below. What comes
back is how that process ended; nothing but forking takes place in the one that reads.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from fleet.output.fleet_results import run, unit, written
from report.plans import make_plan, update_topic

from kgitops.fleet.output.publish import commit, run_folder

# pyarrow imports it sooner or later, where it is installed, and here once for all.
with suppress(ImportError):
    import_module("pandas")
CALLS = ("rename", "unlink", "rmdir", "mkdir", "fsync")


class Killer:
    """Counts calls of the functions that it stands before."""

    def __init__(self, at: int) -> None:
        self.left = at
        for call in CALLS:
            setattr(os, call, self.before(getattr(os, call)))

    def before(self, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*given: object, **named: object) -> object:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return counted


def replace_result(directory: Path, name: str, at: int) -> None:
    with run_folder(directory) as private:
        summary = written(make_plan(update_topic(name)), private, unit())
        written(make_plan(), private, unit("lost"))
        Killer(at)
        commit(private, directory, run(summary))


if __name__ == "__main__":
    for line in sys.stdin:
        name, at = line.split()
        child = os.fork()
        if child == 0:
            try:
                replace_result(Path(sys.argv[1]), name, int(at))
            finally:
                os._exit(int(sys.exc_info()[0] is not None))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
