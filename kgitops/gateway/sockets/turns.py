"""Large frames are read in turn, so that no number of them holds the event loop up."""

import asyncio
from collections import deque

from kgitops.gateway.sockets.limits import TURN_BYTES
from kgitops.gateway.sockets.memory import PausableSocket

TURN = 128
"""The reason not to read a socket that waits for its turn, beside those of ``PauseReason``."""
_WOKEN = 2


class ReadingTurns:
    """The bytes of large frames that one turn of the event loop reads, and the sides that wait."""

    def __init__(self) -> None:
        self._read = 0
        self._waiting: deque[PausableSocket] = deque()

    def took(self, side: PausableSocket, size: int) -> None:
        """A side has read so many bytes in the middle of a large frame: it may have to wait."""
        if not self._read and not self._waiting:
            asyncio.get_running_loop().call_soon(self._next)
        self._read += size
        if self._read > TURN_BYTES:
            side.pause_reading(TURN)
            self._waiting.append(side)

    def _next(self) -> None:
        self._read = 0
        for _ in range(min(_WOKEN, len(self._waiting))):
            self._waiting.popleft().resume_reading(TURN)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._next)
