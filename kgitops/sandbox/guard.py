"""Kills brokers whose starter is gone, however it went: ``python -m kgitops.sandbox.guard``.

Tests can be killed, and their brokers must not outlive them. The guard reads ``PID MARK`` lines
from a pipe that only the starter holds; at its end it kills what still runs.
"""

import subprocess
import sys

from kgitops.sandbox.processes import find_process, kill


class Guard:
    """The starter's end of the pipe."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kgitops.sandbox.guard"],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt at the terminal isn't for it
        )

    def watch(self, pid: int, mark: str) -> None:
        """Kill this process when the starter is gone."""
        if self._process.stdin:
            self._process.stdin.write(f"{pid} {mark}\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """Kill what still runs, now."""
        self._process.communicate()


def main() -> None:
    """Wait for the end of standard input."""
    watched = [line.rstrip("\n").partition(" ") for line in sys.stdin]
    for pid, _, mark in watched:
        process = find_process(int(pid), mark)
        if process:
            kill(process)


if __name__ == "__main__":
    main()
