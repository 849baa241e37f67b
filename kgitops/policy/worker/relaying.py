"""The output of policies, passed on: whatever a policy starts holds none of kgitops' files."""

import os
import select
import threading
from contextlib import suppress

_STDERR = 2


class Relay:
    """A pipe whose content goes to stderr; ``write_end`` is for another process."""

    def __init__(self) -> None:
        """Begin to read."""
        self._from, self.write_end = os.pipe()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._from, False)
        self._thread = threading.Thread(
            target=_relay, args=(self._from, self._woken), name="kgitops-policies", daemon=True
        )
        self._thread.start()

    def handed_over(self) -> None:
        """The other process has its end now."""
        os.close(self.write_end)

    def close(self) -> None:
        """Pass on what was written until now; who still holds the pipe writes into nothing."""
        os.close(self._wake)
        self._thread.join()
        os.close(self._from)
        os.close(self._woken)


def _relay(source: int, woken: int) -> None:
    events = select.poll()
    for file in (source, woken):
        events.register(file, select.POLLIN)
    while True:
        ready = {file for file, _ in events.poll()}
        while source in ready:
            try:
                words = os.read(source, 1 << 16)
            except BlockingIOError:
                break
            if not words:
                return
            with suppress(OSError):  # nobody reads kgitops' own stderr
                _write(words)
        if woken in ready:
            return


def _write(words: bytes) -> None:
    rest = memoryview(words)
    while rest:
        rest = rest[os.write(_STDERR, rest) :]
