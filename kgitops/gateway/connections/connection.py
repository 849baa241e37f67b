"""A client's connection, and the one to a broker that belongs to it."""

import ssl
from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kgitops.gateway.connections.binding import ConnectionBinding
from kgitops.gateway.connections.certificate_logins import CertificateLogin
from kgitops.gateway.connections.logins import SASL_AUTHENTICATE, SASL_HANDSHAKE, LoginFollower
from kgitops.gateway.connections.parts import ListeningSocket, SharedParts
from kgitops.gateway.connections.pending import InFlightRequests
from kgitops.gateway.connections.refusals import RefusalReason, RefusedError
from kgitops.gateway.connections.upstream_connection import UpstreamConnection
from kgitops.gateway.rewriting.exchange import Forward, LocalAnswer, RefusedFrameError, read_header
from kgitops.gateway.sockets.framed_socket import FramedSocket
from kgitops.gateway.sockets.frames import FrameError
from kgitops.gateway.sockets.memory import ConnectionMemory
from kgitops.gateway.sockets.proxy_protocol import ProxyError, is_trusted
from kgitops.gateway.sockets.socket_owner import PauseReason
from kgitops.gateway.sockets.tls import handshake_problem
from kgitops.wire.apis import apis
from kgitops.wire.errors import TooLongError
from kgitops.wire.splicing import Chunks

if TYPE_CHECKING:
    from kgitops.gateway.connections.open_connections import GatewayConnections

_T = TypeVar("_T")
_CORRELATION = 4
_LOGIN = (SASL_HANDSHAKE, SASL_AUTHENTICATE)
_PART_OF_LIFETIME = 0.85
"""The connection ends before the broker's time for a login does, which requests under way need."""


