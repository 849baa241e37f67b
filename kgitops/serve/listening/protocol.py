"""Frames of one connection: cut out, and answered in their order, but for a broker's Envelopes."""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from msgspec import Struct

from kgitops.model.errors import KgitopsError
from kgitops.serve.listening.answering import (
    Answer,
    Answering,
    ClientConnection,
    CloseConnectionError,
    OutOfOrder,
)
from kgitops.serve.listening.frames import FrameCutter
from kgitops.serve.listening.open_connections import ClosingLog, ConnectionLimits, OpenConnections
from kgitops.serve.listening.tls import handshake_problem
from kgitops.wire.errors import MalformedError

_SHUTDOWN_SECONDS = 2.0
_WORKING_SECONDS = 1.0
_BUG = "an internal error stopped its request"
_VANISHED = "the client disconnected in the middle of a request"


class Listener(Struct, frozen=True, kw_only=True):
    """The parts of a listener that all of its connections share."""

    answer: Answering
    make_connection: Callable[[str], ClientConnection]
    limits: ConnectionLimits
    open: OpenConnections
    log: ClosingLog
    tls: ssl.SSLContext | None = None
    identify: Callable[[bytes | None], str] | None = None
    """The principal of a client with this certificate, where that is how clients log in.

    It raises ``CloseConnectionError`` for one that is not let in.
    """


