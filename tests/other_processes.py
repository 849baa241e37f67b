"""Other processes of a test: one that ends with it, and what a function says in several."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parent


@contextmanager
def running(
    words: Sequence[str | Path],
    **options: Any,  # noqa: ANN401 (of subprocess.Popen)
) -> Iterator["subprocess.Popen[Any]"]:
    """A process that is waited for at the end of the block, and killed where the block fails.

    ``subprocess.Popen`` itself would be waited for then, too, and a server ends by no failure.
    """
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


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