class ProxiedConnection:
    """Both sides of a connection; a broker's is opened with the client's first request."""

    __slots__ = (
        "_age_s", "_binding", "_broker", "_certificate", "_clock", "_closed", "_door", "_ending",
        "_key", "_login", "_memory", "_open", "_parts", "_pending", "_rewriter", "_rewriting",
        "active", "address", "began_at", "client",
    )  # fmt: skip

    def __init__(
        self, door: ListeningSocket, parts: SharedParts, opened: "GatewayConnections"
    ) -> None:
        self._door, self._parts, self._open = door, parts, opened
        credentials = parts.credentials
        self._certificate = None if credentials is None else CertificateLogin(credentials)
        self._login = self._certificate or LoginFollower(sasl=parts.sasl, claim=parts.claim)
        self._binding = ConnectionBinding(door.virtual_cluster)
        self._rewriter = parts.new_rewriter()
        if self._login.principal is not None:
            self._rewriter.logged_in()
        self._pending = InFlightRequests()
        self._ending = self._closed = False
        self._rewriting = 0
        self._key: int | None = None
        self.address = ""
        self._clock = opened.clock
        self.began_at = self.active = self._clock()
        limits = parts.limits
        self._age_s = limits.age_s
        before = limits.request_bytes_before_login if parts.sasl else limits.request_bytes
        self.client = FramedSocket(
            self,
            parts.scratch,
            frame_bytes=before,
            write_bytes=limits.write_bytes,
            tls=door.tls(),
            turns=parts.turns,
        )
        self._memory = ConnectionMemory(parts.memory)
        self.client.ask(self._memory.of(self.client))
        self._broker = UpstreamConnection(self, parts, self._memory, self._certificate)

    # -- what its sides tell -------------------------------------------------------------------

    def on_connect(self, side: FramedSocket) -> None:
        """Take a client in, or send a broker what waits for it."""
        if side is not self.client:
            if self.client.is_full:
                side.pause_reading(PauseReason.FULL)
            self._broker.connected(side)
            return
        self._parts.counts.accepted += 1
        self.address = side.address
        if is_trusted(self.address, self._parts.load_balancers):
            side.expect_proxy_header()
        self._open.add(self)
        refusal = self._open.refusal()
        if refusal is not None:
            self.refuse(*refusal)

    def on_tls(self, side: FramedSocket) -> None:
        """A broker is there once TLS is; a client may have to show a certificate."""
        if side is not self.client:
            self._broker.secured()
        elif self._certificate is not None:
            try:
                self._certificate.show(side.certificate)
            except RefusedError as error:
                self.refuse(error.reason, str(error))
            self._rewriter.logged_in()

    def on_frame(self, side: FramedSocket, frame: bytearray) -> None:
        """Rewrite a frame, and send it to the other side."""
        if side is self.client:
            self._guarded(side, partial(self._request, frame))
        elif not self._guarded(side, partial(self._broker.logs_in, frame)):
            self._guarded(side, partial(self._response, frame))
        self._release(side)

    def _guarded(self, side: FramedSocket, call: Callable[[], object]) -> object:
        """Call it; an error closes the connection."""
        if self._closed:
            return None
        try:
            return call()
        except (RefusedError, RefusedFrameError) as error:
            self.refuse(error.reason, str(error))
        except Exception as error:  # noqa: BLE001 (costs this connection, and no other)
            whose = "request" if side is self.client else "response"
            self.refuse(
                RefusalReason.BUG,
                f"its {whose} could not be handled ({type(error).__name__}); please report this",
            )
        return None

    def _rewrite(
        self, side: FramedSocket, rewrite: Callable[..., _T], then: Callable[[_T], None]
    ) -> None:
        """Rewrite a frame at once, or in a thread if it takes long; its side waits for that."""
        try:
            rewritten = rewrite(at_once=True)
        except TooLongError:
            side.pause_reading(PauseReason.REWRITING)
            self._rewriting += 1
            back = partial(self._rewritten, side, then)
            tenant = self._binding.virtual_cluster or self._login.principal
            self._parts.long_frames.run(tenant, rewrite, back)
        else:
            then(rewritten)

    def _rewritten(
        self, side: FramedSocket, then: Callable[[_T], None], future: "Future[_T]"
    ) -> None:
        self._rewriting -= 1
        self._guarded(side, lambda: then(future.result()))
        if self._closed:
            future.exception()
            self._close_rewriter()
            return
        self._release(side)
        side.resume_reading(PauseReason.REWRITING)
        if self._ending:
            self._finish_if_done()

    def on_write_blocked(self, side: FramedSocket) -> None:
        """Read no more from the other side."""
        if side is self.client:
            side.pause_reading(PauseReason.UNREAD)
        other = self._other(side)
        if other is not None:
            other.pause_reading(PauseReason.FULL)

    def on_writable(self, side: FramedSocket) -> None:
        """Read from the other side again."""
        if side is self.client:
            side.resume_reading(PauseReason.UNREAD)
        other = self._other(side)
        if other is not None:
            other.resume_reading(PauseReason.FULL)
            self._release(other)
        if self._ending:
            self._finish_if_done()

    def ready(self, first: bytearray, lifetime_s: float) -> None:
        """Send the broker what waits for it; its login may be for a time only."""
        if lifetime_s:
            ends = self._clock() - self.began_at + _PART_OF_LIFETIME * lifetime_s
            self._age_s = min(self._age_s or ends, ends)
        self.on_frame(self.client, first)
        self.client.resume_reading(PauseReason.DIALING)

    def _other(self, side: FramedSocket) -> FramedSocket | None:
        return self._broker.side if side is self.client else self.client

    def _release(self, side: FramedSocket) -> None:
        """Let others have the memory of a side's frame once all of it went to the other side."""
        other = self._other(side)
        if self._rewriting:
            return
        if other is not None and self._broker.is_ready and not other.is_full:
            self._memory.release(side)

    def on_error(self, side: FramedSocket, error: Exception) -> None:
        """Close the connection, since one side's bytes mean nothing."""
        if side is not self.client:
            what = "TLS" if isinstance(error, ssl.SSLError) else "what it sends"
            self.refuse(RefusalReason.BROKER, f"the broker can't be used: {what}: {error}")
        elif isinstance(error, ProxyError):
            self.refuse(RefusalReason.PROXY, str(error))
        elif isinstance(error, FrameError):
            self.refuse(RefusalReason.MALFORMED, str(error))
        elif isinstance(error, ssl.SSLError | ValueError):
            self.refuse(RefusalReason.TLS, handshake_problem(error))

    def on_close(self, side: FramedSocket) -> None:
        """Close the other side; the connection is gone with the client's socket."""
        if side is self.client:
            self._open.remove(self)
        self.close()

    # -- what the gateway asks for -------------------------------------------------------------

    def close_if_expired(self, now: float) -> None:
        """Close the connection if one of its times is up."""
        if self._closed:
            return  # its socket is not gone yet
        limits = self._parts.limits
        if self._broker.is_waited_for and now - self.active >= limits.connect_s:
            self.refuse(RefusalReason.BROKER, "the broker is not there in time")
        elif self._login.principal is None or not self.client.is_ready:
            if now - self.began_at >= limits.login_s:
                self.refuse(RefusalReason.LOGIN, f"it has not logged in for {limits.login_s:g} s")
        elif now - self.active >= limits.idle_s and (self.client.is_full or not self._pending):
            self._parts.counts.refused(RefusalReason.IDLE)
            self.close()
        elif self._age_s and now - self.began_at >= self._age_s:
            self.end()

    def check_member(self) -> None:
        """Close the connection if its member is in another virtual cluster now, or locked out."""
        try:
            self._login.check()
            self._binding.check(self._parts.tables.tables, self._login.principal)
        except RefusedError as error:
            self.refuse(error.reason, str(error))

    def end(self) -> None:
        """Take no more requests, and close the connection after the responses under way."""
        if self._ending or self._closed:
            return
        self._ending = True
        self.client.pause_reading(PauseReason.ENDING)
        self._finish_if_done()

    def close(self) -> None:
        """Close both sides."""
        if self._closed:
            return
        self._forget()
        self.client.close()

    # -- requests ------------------------------------------------------------------------------

    def _request(self, frame: bytearray) -> None:
        began = self._clock()
        self.active = began
        if not self._broker.is_ready:
            self.client.pause_reading(PauseReason.DIALING)
            self._broker.dial(self._door.node(self.client.asked_for), frame)
            return
        self._key = None
        header = read_header(frame)
        self._key = key = header.key
        login = self._login
        answer = login.request(frame, key) if login.principal is None or key in _LOGIN else None
        if answer is None:
            table = None
            if login.principal is not None:
                tables = self._parts.tables.tables
                table = self._binding.table(header.client_id, tables, login.principal)
            self._rewrite(
                self.client,
                partial(self._rewriter.request, frame, header, table),
                partial(self._go_on_with, key=key, size=len(frame), began=began),
            )
            return
        self._answer_request(answer, key, len(frame), began)

    def _go_on_with(
        self, rewritten: Forward | LocalAnswer, *, key: int, size: int, began: float
    ) -> None:
        if isinstance(rewritten, Forward):
            self._forward(rewritten, key, size, began)
        else:
            self._answer_request(rewritten.body, key, size, began)

    def _answer_request(self, answer: bytes, key: int, size: int, began: float) -> None:
        counts = self._parts.counts
        counts.request(key, size)
        counts.answered += 1
        counts.took(self._clock() - began)
        if self._pending.answered(answer):
            self._answer(answer)
        self._slow_down()

    def _forward(self, rewritten: Forward, key: int, size: int, began: float) -> None:
        broker = self._broker.side
        if broker is None:
            return
        counts = self._parts.counts
        counts.request(key, size)
        broker.send(rewritten.chunks)
        spent = self._clock() - began
        if rewritten.exchange is None:
            counts.took(spent)
        else:
            self._pending.sent(rewritten.exchange, spent)
            self._slow_down()

    def _slow_down(self) -> None:
        limits = self._parts.limits
        if len(self._pending) >= limits.pending or self._pending.waiting > limits.write_bytes:
            self.client.pause_reading(PauseReason.PENDING)

    # -- responses -----------------------------------------------------------------------------

    def _response(self, frame: bytearray) -> None:
        began = self._clock()
        self.active = began
        correlation_id = int.from_bytes(frame[:_CORRELATION], "big", signed=True)
        awaited = self._pending.first(correlation_id) if len(frame) >= _CORRELATION else None
        if awaited is None:
            raise RefusedError(
                RefusalReason.BROKER, "the broker sent a response that matches no request"
            )
        exchange = awaited.exchange
        if exchange.key in _LOGIN:
            self._login.response(frame, exchange.key, exchange.version)
            if self._login.principal is not None:
                self.client.set_max_frame_size(self._parts.limits.request_bytes)
                self._rewriter.logged_in()
        self._rewrite(
            self._broker.side or self.client,
            partial(self._rewriter.response, frame, exchange, self._door.addresses),
            partial(self._respond, spent=awaited.spent, began=began),
        )

    def _respond(self, chunks: Chunks, *, spent: float, began: float) -> None:
        self._pending.done()
        counts = self._parts.counts
        self.client.send(chunks)
        counts.sent += sum(map(len, chunks))
        while (answer := self._pending.ready()) is not None:
            self._answer(answer)
        counts.took(spent + self._clock() - began)
        if self._ending:
            self._finish_if_done()
        elif (
            len(self._pending) < self._parts.limits.pending
            and self._pending.waiting <= self._parts.limits.write_bytes
        ):
            self.client.resume_reading(PauseReason.PENDING)

    def _answer(self, body: bytes) -> None:
        self._parts.counts.sent += len(body)
        self.client.send((body,))

    # -- the end -------------------------------------------------------------------------------

    def refuse(self, reason: str, sentence: str) -> None:
        """Close the connection, and tell why."""
        if self._closed:
            return
        self._parts.counts.refused(reason)
        known = apis().get(self._key) if self._key is not None else None
        self._parts.log.tell(
            reason,
            sentence,
            address=self.client.address or self.address,
            principal=self._login.principal,
            virtual_cluster=self._binding.virtual_cluster,
            api=known.name if known else None,
        )
        self.close()

    def _finish_if_done(self) -> None:
        """Close it once all responses went out, so that the client gets them while it sends."""
        if self._closed or self._pending or self._rewriting or self.client.is_full:
            return
        self._forget()
        self.client.finish()

    def _forget(self) -> None:
        self._closed = True
        self._broker.close()
        self._memory.close()
        self._close_rewriter()

    def _close_rewriter(self) -> None:
        if not self._rewriting:  # else once the thread has ended, which may take memory yet
            self._rewriter.close()
