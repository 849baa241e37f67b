"""Kills brokers after the process that started them: ``python -m kgitops.sandbox.guard``.

That process may be killed itself, and the brokers must not outlive it. The guard reads ``PID MARK``
lines from a pipe that only that process holds; when the pipe closes it kills the brokers that still
run, unless the last line released them.
"""

import subprocess
import sys

from kgitops.sandbox.process import find_process, kill

_RELEASE = "release"


class Guard:
    """The starter's end of the pipe."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kgitops.sandbox.guard"],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt at the terminal must not reach it
        )

    def watch(self, pid: int, mark: str) -> None:
        """Kill this process once the starter has ended."""
        self._send(f"{pid} {mark}")

    def release(self) -> None:
        """Let the watched processes live on."""
        self._send(_RELEASE)
        self.close()

    def close(self) -> None:
        """Kill the watched processes that still run, now."""
        self._process.communicate()

    def _send(self, line: str) -> None:
        if self._process.stdin:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


def main() -> None:
    """Read standard input to its end, then kill the watched processes."""
    lines = [line.rstrip("\n") for line in sys.stdin]
    if lines and lines[-1] == _RELEASE:
        return
    for pid, _, mark in (line.partition(" ") for line in lines):
        process = find_process(int(pid), mark)
        if process:
            kill(process)


if __name__ == "__main__":
    main()
