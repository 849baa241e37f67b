"""Frames out of what a socket gives, which TLS may have encrypted; and how much it shall give."""

import asyncio
import socket
from contextlib import suppress

from kgitops.gateway.sockets.frames import FrameReader
from kgitops.gateway.sockets.memory import Admission
from kgitops.gateway.sockets.tls import MOST_HELD, TlsSession

_LEAST = 32 * 1024
_MOST = 128 * 1024
_ANY = 1


class ReceivedFrames:
    """The frames of one socket, once its TLS is there."""

    __slots__ = ("_frames", "_scratch", "_tls", "ended")

    def __init__(self, scratch: bytearray, frame_bytes: int, tls: TlsSession | None) -> None:
        self._scratch = scratch
        self._frames = FrameReader(scratch, frame_bytes)
        self._tls = tls
        self.ended = False
        """True once the peer has said by TLS that no more will come."""

    @property
    def missing(self) -> int:
        """The least number of bytes that the socket has to give for the next whole frame."""
        missing = self._frames.missing
        return missing - MOST_HELD if self._tls is not None else missing

    def ask(self, admit: Admission | None) -> None:
        """Ask this before a frame that does not come at once."""
        self._frames.admit = admit

    def limit(self, frame_bytes: int) -> None:
        """Change the most bytes of a frame."""
        self._frames.limit = frame_bytes

    def place(self) -> memoryview:
        """The place to read into: a frame's own, or the one that all connections share."""
        return self._frames.place() if self._tls is None else memoryview(self._scratch)

    def took(self, count: int) -> None:
        """So many bytes were read into the place."""
        if self._tls is None:
            self._frames.took(count)
        else:
            self._tls.receive(memoryview(self._scratch)[:count])

    def feed(self, data: bytes) -> None:
        """Take bytes that were read elsewhere."""
        if self._tls is None:
            self._frames.feed(data)
        else:
            self._tls.receive(data)

    def next(self) -> bytearray | None:
        """The next frame; None if it is not whole yet.

        Raises:
            FrameError: it has no length of a frame.
            ssl.SSLError: the bytes are no TLS.
        """
        while True:
            frame = self._frames.next()
            if frame is not None or self._tls is None or not self._decrypt(self._tls):
                return frame

    def settle(self) -> None:
        """Keep what is left of the bytes that were read: the shared place is another's then."""
        self._frames.settle()

    def clear(self) -> None:
        """Forget everything."""
        self._frames.clear()

    def _decrypt(self, tls: TlsSession) -> bool:
        """Get more bytes out of TLS; False if there are none."""
        self._frames.settle()
        count = tls.read(self._frames.place())
        if not count:
            self.ended = count is None
            return False
        self._frames.took(count)
        return True


class WakeUps:
    """The number of bytes for which the operating system wakes the reader of a socket.

    A peer with TLS sends 16 KiB at a time; each would cost a turn of the event loop and a read, and
    a frame is of no use before its last byte. The end of a connection wakes at any time.
    """

    __slots__ = ("_bytes", "_socket")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._socket = transport.get_extra_info("socket")
        self._bytes = _ANY

    def expect(self, missing: int) -> None:
        """At least so many bytes are to come before there is anything to do."""
        wanted = min(missing, _MOST) if missing >= _LEAST else _ANY
        if wanted == self._bytes or self._socket is None:
            return
        self._bytes = wanted
        with suppress(OSError):  # it is closed, or this system has no such option
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
