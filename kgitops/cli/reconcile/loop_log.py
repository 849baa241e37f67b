"""The log of a loop on stdout, written by a thread of its own: nobody waits for whoever reads it.

A pipe whose reader stands still takes nothing any more. Turns, receivers of notifications and the
end of the process must not wait for it.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable

_MOST_LINES = 1000
_CLOSE_WITHIN_S = 5.0


class LoopLog:
    """Lines on their way to stdout; ``put`` returns at once, from any thread."""

    def __init__(self, lost: Callable[[int], str], *, most: int = _MOST_LINES) -> None:
        """Start the thread; ``lost`` makes the line that tells how many lines were dropped."""
        self._lost = lost
        self._most = most
        self._changed = threading.Condition()
        self._waiting: deque[str] = deque()
        self._dropped = 0
        self._closing = False
        self._rest = b""
        self._thread = threading.Thread(target=self._run, name="kgitops log", daemon=True)
        self._thread.start()

    def put(self, text: str) -> None:
        """Let the lines wait; where too many do, the oldest are dropped."""
        with self._changed:
            if len(self._waiting) >= self._most:
                self._waiting.popleft()
                self._dropped += 1
            self._waiting.append(text)
            self._changed.notify_all()

    def close(self) -> None:
        """Write what waits, for a few seconds at most."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(_CLOSE_WITHIN_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if not self._waiting:
                    return
                dropped, self._dropped = self._dropped, 0
                text = self._waiting.popleft()
            if dropped:
                self._write(self._lost(dropped))
            self._write(text)

    def _write(self, text: str) -> None:
        """Write lines; what a full disk does not take is lost, but for the rest of one begun.

        Not by ``sys.stdout``, whose lock would hold up the end of the process.
        """
        data = self._rest + f"{text.rstrip()}\n".encode(errors="backslashreplace")
        written = 0
        try:
            while written < len(data):
                written += os.write(sys.stdout.fileno(), data[written:])
        except (OSError, ValueError):  # the latter where stdout is closed
            pass
        self._rest = data[written:] if written else self._rest
