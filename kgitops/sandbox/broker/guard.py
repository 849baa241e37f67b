"""Kills brokers whose starter is gone, however it went: ``python -m kgitops.sandbox.broker.guard``.

Whoever starts brokers can be killed, and the brokers must not outlive it. The guard reads
``PID MARK`` lines from a pipe that only the starter holds; at its end it kills what still runs,
unless the last line let them go.
"""

import subprocess
import sys

from kgitops.sandbox.broker.processes import find_process, kill

_RELEASE = "release"


class Guard:
    """The starter's end of the pipe."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kgitops.sandbox.broker.guard"],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt at the terminal isn't for it
        )

    def watch(self, pid: int, mark: str) -> None:
        """Kill this process when the starter is gone."""
        self._tell(f"{pid} {mark}")

    def release(self) -> None:
        """Let them live on."""
        self._tell(_RELEASE)
        self.close()

    def close(self) -> None:
        """Kill what still runs, now."""
        self._process.communicate()

    def _tell(self, line: str) -> None:
        if self._process.stdin:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


def main() -> None:
    """Wait for the end of standard input."""
    told = [line.rstrip("\n") for line in sys.stdin]
    if told and told[-1] == _RELEASE:
        return
    for pid, _, mark in (line.partition(" ") for line in told):
        process = find_process(int(pid), mark)
        if process:
            kill(process)


if __name__ == "__main__":
    main()
