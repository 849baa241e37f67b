"""Frames of one connection: cut out, answered one after the other, in their order."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol, cast

from kgitops.serve.listening.connection import ClientConnection
from kgitops.serve.listening.limits import ConnectionLimits
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import SIZE_BYTES

_log = logging.getLogger("kgitops.serve")

Answer = bytes | None
"""A whole frame; None where the client expects no answer (Produce with ``acks=0``)."""


class CloseConnectionError(Exception):
    """The connection is to be closed; the text is the reason for the log."""


class Answering(Protocol):
    """Answers whole frames."""

    def __call__(self, data: bytes, connection: ClientConnection) -> Answer | Awaitable[Answer]:
        """Answer a request at once, or later; the next one of the connection waits for it.

        Raises:
            CloseConnectionError: it is not to be answered.
            MalformedError: it is not a request.
        """
        ...


class KafkaProtocol(asyncio.Protocol):
    """One connection of a client."""

    def __init__(
        self,
        answer: Answering,
        limits: ConnectionLimits,
        make_connection: Callable[[str], ClientConnection],
        open_connections: set["KafkaProtocol"],
    ) -> None:
        self._answer = answer
        self._limits = limits
        self._make_connection = make_connection
        self._open = open_connections
        self._buffer = bytearray()
        self._frames: deque[bytes] = deque()
        self._task: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._reading = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless there are too many."""
        self._transport = transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.connection = self._make_connection(peer[0] if peer else "")
        if len(self._open) >= self._limits.connections:
            self._close(f"there are {self._limits.connections} connections already")
            return
        self._open.add(self)
        transport.set_write_buffer_limits(high=self._limits.waiting_bytes)
        self._restart_timer()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Forget the connection, and what it still waits for."""
        self._open.discard(self)
        if self._timer:
            self._timer.cancel()
        if self._task:
            self._task.cancel()
        self._frames.clear()

    def data_received(self, data: bytes) -> None:
        """Cut out whole frames, and answer them."""
        self._buffer += data
        try:
            self._cut()
        except MalformedError as error:
            self._close(str(error))
            return
        if self._task is None and self._frames:
            self._answer_all()

    def pause_writing(self) -> None:
        """The client does not fetch its answers."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """The client has fetched its answers."""
        self._may_write.set()

    def end(self) -> None:
        """Close the connection, because the server ends."""
        self._transport.close()

    def _cut(self) -> None:
        """Move whole frames from the buffer to the queue."""
        login = self.connection.principal is None
        most = self._limits.frame_before_login if login else self._limits.frame
        at = 0
        while len(self._buffer) - at >= SIZE_BYTES:
            size = int.from_bytes(self._buffer[at : at + SIZE_BYTES], "big", signed=True)
            if not 0 < size <= most:
                raise MalformedError(f"a request of {size} bytes; at most {most} are taken")
            if len(self._buffer) - at - SIZE_BYTES < size:
                break
            at += SIZE_BYTES
            self._frames.append(bytes(memoryview(self._buffer)[at : at + size]))
            at += size
            self._restart_timer()
        del self._buffer[:at]
        if len(self._frames) >= self._limits.waiting_frames and self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _answer_all(self) -> None:
        """Answer what can be answered at once; a task does the rest."""
        while self._frames and self._may_write.is_set():
            try:
                answer = self._answer(self._frames.popleft(), self.connection)
            except (CloseConnectionError, MalformedError) as error:
                self._close(str(error))
                return
            except Exception:  # noqa: BLE001 (costs this connection, and no other)
                _log.exception("a request of %s could not be answered", self.connection.host)
                self._close("its request could not be answered")
                return
            if isinstance(answer, bytes):
                self._transport.write(answer)
            elif answer is not None:
                self._task = asyncio.ensure_future(self._answer_rest(answer))
                return
        if self._frames:
            self._task = asyncio.ensure_future(self._answer_rest(None))
        elif not self._reading:
            self._reading = True
            self._transport.resume_reading()

    async def _answer_rest(self, first: Awaitable[Answer] | None) -> None:
        try:
            if first is not None:
                answer = await first
                if answer is not None:
                    self._transport.write(answer)
            await self._may_write.wait()
        except (CloseConnectionError, MalformedError) as error:
            self._close(str(error))
            return
        except Exception:  # noqa: BLE001 (costs this connection, and no other)
            _log.exception("a request of %s could not be answered", self.connection.host)
            self._close("its request could not be answered")
            return
        self._task = None
        if not self._transport.is_closing():
            self._answer_all()

    def _restart_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        limits = self._limits
        seconds = limits.login if self.connection.principal is None else limits.idle
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self._close, f"it was idle for {seconds:.0f} s")

    def _close(self, reason: str) -> None:
        if not self._transport.is_closing():
            _log.info("a connection from %s is closed: %s", self.connection.host, reason)
        self._frames.clear()
        self._buffer.clear()
        self._transport.close()
