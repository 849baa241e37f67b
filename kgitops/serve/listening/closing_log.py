"""The log lines of connections that are closed: one each, and never too many."""

import logging
import time
from collections.abc import Callable

from kgitops.serve.printable import printable

_log = logging.getLogger("kgitops.serve")
_LINES = 20
_SECONDS = 10.0


class ClosingLog:
    """Writes a line about each connection that is closed, and counts those beyond the rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._written = 0
        self._left_out = 0

    def tell(
        self,
        host: str,
        reason: str,
        *,
        level: int = logging.WARNING,
        error: BaseException | None = None,
    ) -> None:
        """Write that a connection from a host is closed; with the traceback of a bug."""
        now = self._clock()
        if now - self._since >= _SECONDS:
            if self._left_out:
                _log.warning("%d more closed connections had no line", self._left_out)
            self._since, self._written, self._left_out = now, 0, 0
        if self._written >= _LINES:
            self._left_out += 1
            return
        self._written += 1
        _log.log(
            level, "a connection from %s is closed: %s", host, printable(reason), exc_info=error
        )
