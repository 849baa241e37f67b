"""Cuts whole frames out of the bytes that a connection sends."""

from kgitops.serve.listening.open_connections import ConnectionLimits
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import SIZE_BYTES

_HTTP = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE", b"PATC", b"CONN", b"PRI ")
_TLS_HANDSHAKE = b"\x16\x03"


class FrameCutter:
    """The bytes that are no whole frame yet. Nothing is set aside for what was only announced."""

    def __init__(self, limits: ConnectionLimits, *, tls: bool) -> None:
        self._limits = limits
        self._tls = tls
        self._buffer = bytearray()

    def __len__(self) -> int:
        """The bytes that wait for the rest of their frame."""
        return len(self._buffer)

    def feed(self, data: bytes, *, logged_in: bool) -> list[bytes]:
        """The frames that are whole with these bytes, without their sizes.

        Raises:
            MalformedError: one is too large, or has no bytes, or it is another protocol.
        """
        self._buffer += data
        most = self._limits.frame if logged_in else self._limits.frame_before_login
        frames = []
        at = 0
        while len(self._buffer) - at >= SIZE_BYTES:
            head = bytes(self._buffer[at : at + SIZE_BYTES])
            size = int.from_bytes(head, "big", signed=True)
            if not 0 < size <= most:
                raise MalformedError(self._problem(head, size, most))
            if len(self._buffer) - at - SIZE_BYTES < size:
                break
            at += SIZE_BYTES
            frames.append(bytes(memoryview(self._buffer)[at : at + size]))
            at += size
        if at:
            del self._buffer[:at]
        return frames

    def clear(self) -> None:
        """Forget what waits."""
        self._buffer.clear()

    def _problem(self, head: bytes, size: int, most: int) -> str:
        if head in _HTTP:
            return "it sent HTTP to a listener for Kafka clients"
        if not self._tls and head.startswith(_TLS_HANDSHAKE):
            return "it spoke TLS, this listener does not"
        return f"it announced a request of {size} bytes; the limit is {most}"
