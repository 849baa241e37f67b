"""What a function of a test's module says in processes whose hashes are others."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_TESTS = Path(__file__).parent


def told_by_processes(tell: Callable[[], str]) -> frozenset[str]:
    """What ``tell`` returns there, each text once.

    Sets are in another order in each, and nothing is left of what was told before: a text that
    hangs on either differs from the one told here.
    """
    path = os.pathsep.join((str(Path(inspect.getfile(tell)).parent), str(_TESTS)))
    program = f"import sys; from {tell.__module__} import {tell.__name__} as tell; {_WRITE}"
    return frozenset(
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout.decode()
        for seed in ("1", "2")
    )


_WRITE = "sys.stdout.buffer.write(tell().encode())"
