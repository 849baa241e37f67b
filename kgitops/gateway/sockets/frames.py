"""Cuts whole frames out of the bytes of a connection; each frame is read into its own place."""

import ctypes

from kgitops.gateway.sockets.limits import SCRATCH_BYTES
from kgitops.gateway.sockets.memory import Admission

_SIZE = 4
_HTTP = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE", b"PATC", b"CONN", b"PRI ")
_TLS = b"\x16\x03"
_PROXY = (b"PROX", b"\r\n\r\n")


_new_bytearray = ctypes.pythonapi.PyByteArray_FromStringAndSize
_new_bytearray.argtypes = (ctypes.c_char_p, ctypes.c_ssize_t)
_new_bytearray.restype = ctypes.py_object


class FrameError(ValueError):
    """Bytes that are no frame, or one that is too large; the text says which."""


class FrameReader:
    """The bytes that are no whole frame yet.

    Small frames are cut out of a ``scratch`` that all connections of an event loop share, since
    its bytes are only there from a read to the end of its handling. Of a frame that came in part,
    the rest is read straight into its place, a piece at a time. The place has the frame's size at
    once, and no bytes yet: the system gives memory for what is written there. One that grows would
    be copied, and one of zeros be filled, for longer than the event loop may stand still.
    """

    __slots__ = ("_at", "_data", "_frame", "_have", "_kept", "_scratch", "_size", "admit", "limit")

    def __init__(self, scratch: bytearray, limit: int) -> None:
        self._scratch = scratch
        self.limit = limit
        """The most bytes of a frame; to be changed between two frames."""
        self.admit: Admission | None = None
        """Tells of a frame that did not come at once if the rest may be read now."""
        self._frame: bytearray | None = None
        self._have = self._size = 0
        self._kept = b""
        self._data: memoryview | None = None
        self._at = 0

    @property
    def held(self) -> int:
        """The bytes that wait for the rest of their frame, or to be handled."""
        return (self._have if self._frame is not None else 0) + len(self._kept)

    @property
    def missing(self) -> int:
        """The bytes that have yet to come of a frame that came in part."""
        return self._size - self._have if self._frame is not None else 0

    def place(self) -> memoryview:
        """The place for the next bytes; it is good until they are read."""
        frame = self._frame
        if frame is not None:
            return memoryview(frame)[self._have : self._have + SCRATCH_BYTES]
        kept = len(self._kept)
        if kept >= _SIZE:  # only a reader that was stopped keeps as much, and it reads nothing
            self._scratch = bytearray(kept + SCRATCH_BYTES)
        self._scratch[:kept] = self._kept
        return memoryview(self._scratch)[kept:]

    def took(self, count: int) -> None:
        """So many bytes were read into the place that was given last."""
        if self._frame is not None:
            self._have += count
            return
        count += len(self._kept)
        self._data, self._at, self._kept = memoryview(self._scratch)[:count], 0, b""

    def feed(self, data: bytes) -> None:
        """Bytes that were read elsewhere."""
        self._data, self._at, self._kept = memoryview(self._kept + data), 0, b""

    def next(self) -> bytearray | None:
        """The next whole frame, without its length; None if it is not whole yet.

        Raises:
            FrameError: its length is not one of a frame, or is beyond the limit.
        """
        frame = self._frame
        if frame is not None:
            if self._have < self._size:
                return None
            self._frame = None
            return frame
        if self._data is None:
            if not self._kept:
                return None
            self._data, self._at, self._kept = memoryview(self._kept), 0, b""
        data, at = self._data, self._at
        left = len(data) - at - _SIZE
        if left < 0:
            return None
        size = int.from_bytes(data[at : at + _SIZE], "big", signed=True)
        if not 0 < size <= self.limit:
            raise FrameError(_problem(bytes(data[at : at + _SIZE]), size, self.limit))
        if left < size and self.admit is not None and not self.admit(size):
            return None
        at += _SIZE
        if left >= size:
            self._at = at + size
            return bytearray(data[at : at + size])
        self._frame = frame = _new_bytearray(None, size)
        frame[:left] = data[at:]
        self._have, self._size = left, size
        self._data = None
        return None

    def settle(self) -> None:
        """Keep what is left of the bytes that were read: the shared place is another's then."""
        if self._data is not None:
            self._kept = bytes(self._data[self._at :])
            self._data = None

    def clear(self) -> None:
        """Forget everything."""
        self._frame, self._data, self._kept = None, None, b""


def _problem(head: bytes, size: int, limit: int) -> str:
    if head in _HTTP:
        return "it sent HTTP to a listener for Kafka clients"
    if head in _PROXY:
        return "it sent a PROXY header, but its address is not one that may"
    if head.startswith(_TLS):
        return "it spoke TLS, this listener does not"
    return f"it announced {size} bytes; the limit is {limit}"
