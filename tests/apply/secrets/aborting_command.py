"""A kgitops command that dies by SIGABRT when it reads a password, as by a bug in a library.

Usage: aborting_command.py GUARDED WORD... Core dumps are as large as the system permits. It prints
what prctl and the limit say just before it dies; not GUARDED is the mutant that does not forbid
them.
"""

import ctypes
import os
import resource
import sys
from contextlib import ExitStack
from typing import NoReturn
from unittest.mock import patch

from kgitops.cli.main import run

PR_GET_DUMPABLE = 3
PLACES = ("kgitops.apply.secrets", "kgitops.workflow.drift")


def die(*_: object) -> NoReturn:
    dumpable = ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)
    print(dumpable, resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)
    os.abort()


if __name__ == "__main__":
    guarded = sys.argv.pop(1) == "guarded"
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    with ExitStack() as stack:
        for place in PLACES:
            stack.enter_context(patch(f"{place}.read_secret", die))
            if not guarded:
                stack.enter_context(patch(f"{place}.forbid_core_dumps", lambda: None))
        run()
