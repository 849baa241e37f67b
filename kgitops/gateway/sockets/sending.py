"""Frames on their way out: small ones at once, large ones in pieces as the peer fetches them."""

from collections import deque
from collections.abc import Callable, Sequence

from kgitops.gateway.sockets.limits import PIECE_BYTES

Chunk = bytes | bytearray | memoryview


class SendingQueue:
    """Chunks that wait for room in the socket; none is copied before there is some."""

    __slots__ = ("_queue", "_write", "full")

    def __init__(self, write: Callable[[Chunk], None]) -> None:
        self._write = write
        self._queue: deque[Chunk] = deque()
        self.full = False
        """True while the socket takes no more; what writes may set it."""

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Send a frame that is made of these."""
        size = sum(map(len, chunks))
        head = size.to_bytes(4, "big")
        if not self._queue and not self.full and size <= PIECE_BYTES:
            self._write(b"".join((head, *chunks)))
            return
        self._queue.append(head)
        self._queue.extend(chunks)
        self.flush()

    def flush(self) -> None:
        """Write pieces while the socket takes them."""
        queue = self._queue
        while queue and not self.full:
            first = queue.popleft()
            if len(first) > PIECE_BYTES:
                view = memoryview(first)
                queue.appendleft(view[PIECE_BYTES:])
                self._write(view[:PIECE_BYTES])
                continue
            parts, size = [first], len(first)
            while queue and size + len(queue[0]) <= PIECE_BYTES:
                size += len(queue[0])
                parts.append(queue.popleft())
            self._write(b"".join(parts) if len(parts) > 1 else first)

    def clear(self) -> None:
        """Forget what waits."""
        self._queue.clear()