class KafkaProtocol(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._limits = listener.limits
        self._frames = FrameCutter(listener.limits, tls=listener.tls is not None)
        self._queue: deque[bytes] = deque()
        self._queued = self._held = self._working = 0
        self._task: asyncio.Task[None] | None = None
        self._out_of_order: set[asyncio.Future[Answer]] = set()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._reading = True
        self._closed = self._setting_up = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless there are too many."""
        self._loop = asyncio.get_running_loop()
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.connection = self._listener.make_connection(peer[0] if peer else "")
        problem = self._listener.open.add(self, self.connection.host)
        if problem is not None:
            self._close(problem)
            return
        self._transport.set_write_buffer_limits(high=self._limits.waiting_bytes)
        self._connected_at = self._active_at = self._loop.time()
        self._check_time()
        if self._listener.tls is not None:
            # Until then nothing is read, and the connection counts as one.
            self._transport.pause_reading()
            self._setting_up = True
            self._task = self._loop.create_task(self._set_up_tls(self._listener.tls))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Forget the connection, and what it still waits for."""
        if not self._closed and len(self._frames):
            self._listener.log.tell(self.connection.host, _VANISHED, level=logging.INFO)
        self._forget()
        for task in (self._task, *self._out_of_order):
            if task is not None:
                task.cancel()
        # They know this connection, and it them: together they would stay for a while.
        self._task = None
        self._out_of_order.clear()
        for close in self.connection.on_close.values():
            close()
        self.connection.on_close.clear()

    def data_received(self, data: bytes) -> None:
        """Cut out whole frames, and answer them."""
        if self._closed:
            return
        try:
            frames = self._frames.feed(data, logged_in=self.connection.principal is not None)
        except MalformedError as error:
            self._close(str(error))
            return
        self._queue.extend(frames)
        self._queued += sum(map(len, frames))
        if frames:
            self._active_at = self._loop.time()
        if not self._count_held():
            self._close("too many bytes of requests wait already (queued.max.request.bytes)")
            return
        if self._task is None and self._queue:
            self._answer_all()
            self._count_held()
        self._stop_or_go_on_reading()

    def pause_writing(self) -> None:
        """The client does not fetch its answers."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """The client has fetched its answers."""
        self._may_write.set()

    def end(self) -> None:
        """Close the connection, because the server ends."""
        self._forget()
        self._transport.close()
        if self._setting_up and self._task:
            self._task.cancel()

    async def _set_up_tls(self, context: ssl.SSLContext) -> None:
        plain = self._transport
        try:
            transport = await self._loop.start_tls(
                plain,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=self._limits.login,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
            )
        except (OSError, EOFError) as error:
            self._close(handshake_problem(error))
            plain.abort()
            return
        finally:
            self._task, self._setting_up = None, False
        if transport is None or self._closed:
            plain.abort()
            return
        self._transport = transport
        transport.set_write_buffer_limits(high=self._limits.waiting_bytes)
        if self._listener.identify is not None:
            found = transport.get_extra_info("ssl_object")
            certificate = found.getpeercert(binary_form=True) if found else None
            try:
                self.connection.principal = self._listener.identify(certificate)
            except CloseConnectionError as error:
                self._close(str(error))
                return
        if self._queue:
            self._answer_all()
        self._stop_or_go_on_reading()

    def _answer_all(self) -> None:
        """Answer what can be answered at once; a task does the rest."""
        while (
            self._queue
            and self._may_write.is_set()
            and not self._transport.is_closing()
            and len(self._out_of_order) < self._limits.waiting_frames
        ):
            data = self._queue.popleft()
            self._queued -= len(data)
            self._working = 0
            try:
                answer = self._listener.answer(data, self.connection)
            except Exception as error:  # noqa: BLE001 (costs this connection, and no other)
                self._fail(error)
                return
            if isinstance(answer, bytes):
                self._transport.write(answer)
            elif isinstance(answer, OutOfOrder):
                self._queued += len(data)  # it is held until it is answered
                task = asyncio.ensure_future(answer.answer)
                self._out_of_order.add(task)
                task.add_done_callback(partial(self._end_out_of_order, len(data)))
            elif answer is not None:
                self._working = len(data)
                self._task = asyncio.ensure_future(self._answer_rest(answer))
                return
        if self._queue and not self._may_write.is_set():
            self._task = asyncio.ensure_future(self._answer_rest(None))

    async def _answer_rest(self, first: Awaitable[Answer] | None) -> None:
        try:
            if first is not None:
                answer = await first
                if answer is not None and not self._closed:
                    self._transport.write(answer)
            await self._may_write.wait()
        except Exception as error:  # noqa: BLE001 (costs this connection, and no other)
            self._task = None
            self._fail(error)
            return
        self._task = None
        self._working = 0
        if not self._closed:
            self._go_on()

    def _end_out_of_order(self, size: int, task: asyncio.Future[Answer]) -> None:
        self._out_of_order.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if self._closed:
            return
        self._queued -= size
        if error is not None:
            self._fail(error)
            return
        answer = task.result()
        if answer is not None:
            self._transport.write(answer)
        self._go_on()

    def _go_on(self) -> None:
        """Answer what has waited for an answer that was given now."""
        self._active_at = self._loop.time()
        if self._task is None:
            self._answer_all()
        self._count_held()
        self._stop_or_go_on_reading()

    def _stop_or_go_on_reading(self) -> None:
        """Read no more while enough waits to be answered."""
        if self._closed:
            return
        full = (
            len(self._queue) + len(self._out_of_order) >= self._limits.waiting_frames
            or self._queued >= self._limits.waiting_bytes
        )
        if full and self._reading:
            self._reading = False
            self._transport.pause_reading()
        elif not full and not self._reading:
            self._reading = True
            self._transport.resume_reading()

    def _count_held(self) -> bool:
        """Count the bytes of requests: begun, waiting, and being answered."""
        held = len(self._frames) + self._queued + self._working
        change, self._held = held - self._held, held
        return self._listener.open.hold(change)

    def _check_time(self) -> None:
        """Close the connection if its time is up, else look again when it may be.

        Before a login, requests give no more time for it.
        """
        login = self.connection.principal is None
        seconds = self._limits.login if login else self._limits.idle
        since = self._connected_at if login else self._active_at
        left = since + seconds - self._loop.time()
        answering = self._task is not None or self._out_of_order
        working = answering and self._may_write.is_set()
        if left <= 0 and not working:
            what = "it has not logged in for" if login else "it was idle for"
            self._close(f"{what} {seconds:g} s", level=logging.INFO)
            return
        wait = min(left if left > 0 else _WORKING_SECONDS, self._limits.login)
        self._timer = self._loop.call_later(wait, self._check_time)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, CloseConnectionError | MalformedError):
            answer = getattr(error, "answer", b"")
            if answer and not self._closed:
                self._transport.write(answer)
            self._close(str(error))
        elif isinstance(error, KgitopsError):  # such as a store that another process holds
            self._close(str(error), level=logging.ERROR)
        else:
            self._close(_BUG, level=logging.ERROR, error=error)

    def _close(
        self, reason: str, *, level: int = logging.WARNING, error: BaseException | None = None
    ) -> None:
        if self._closed:
            return
        self._listener.log.tell(self.connection.host, reason, level=level, error=error)
        self._forget()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            # It may never fetch that.
            self._loop.call_later(_SHUTDOWN_SECONDS, self._transport.abort)

    def _forget(self) -> None:
        self._closed = True
        self._queue.clear()
        self._queued = self._working = 0
        self._frames.clear()
        self._count_held()
        self._listener.open.remove(self)
        if self._timer:
            self._timer.cancel()
